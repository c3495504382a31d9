import GRDB

/// The numbers of changes of drinks, by which readers go on. A store begins at a number that was drawn for it, and
/// after a purge at another one: so a number says whose it is, and one of before, or of another store, is none of this
/// one's.
///
/// It says so in its upper bits, and stays below 2^52, which is exact wherever numbers are: in JavaScript, too. Stores
/// of before this have none there.
enum DrinkPlaces {
    /// So many bits count: a thousand million changes.
    private static let bits: Int64 = 30
    private static let beginnings: Int64 = 1 << 22

    /// In an empty table of numbers: the first is the next one after this.
    static func begin(_ db: Database) throws {
        try db.execute(
            sql:
                "INSERT INTO drink_sequence (only, last) VALUES (1, (abs(random() % \(beginnings - 1)) + 1) << \(bits))"
        )
    }

    /// Whether a reader may go on behind this number; behind 0 there is everything.
    static func fits(_ position: Int64, last: Int64) -> Bool {
        position == 0 || (position <= last && position >> bits == last >> bits)
    }
}
