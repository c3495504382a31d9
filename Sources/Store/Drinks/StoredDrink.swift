import GRDB
import TrackerCore

/// A drink and the row it is stored in.
@dynamicMemberLookup
public struct StoredDrink: Hashable, Sendable {
    /// The row's number, for people to point at; never used again.
    public var number: Int64
    public var drink: Drink

    public subscript<Value>(dynamicMember path: KeyPath<Drink, Value>) -> Value { drink[keyPath: path] }

    init(row: Row) {
        number = row["id"]
        drink = Drink(
            key: row["key"], at: Instant(milliseconds: row["instant"]), zone: row["zone"],
            localDay: LocalDay(row["localDay"] as String) ?? LocalDay(daysSince1970: 0), ml: row["ml"],
            source: DrinkSource(rawValue: row["source"]), isDeleted: row["deleted"],
            updatedAt: Instant(milliseconds: row["updatedAt"]))
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

    /// The counted drinks from one instant to another, both included, oldest first.
    public func drinks(from first: Instant, through last: Instant) throws -> [StoredDrink] {
        try read { db in try DrinkTable.drinks(from: first, through: last, db) }
    }

    /// Days with counted drinks between two days, both included, ascending. Days without drinks are left out.
    public func totals(from first: LocalDay, through last: LocalDay) throws -> [DayTotal] {
        try read { db in
            let statement = try db.cachedStatement(sql: """
                SELECT localDay, sum(ml) AS total, count(*) AS count FROM drink
                WHERE localDay BETWEEN ? AND ? AND deleted = 0 GROUP BY localDay ORDER BY localDay
                """)
            return try Row.fetchAll(statement, arguments: [first.description, last.description]).compactMap { row in
                LocalDay(row["localDay"] as String).map { DayTotal(day: $0, totalMl: row["total"], count: row["count"]) }
            }
        }
    }

    /// The last counted drink at all.
    public func lastDrink() throws -> StoredDrink? {
        try read { db in
            try Row.fetchOne(
                db, sql: "SELECT * FROM drink WHERE deleted = 0 ORDER BY instant DESC, key DESC LIMIT 1"
            ).map(StoredDrink.init(row:))
        }
    }
}

enum DrinkTable {
    static func drinks(on day: LocalDay, _ db: Database) throws -> [StoredDrink] {
        let statement = try db.cachedStatement(
            sql: "SELECT * FROM drink WHERE localDay = ? AND deleted = 0 ORDER BY instant, key")
        return try Row.fetchAll(statement, arguments: [day.description]).map(StoredDrink.init(row:))
    }

    static func drinks(from first: Instant, through last: Instant, _ db: Database) throws -> [StoredDrink] {
        let statement = try db.cachedStatement(
            sql: "SELECT * FROM drink WHERE instant BETWEEN ? AND ? AND deleted = 0 ORDER BY instant, key")
        return try Row.fetchAll(statement, arguments: [first.milliseconds, last.milliseconds]).map(StoredDrink.init(row:))
    }

    static func find(_ name: String, _ db: Database) throws -> StoredDrink? {
        let byKey = try Row.fetchOne(db, sql: "SELECT * FROM drink WHERE key = ? AND deleted = 0", arguments: [name])
        if let byKey { return StoredDrink(row: byKey) }
        let digits = name.first == "d" || name.first == "#" ? name.dropFirst() : Substring(name)
        guard let number = Int64(digits) else { return nil }
        return try Row.fetchOne(db, sql: "SELECT * FROM drink WHERE id = ? AND deleted = 0", arguments: [number])
            .map(StoredDrink.init(row:))
    }

    /// The row with this number, tombstone or not.
    static func row(_ number: Int64, _ db: Database) throws -> Row? {
        try Row.fetchOne(db, sql: "SELECT * FROM drink WHERE id = ?", arguments: [number])
    }
}
