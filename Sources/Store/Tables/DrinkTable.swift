import GRDB
import TrackerCore

enum DrinkTable {
    /// One sip, or a whole bottle of an import: what a row may say. A bottle's record holds 65,535 at most.
    static let storableMl = 0...100_000

    /// Rows whose time nobody can have drunk at; an index finds them at once.
    static let isOutOfTime =
        """
        (instant < \(Instant.storable.lowerBound.milliseconds) OR instant > \
        \(Instant.storable.upperBound.milliseconds))
        """

    /// Rows that count: not deleted, and readable (`StoredDrink.init(row:)`).
    static let counts = """
        deleted = 0 AND ml BETWEEN \(storableMl.lowerBound) AND \(storableMl.upperBound)
            AND id NOT IN (SELECT id FROM drink WHERE \(isOutOfTime))
        """

    static func drinks(on day: LocalDay, _ db: Database) throws -> [StoredDrink] {
        let statement = try db.cachedStatement(
            sql: "SELECT \(StoredDrink.columns) FROM drink WHERE localDay = ? AND deleted = 0 ORDER BY instant, key")
        return try Row.readable(statement, arguments: [day.description], StoredDrink.init(row:))
    }

    static func drinks(from first: Instant, through last: Instant, _ db: Database) throws -> [StoredDrink] {
        let statement = try db.cachedStatement(
            sql:
                """
                SELECT \(StoredDrink.columns) FROM drink WHERE instant BETWEEN ? AND ? AND deleted = 0 ORDER BY \
                instant, key
                """
        )
        return try Row.readable(statement, arguments: [first.milliseconds, last.milliseconds], StoredDrink.init(row:))
    }

    /// What a name means: first the number that our lists show (`d12`, `12`, `#12`), then a key.
    static func find(_ name: String, _ db: Database) throws -> StoredDrink? { try meanings(of: name, db).first }

    /// All that a name may mean, what it means first: an imported key may look like a number.
    static func meanings(of name: String, _ db: Database) throws -> [StoredDrink] {
        let digits = name.first == "d" || name.first == "#" ? name.dropFirst() : Substring(name)
        return try Row.fetchAll(
            db,
            sql: "SELECT \(StoredDrink.columns) FROM drink WHERE (id = ? OR key = ?) AND deleted = 0 ORDER BY id <> ?",
            arguments: [Int64(digits) ?? 0, name, Int64(digits) ?? 0]
        ).readable(StoredDrink.init(row:))
    }

    /// The row with this number, tombstone or not, with the columns of `StoredDrink`.
    static func row(_ number: Int64, _ db: Database) throws -> Row? {
        try Row.fetchOne(db, sql: "SELECT \(StoredDrink.columns) FROM drink WHERE id = ?", arguments: [number])
    }
}
