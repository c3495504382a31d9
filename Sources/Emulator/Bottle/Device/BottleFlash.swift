import BottleProtocol

/// The persistent state of the emulated bottle: log, settings, and clock offset.
package struct BottleFlash: Hashable, Sendable, Codable {
    /// A record in the ring buffer. Numbers increase and are unique, so that acknowledgements drop only sent records.
    package struct StoredRecord: Hashable, Sendable, Codable {
        package let number: UInt64
        private let raw: Octets

        /// - Parameter raw: 13 bytes.
        package init(number: UInt64, raw: [UInt8]) {
            self.number = number
            self.raw = Octets(raw)
        }

        /// The 13 bytes; bytes that are missing in an edited flash file are zero.
        package var bytes: [UInt8] {
            Array((raw.bytes + [UInt8](repeating: 0, count: DrinkRecord.size)).prefix(DrinkRecord.size))
        }
    }

    /// The stored records, oldest first.
    package private(set) var records: [StoredRecord] = []
    package private(set) var nextNumber: UInt64 = 1
    /// The number of records that were overwritten before an acknowledgement.
    package private(set) var overwritten = 0
    package private(set) var dropped = 0

    /// The last drinks. A new drink must differ from them in time or amount; see `VirtualBottleMachine.sip`.
    var recentSips: [Sip] = []

    struct Sip: Hashable, Sendable, Codable {
        var second: Int64
        var ml: UInt16
    }

    package var goalMl: UInt16 = 2500
    package var amountMl: UInt16 = 0
    /// The day of `amountMl` by the bottle's clock.
    package var amountDay: Int64 = 0
    package var levelMl: UInt16 = BottleFlash.fullMl
    package var batteryPercent: UInt8 = 97
    /// The data byte of the charging entry: 0 no, 1 charging, 2 full.
    package var charging: UInt8 = 0
    package var language: UInt8 = 0
    /// The water temperature in °C (Vita only).
    package var temperatureC: Int8 = 21
    /// The total dissolved solids in ppm (Vita only).
    package var tdsPpm: UInt16 = 120
    /// The reminder in six bytes; see `ReminderSetting`.
    package var reminder: [UInt8] = ReminderSetting.standard.encoded
    /// The reminder light, four bytes; see `ReminderLight`.
    package var light: [UInt8] = [0, 0, 0, 0]
    /// Whether the user has confirmed a host by the button.
    package var isRegistered = false
    /// The bottle's clock minus the host's, in milliseconds; `nil` after a power loss.
    package var clockOffset: Int64? = 0
    /// The host's local time at the power loss.
    package var lostAt: LocalTime?

    /// The amount of a full bottle on the app's scale (protocol spec P2.2, type 08).
    package static let fullMl: UInt16 = 530

    /// The flash of a new bottle: full of water, with an empty log.
    package init() {}

    /// A bottle with a filled log, oldest record first. Only the newest `capacity` records are kept.
    package init(records raw: [[UInt8]], capacity: Int) {
        for bytes in raw { append(bytes, capacity: capacity) }
    }

    mutating func append(_ raw: [UInt8], capacity: Int) {
        records.append(StoredRecord(number: nextNumber, raw: raw))
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
