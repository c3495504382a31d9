import Bluetooth
import BottleProtocol

extension DrinkReader {
    /// What is read, and of whom.
    public struct Options {
        /// How byte 0 of a record is read.
        public var dialect = RecordDialect.calendar
        /// Every delivery, duplicates and bookkeeping entries included.
        public var isRaw = false
        /// Handles that a person gave, for captures without discovery.
        public var given = GivenHandles()
        /// Only this bottle's.
        public var bottle: BluetoothAddress?
        /// Only what these PDUs carry: the capture is read as if it held no others. The device stands in `bottle`.
        public var filter = TrafficFilter()
        /// Where the capture does not tell the model.
        public var model: BottleModel?
        /// The host clock's year, for the strict dialect where the capture has no times.
        public var hostYear: Int

        /// Every default; the year is for records that have none.
        public init(hostYear: Int) { self.hostYear = hostYear }
    }

    /// What was counted.
    public struct Tally: Sendable, Equatable {
        /// Drinks, each once.
        public var drinks = 0
        /// Their sum.
        public var millilitres = 0
        /// Deliveries of drinks that were known already.
        public var duplicates = 0
        /// Drinks whose date cannot be right.
        public var suspects = 0
        /// Records whose flag says that they are no drinks.
        public var bookkeeping = 0
        /// Records that the dialect refused.
        public var refused = 0
        /// Dumps of a log that were begun.
        public var transfers = 0
        /// Dumps that did not come to their end.
        public var unfinishedTransfers = 0
        /// Values from the response characteristic that are no frames.
        public var malformed = 0
        /// Records of devices that only look like a bottle, left out because another was found by discovery.
        public var lookalikes = 0
        /// With nothing counted.
        public init() {}

        /// Counts a drink that is delivered for the first time.
        mutating func note(_ record: DrinkRecord) {
            drinks += 1
            if record.isSuspect { suspects += 1 } else { millilitres += record.amountMl }
        }

        /// What a batch brought.
        mutating func add(_ batch: Tally) {
            drinks += batch.drinks
            millilitres += batch.millilitres
            duplicates += batch.duplicates
            suspects += batch.suspects
            bookkeeping += batch.bookkeeping
            transfers += batch.transfers
            unfinishedTransfers += batch.unfinishedTransfers
        }

        /// What was added since an earlier tally.
        public func since(_ earlier: Tally) -> Tally {
            var rest = self
            for field: WritableKeyPath<Tally, Int> in [
                \.drinks, \.millilitres, \.duplicates, \.suspects, \.bookkeeping, \.refused, \.transfers,
                \.unfinishedTransfers, \.malformed, \.lookalikes,
            ] { rest[keyPath: field] -= earlier[keyPath: field] }
            return rest
        }
    }
}
