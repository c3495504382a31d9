package import GRDB
package import TrackerCore

/// The total of a day's counted drinks.
package struct DayTotal: Hashable, Sendable, Decodable, FetchableRecord {
    package var day: LocalDay
    package var totalMl: Int
    package var count: Int
}

extension TrackerStore {
    /// The counted drinks of a day, oldest first, then by key.
    /// - Parameter moment: the moment of `--now`; `nil` counts all stored drinks.
    package func drinks(on day: LocalDay, knownAt moment: Instant? = nil) throws -> [StoredDrink] {
        try read { db in try DrinkTable.drinks(on: day, db) }.filter { $0.drink.isKnown(at: moment) }
    }

    package func countedDrinks() throws -> Int {
        try first("SELECT count(*) FROM drink WHERE deleted = 0 AND ml > 0") ?? 0
    }

    /// The days with counted drinks between two days, inclusive, ascending.
    /// - Parameter moment: the moment of `--now`; `nil` counts all stored drinks.
    package func totals(from first: LocalDay, through last: LocalDay, knownAt moment: Instant? = nil) throws
        -> [DayTotal]
    {
        // As in `Drink.isKnown(at:)`. Without a moment, the index covers the query.
        let known = moment == nil ? "" : "AND (instant <= ? OR updatedAt <= ?)"
        var arguments: StatementArguments = [first, last]
        if let moment { arguments += [moment, moment] }
        return try all(
            """
            SELECT localDay AS day, sum(ml) AS totalMl, count(*) AS count FROM drink
            WHERE localDay BETWEEN ? AND ? AND deleted = 0 \(known) GROUP BY localDay ORDER BY localDay
            """, arguments)
    }

    /// The drinks with this number or key, the one with this number first.
    package func drinks(named name: String) throws -> [StoredDrink] {
        try read { db in try DrinkTable.matches(of: name, db) }
    }

    /// The latest counted drink of all days.
    package func lastDrink() throws -> StoredDrink? {
        try first("SELECT \(StoredDrink.columns) FROM drink WHERE deleted = 0 ORDER BY instant DESC, key DESC LIMIT 1")
    }
}

@dynamicMemberLookup
package struct StoredDrink: Hashable, Sendable {
    /// The row id, shown to users and never reused.
    package var number: Int64
    package var drink: Drink

    package subscript<Value>(dynamicMember path: KeyPath<Drink, Value>) -> Value { drink[keyPath: path] }

    /// The first columns of a query for drinks. They are read by index for speed.
    static let columns =
        """
        drink.id, drink.key, drink.instant, drink.zone, drink.localDay, drink.ml, drink.source, drink.deleted, \
        drink.updatedAt, drink.correctionOf
        """

    /// The key of the drink that a row corrects.
    /// - Parameter row: starts with `columns`.
    static func original(_ row: Row) throws -> String? { try row.decode(atIndex: 9) }
}

extension StoredDrink: FetchableRecord {
    /// - Parameter row: starts with `columns`.
    package init(row: Row) throws {
        number = try row.decode(atIndex: 0)
        drink = Drink(
            key: try row.decode(atIndex: 1), at: try row.decode(atIndex: 2), zone: try row.decode(atIndex: 3),
            localDay: try row.decode(atIndex: 4), ml: try row.decode(atIndex: 5),
            source: DrinkSource(rawValue: try row.decode(atIndex: 6)), isDeleted: try row.decode(atIndex: 7),
            updatedAt: try row.decode(atIndex: 8))
    }
}

enum DrinkTable {
    static func drinks(on day: LocalDay, _ db: Database) throws -> [StoredDrink] {
        try db.all(
            "SELECT \(StoredDrink.columns) FROM drink WHERE localDay = ? AND deleted = 0 ORDER BY instant, key", [day])
    }

    static func drinks(from first: Instant, through last: Instant, _ db: Database) throws -> [StoredDrink] {
        try db.all(
            """
            SELECT \(StoredDrink.columns) FROM drink WHERE instant BETWEEN ? AND ? AND deleted = 0
            ORDER BY instant, key
            """, [first, last])
    }

    /// The drinks with this number (`d12`, `12`, `#12`) or key; the number takes precedence, because an imported key
    /// can look like a number.
    static func matches(of name: String, _ db: Database) throws -> [StoredDrink] {
        let digits = name.first == "d" || name.first == "#" ? name.dropFirst() : Substring(name)
        return try db.all(
            "SELECT \(StoredDrink.columns) FROM drink WHERE (id = ? OR key = ?) AND deleted = 0 ORDER BY id <> ?",
            [Int64(digits) ?? 0, name, Int64(digits) ?? 0])
    }

    /// The drink with this number, including a tombstone.
    static func drink(_ number: Int64, _ db: Database) throws -> StoredDrink? {
        try db.first("SELECT \(StoredDrink.columns) FROM drink WHERE id = ?", [number])
    }
}
