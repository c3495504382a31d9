import BottleProtocol

/// What survives a restart of the bottle: the log, the settings, and how its clock stands against the host's.
package struct BottleFlash: Hashable, Sendable, Codable {
    /// A record in the ring; numbers grow and are never used twice, so that an acknowledgement drops what was sent and
    /// nothing else.
    package struct Stored: Hashable, Sendable, Codable {
        /// Its number, from 1, never used twice.
        package let number: UInt64
        private let raw: Octets

        /// A record of 13 bytes under its number.
        package init(number: UInt64, raw: [UInt8]) {
            self.number = number
            self.raw = Octets(raw)
        }

        /// The 13 bytes; zeros for those that a changed flash file lacks.
        package var bytes: [UInt8] {
            Array((raw.bytes + [UInt8](repeating: 0, count: DrinkRecord.size)).prefix(DrinkRecord.size))
        }
    }

    /// Oldest first.
    package private(set) var records: [Stored] = []
    /// The number that the next record will have.
    package private(set) var nextNumber: UInt64 = 1
    /// Records that were pushed out by newer ones before anybody fetched them.
    package private(set) var overwritten = 0
    /// Records that were acknowledged or cleared.
    package private(set) var dropped = 0

    /// The last sips, acknowledged or not: no two are alike, see `VirtualBottleMachine.sip`.
    var recentSips: [Sip] = []

    struct Sip: Hashable, Sendable, Codable {
        /// Of the bottle's clock.
        var second: Int64
        var ml: UInt16
    }

    /// The daily goal that is set in it.
    package var goalMl: UInt16 = 2500
    /// What it counts as drunk today.
    package var amountMl: UInt16 = 0
    /// Day of the bottle's clock to which `amountMl` belongs.
    package var amountDay: Int64 = 0
    /// Water that is in it.
    package var levelMl: UInt16 = BottleFlash.fullMl
    /// Charge of its battery, 0–100.
    package var batteryPercent: UInt8 = 97
    /// The data byte of its charging entry: 0 no, 1 charging, 2 full.
    package var charging: UInt8 = 0
    /// Number of its language.
    package var language: UInt8 = 0
    /// °C, Vita.
    package var temperatureC: Int8 = 21
    /// ppm, Vita.
    package var tdsPpm: UInt16 = 120
    /// Six bytes, see `ReminderSetting`.
    package var reminder: [UInt8] = ReminderSetting.standard.encoded
    /// Four bytes, see `ReminderLight`.
    package var light: [UInt8] = [0, 0, 0, 0]
    /// A host has been confirmed by its button.
    package var isRegistered = false
    /// The bottle's clock minus the host's, milliseconds; `nil` while the clock is lost.
    package var clockOffset: Int64? = 0
    /// Host's clock when power was lost.
    package var lostAt: LocalTime?

    /// A full bottle on the app's scale (protocol spec P2.2, type 08).
    package static let fullMl: UInt16 = 530

    /// A bottle as it leaves the factory: full of water, its log empty.
    package init() {}

    /// A log filled beforehand, oldest first; of more than `capacity` records the oldest are gone.
    package init(records raw: [[UInt8]], capacity: Int) {
        for bytes in raw { append(bytes, capacity: capacity) }
    }

    mutating func append(_ raw: [UInt8], capacity: Int) {
        records.append(Stored(number: nextNumber, raw: raw))
        nextNumber += 1
        let surplus = records.count - max(1, capacity)
        if surplus > 0 {
            records.removeFirst(surplus)
            overwritten += surplus
        }
    }

    mutating func drop(_ numbers: Set<UInt64>) {
        let before = records.count
        records.removeAll { numbers.contains($0.number) }
        dropped += before - records.count
    }

    mutating func clear() {
        dropped += records.count
        records = []
    }
}
