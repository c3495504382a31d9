import GRDB
import TrackerCore

/// A drink and the row it is stored in.
@dynamicMemberLookup
public struct StoredDrink: Hashable, Sendable {
    /// The row's number, for people to point at; never used again.
    public var number: Int64
    public var drink: Drink

    public subscript<Value>(dynamicMember path: KeyPath<Drink, Value>) -> Value { drink[keyPath: path] }

    /// - Throws: `UnreadableRow`.
    init(row: Row) throws {
        number = try row.checked("id")
        let day: String = try row.checked("localDay")
        guard let localDay = LocalDay(day) else { throw row.unreadable("localDay is \"\(day)\", which is no date") }
        drink = Drink(
            key: try row.checked("key"), at: try row.instant("instant"), zone: try row.checked("zone"), localDay: localDay,
            ml: try row.checked("ml", in: DrinkTable.storableMl), source: DrinkSource(rawValue: try row.checked("source")),
            isDeleted: try row.checked("deleted"), updatedAt: try row.instant("updatedAt"))
    }
}

/// A day's drinks added up.
public struct DayTotal: Hashable, Sendable {
    public var day: LocalDay
    public var totalMl: Int
    public var count: Int
}

extension TrackerStore {
    /// The counted drinks of a day, oldest first, ties by key.
    public func drinks(on day: LocalDay) throws -> [StoredDrink] {
        try read { db in try DrinkTable.drinks(on: day, db) }
    }

    /// The counted drinks of a day that are known at a moment: what a list shows that is asked for that moment.
    public func drinks(on day: LocalDay, asOf now: Instant) throws -> [StoredDrink] {
        try drinks(on: day).filter { $0.drink.isKnown(at: now) }
    }

    /// The counted drinks from one instant to another, both included, oldest first.
    public func drinks(from first: Instant, through last: Instant) throws -> [StoredDrink] {
        try read { db in try DrinkTable.drinks(from: first, through: last, db) }
    }

    /// Days with counted drinks between two days, both included, ascending. Days without drinks are left out.
    public func totals(from first: LocalDay, through last: LocalDay) throws -> [DayTotal] {
        try read { db in
            let statement = try db.cachedStatement(sql: """
                SELECT localDay, sum(ml) AS total, count(*) AS count FROM drink
                WHERE localDay BETWEEN ? AND ? AND \(DrinkTable.counts) GROUP BY localDay ORDER BY localDay
                """)
            return try Row.fetchAll(statement, arguments: [first.description, last.description]).compactMap { row in
                LocalDay(row["localDay"] as String).map { DayTotal(day: $0, totalMl: row["total"], count: row["count"]) }
            }
        }
    }

    /// The drinks that a name may mean, the one that it does mean first.
    public func drinks(named name: String) throws -> [StoredDrink] {
        try read { db in try DrinkTable.meanings(of: name, db) }
    }

    /// The last counted drink at all.
    public func lastDrink() throws -> StoredDrink? {
        try read { db in
            try Row.fetchOne(
                db, sql: "SELECT * FROM drink WHERE \(DrinkTable.counts) ORDER BY instant DESC, key DESC LIMIT 1"
            ).map(StoredDrink.init(row:))
        }
    }
}

enum DrinkTable {
    /// One sip, or a whole bottle of an import: what a row may say. A bottle's record holds 65,535 at most.
    static let storableMl = 0...100_000

    /// Rows whose time nobody can have drunk at; an index finds them at once.
    static let isOutOfTime =
        "(instant < \(Instant.storable.lowerBound.milliseconds) OR instant > \(Instant.storable.upperBound.milliseconds))"

    /// Rows that count: not deleted, and readable (`StoredDrink.init(row:)`).
    static let counts = """
        deleted = 0 AND ml BETWEEN \(storableMl.lowerBound) AND \(storableMl.upperBound)
            AND id NOT IN (SELECT id FROM drink WHERE \(isOutOfTime))
        """

    static func drinks(on day: LocalDay, _ db: Database) throws -> [StoredDrink] {
        let statement = try db.cachedStatement(
            sql: "SELECT * FROM drink WHERE localDay = ? AND deleted = 0 ORDER BY instant, key")
        return try Row.fetchAll(statement, arguments: [day.description]).readable(StoredDrink.init(row:))
    }

    static func drinks(from first: Instant, through last: Instant, _ db: Database) throws -> [StoredDrink] {
        let statement = try db.cachedStatement(
            sql: "SELECT * FROM drink WHERE instant BETWEEN ? AND ? AND deleted = 0 ORDER BY instant, key")
        return try Row.fetchAll(statement, arguments: [first.milliseconds, last.milliseconds]).readable(StoredDrink.init(row:))
    }

    /// What a name means: first the number that our lists show (`d12`, `12`, `#12`), then a key.
    static func find(_ name: String, _ db: Database) throws -> StoredDrink? { try meanings(of: name, db).first }

    /// All that a name may mean, what it means first: an imported key may look like a number.
    static func meanings(of name: String, _ db: Database) throws -> [StoredDrink] {
        let digits = name.first == "d" || name.first == "#" ? name.dropFirst() : Substring(name)
        return try Row.fetchAll(
            db, sql: "SELECT * FROM drink WHERE (id = ? OR key = ?) AND deleted = 0 ORDER BY id <> ?",
            arguments: [Int64(digits) ?? 0, name, Int64(digits) ?? 0]
        ).readable(StoredDrink.init(row:))
    }

    /// The row with this number, tombstone or not.
    static func row(_ number: Int64, _ db: Database) throws -> Row? {
        try Row.fetchOne(db, sql: "SELECT * FROM drink WHERE id = ?", arguments: [number])
    }
}
