package import BottleProtocol

/// One transmission of a drink record in a capture.
package struct Delivery {
    package let bottle: BottlePeer
    /// The model when the record arrived; `nil` if unknown.
    package let model: BottleModel?
    package let record: DrinkRecord
    /// The year of the drink: from the record, or in the strict dialect the latest year that the packet's time allows.
    package let year: Int
    /// The number of the capture record that contains the last byte of the drink record.
    package let frame: Int
    /// The time of the capture record `frame` since 1970.
    package let time: Duration?
    /// Whether the same drink was delivered before, in this capture or an earlier one.
    package let isDuplicate: Bool

    /// The number of bits of the time of day in a `packedTime`.
    static let timeBits = 17

    /// Date and time of day in one sortable number; `nil` if the fields are not a date.
    var packedTime: Int? {
        guard record.isDatePossible else { return nil }
        return ((((year * 16 + record.month) * 32 + record.day) * 32 + record.hour) * 64 + record.minute) * 64
            + record.second
    }

    /// Local wall time of the bottle's clock, `2026-02-02T22:21:15`; `nil` if the fields are not a date.
    package var at: String? { packedTime.map(Self.text) }

    /// `2026-02-02T22:21:15` of a `packedTime`.
    static func text(_ packedTime: Int) -> String {
        let (second, minute, hour) = (packedTime & 63, packedTime >> 6 & 63, packedTime >> 12 & 31)
        return "\(date(packedTime >> timeBits))T\(pad(hour)):\(pad(minute)):\(pad(second))"
    }

    /// `2026-02-02` of a `packedTime` without its time of day.
    static func date(_ day: Int) -> String { "\(day >> 9)-\(pad(day >> 5 & 15))-\(pad(day & 31))" }

    private static func pad(_ value: Int) -> String { (value < 10 ? "0" : "") + String(value) }
}

/// A record that the dialect rejects.
package struct RejectedRecord {
    package let bottle: BottlePeer
    package let raw: [UInt8]
    package let reason: DecodeFailure
    package let frame: Int
}

extension DrinkReader {
    package struct Options {
        /// The dialect, which determines the meaning of byte 0 of a record.
        package var dialect = RecordDialect.calendar
        /// Whether to deliver duplicates and bookkeeping entries too.
        package var isRaw = false
        package var handles = HandleOptions()
        /// Selects the PDUs whose drinks are delivered. The device of the filter is the bottle.
        package var filter = TrafficFilter()
        /// The model, if the capture does not show it.
        package var model: BottleModel?
        /// The year of the host's clock, for the strict dialect if the capture has no times.
        package var hostYear: Int

        package init(hostYear: Int) { self.hostYear = hostYear }
    }

    /// The numbers of drinks and records read.
    package struct Tally: Sendable, Equatable {
        /// The number of distinct drinks.
        package var drinks = 0
        /// The sum of the drinks' amounts in millilitres.
        package var millilitres = 0
        package var duplicates = 0
        /// The number of drinks with an implausible date.
        package var suspects = 0
        /// The number of records with a flag for entries that are not drinks.
        package var bookkeeping = 0
        /// The number of records that the dialect rejected.
        package var rejected = 0
        package var transfers = 0
        package var unfinishedTransfers = 0
        /// The number of values of the response characteristic that are not frames.
        package var malformed = 0
        /// The number of dropped records from devices that resemble a bottle, in a capture with a confirmed bottle.
        package var lookalikes = 0

        package init() {}

        mutating func add(_ record: DrinkRecord) {
            drinks += 1
            if record.isSuspect { suspects += 1 } else { millilitres += record.amountMl }
        }

        private static var fields: [WritableKeyPath<Tally, Int>] {
            [
                \.drinks, \.millilitres, \.duplicates, \.suspects, \.bookkeeping, \.rejected, \.transfers,
                \.unfinishedTransfers, \.malformed, \.lookalikes,
            ]
        }

        static func += (left: inout Tally, right: Tally) {
            for field in fields { left[keyPath: field] += right[keyPath: field] }
        }

        package func since(_ earlier: Tally) -> Tally {
            var rest = self
            for field in Self.fields { rest[keyPath: field] -= earlier[keyPath: field] }
            return rest
        }
    }
}
