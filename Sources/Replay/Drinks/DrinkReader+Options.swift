import Bluetooth
import BottleProtocol

extension DrinkReader {
    /// What is read, and of whom.
    package struct Options {
        /// How byte 0 of a record is read.
        package var dialect = RecordDialect.calendar
        /// Every delivery, duplicates and bookkeeping entries included.
        package var isRaw = false
        /// Handles that a person gave, for captures without discovery.
        package var given = GivenHandles()
        /// Only this bottle's.
        package var bottle: BluetoothAddress?
        /// Only what these PDUs carry: the capture is read as if it held no others. The device stands in `bottle`.
        package var filter = TrafficFilter()
        /// Where the capture does not tell the model.
        package var model: BottleModel?
        /// The host clock's year, for the strict dialect where the capture has no times.
        package var hostYear: Int

        /// Every default; the year is for records that have none.
        package init(hostYear: Int) { self.hostYear = hostYear }
    }

    /// What was counted.
    package struct Tally: Sendable, Equatable {
        /// Drinks, each once.
        package var drinks = 0
        /// Their sum.
        package var millilitres = 0
        /// Deliveries of drinks that were known already.
        package var duplicates = 0
        /// Drinks whose date cannot be right.
        package var suspects = 0
        /// Records whose flag says that they are no drinks.
        package var bookkeeping = 0
        /// Records that the dialect refused.
        package var refused = 0
        /// Dumps of a log that were begun.
        package var transfers = 0
        /// Dumps that did not come to their end.
        package var unfinishedTransfers = 0
        /// Values from the response characteristic that are no frames.
        package var malformed = 0
        /// Records of devices that only look like a bottle, left out because another was found by discovery.
        package var lookalikes = 0
        /// With nothing counted.
        package init() {}

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
        package func since(_ earlier: Tally) -> Tally {
            var rest = self
            for field: WritableKeyPath<Tally, Int> in [
                \.drinks, \.millilitres, \.duplicates, \.suspects, \.bookkeeping, \.refused, \.transfers,
                \.unfinishedTransfers, \.malformed, \.lookalikes,
            ] { rest[keyPath: field] -= earlier[keyPath: field] }
            return rest
        }
    }
}
