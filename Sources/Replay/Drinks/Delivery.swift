import Bluetooth
import BottleProtocol

/// One record of a bottle's drink log as a capture shows it.
package struct Delivery {
    package let bottle: BottlePeer
    /// As known when the record arrived; `nil`: unknown.
    package let model: BottleModel?
    package let record: DrinkRecord
    /// The year of the drink: the record's own, or in the strict dialect the latest that the time of the packet allows.
    package let year: Int
    /// Number of the capture's record in which its last byte came.
    package let frame: Int
    /// Time of that record, since 1970.
    package let time: Duration?
    /// The same drink was delivered before, in this capture or one read before it.
    package let isDuplicate: Bool

    /// Bytes 0–7 and 8–12 of the record, big-endian: the raw bytes without an array.
    let head: UInt64
    let tail: UInt64

    /// Date and time of day, packed so that later ones are larger; `nil` where the fields are not a date.
    var order: Int? {
        guard record.isDatePossible else { return nil }
        return ((((year * 16 + record.month) * 32 + record.day) * 32 + record.hour) * 64 + record.minute) * 64
            + record.second
    }

    /// Local wall time of the bottle's clock, `2026-02-02T22:21:15`; `nil` where the fields are not a date.
    package var at: String? { order.map(Self.text) }

    /// `2026-02-02T22:21:15` of an `order`.
    static func text(_ order: Int) -> String {
        func two(_ value: Int) -> String { (value < 10 ? "0" : "") + String(value) }
        let (second, minute, hour, day) = (order & 63, order >> 6 & 63, order >> 12 & 31, order >> 17 & 31)
        return "\(order >> 26)-\(two(order >> 22 & 15))-\(two(day))T\(two(hour)):\(two(minute)):\(two(second))"
    }
}

/// A record that the dialect rejects.
package struct RefusedRecord {
    package let bottle: BottlePeer
    /// 13 bytes.
    package let raw: [UInt8]
    /// The rule of the dialect that it broke.
    package let reason: DecodeFailure
    /// Number of the capture's record in which its last byte came.
    package let frame: Int
}

extension DrinkReader {
    /// The drinks to read.
    package struct Options {
        /// The meaning of byte 0 of a record.
        package var dialect = RecordDialect.calendar
        /// Every delivery, duplicates and bookkeeping entries included.
        package var isRaw = false
        /// Handles from the user, for captures without discovery.
        package var given = GivenHandles()
        /// Only this bottle's.
        package var bottle: BluetoothAddress?
        /// Only drinks that these PDUs carry. The device is in `bottle`.
        package var filter = TrafficFilter()
        /// The model where the capture does not show it.
        package var model: BottleModel?
        /// The host clock's year, for the strict dialect where the capture has no times.
        package var hostYear: Int

        package init(hostYear: Int) { self.hostYear = hostYear }
    }

    /// The counts of a reading.
    package struct Tally: Sendable, Equatable {
        /// Drinks, each once.
        package var drinks = 0
        /// Their sum.
        package var millilitres = 0
        /// Deliveries of drinks that were known already.
        package var duplicates = 0
        /// Drinks with an implausible date.
        package var suspects = 0
        /// Records whose flag says that they are not drinks.
        package var bookkeeping = 0
        /// Records that the dialect rejected.
        package var refused = 0
        /// Log transfers that began.
        package var transfers = 0
        /// Log transfers that did not end.
        package var unfinishedTransfers = 0
        /// Values of the response characteristic that are not frames.
        package var malformed = 0
        /// Records of devices that only look like a bottle, left out because the capture has a bottle with better
        /// evidence.
        package var lookalikes = 0

        package init() {}

        /// Counts a drink that is delivered for the first time.
        mutating func note(_ record: DrinkRecord) {
            drinks += 1
            if record.isSuspect { suspects += 1 } else { millilitres += record.amountMl }
        }

        private static var fields: [WritableKeyPath<Tally, Int>] {
            [
                \.drinks, \.millilitres, \.duplicates, \.suspects, \.bookkeeping, \.refused, \.transfers,
                \.unfinishedTransfers, \.malformed, \.lookalikes,
            ]
        }

        static func += (left: inout Tally, right: Tally) {
            for field in fields { left[keyPath: field] += right[keyPath: field] }
        }

        /// The counts since an earlier tally.
        package func since(_ earlier: Tally) -> Tally {
            var rest = self
            for field in Self.fields { rest[keyPath: field] -= earlier[keyPath: field] }
            return rest
        }
    }
}
