import GRDB
import TrackerCore

/// The total of a day's counted drinks.
package struct DayTotal: Hashable, Sendable {
    package var day: LocalDay
    package var totalMl: Int
    package var count: Int
}

extension TrackerStore {
    /// The counted drinks of a day, oldest first, then by key.
    /// - Parameter asked: the moment of `--now`; `nil` counts all stored drinks.
    package func drinks(on day: LocalDay, knownAt asked: Instant? = nil) throws -> [StoredDrink] {
        try read { db in try DrinkTable.drinks(on: day, db) }.filter { $0.drink.isKnown(at: asked) }
    }

    package func countedDrinks() throws -> Int {
        try read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM drink WHERE deleted = 0 AND ml > 0") ?? 0 }
    }

    /// The counted drinks between two instants, inclusive, oldest first.
    package func drinks(from first: Instant, through last: Instant) throws -> [StoredDrink] {
        try read { db in try DrinkTable.drinks(from: first, through: last, db) }
    }

    /// The days with counted drinks between two days, inclusive, ascending.
    /// - Parameter asked: the moment of `--now`; `nil` counts all stored drinks.
    package func totals(from first: LocalDay, through last: LocalDay, knownAt asked: Instant? = nil) throws
        -> [DayTotal]
    {
        try read { db in
            // As in `Drink.isKnown(at:)`. Without a moment, the index covers the query.
            let known = asked == nil ? "" : "AND (instant <= ? OR updatedAt <= ?)"
            var arguments: StatementArguments = [first.description, last.description]
            if let asked { arguments += [asked.milliseconds, asked.milliseconds] }
            let statement = try db.cachedStatement(
                sql: """
                    SELECT localDay, sum(ml) AS total, count(*) AS count FROM drink
                    WHERE localDay BETWEEN ? AND ? AND deleted = 0 \(known) GROUP BY localDay ORDER BY localDay
                    """)
            return try Row.fetchAll(statement, arguments: arguments).readable { row in
                try LocalDay(row.checked("localDay", String.self)).map {
                    DayTotal(day: $0, totalMl: try row.checked("total"), count: try row.checked("count"))
                }
            }.compactMap { $0 }
        }
    }

    /// The drinks with this number or key; the number takes precedence.
    package func drinks(named name: String) throws -> [StoredDrink] {
        try read { db in try DrinkTable.meanings(of: name, db) }
    }

    /// The latest counted drink of all days.
    package func lastDrink() throws -> StoredDrink? {
        try read { db in
            try Row.fetchOne(
                db,
                sql:
                    "SELECT \(StoredDrink.columns) FROM drink WHERE deleted = 0 ORDER BY instant DESC, key DESC LIMIT 1"
            ).map(StoredDrink.init(row:))
        }
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
        drink.updatedAt, drink.instead
        """

    /// - Parameter row: starts with `columns`.
    /// - Throws: `UnreadableRow`.
    init(row: Row) throws {
        number = try row.checked("id", at: 0)
        let day: String = try row.checked("localDay", at: 4)
        guard let localDay = LocalDay(day) else { throw row.unreadable("localDay is \"\(day)\", which is not a date") }
        drink = Drink(
            key: try row.checked("key", at: 1), at: try row.instant("instant", at: 2),
            zone: try row.checked("zone", at: 3), localDay: localDay,
            ml: try row.checked("ml", at: 5),
            source: DrinkSource(rawValue: try row.checked("source", at: 6)),
            isDeleted: try row.checked("deleted", at: 7), updatedAt: try row.instant("updatedAt", at: 8))
    }

    /// The key of the drink that a row corrects.
    /// - Parameter row: starts with `columns`.
    static func original(_ row: Row) throws -> String? { try row.checked("instead", at: 9) }
}

enum DrinkTable {
    /// The valid amounts of a row: a record has at most 65,535 ml, and an import might have more.
    static let storableMl = 0...100_000

    static func drinks(on day: LocalDay, _ db: Database) throws -> [StoredDrink] {
        let statement = try db.cachedStatement(
            sql: "SELECT \(StoredDrink.columns) FROM drink WHERE localDay = ? AND deleted = 0 ORDER BY instant, key")
        return try Row.readable(statement, arguments: [day.description], StoredDrink.init(row:))
    }

    static func drinks(from first: Instant, through last: Instant, _ db: Database) throws -> [StoredDrink] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(StoredDrink.columns) FROM drink WHERE instant BETWEEN ? AND ? AND deleted = 0 ORDER BY
                instant, key
                """
        )
        return try Row.readable(statement, arguments: [first.milliseconds, last.milliseconds], StoredDrink.init(row:))
    }

    /// Finds a drink by its number (`d12`, `12`, `#12`), then by its key.
    static func find(_ name: String, _ db: Database) throws -> StoredDrink? { try meanings(of: name, db).first }

    /// All matches in order of precedence. An imported key can look like a number.
    static func meanings(of name: String, _ db: Database) throws -> [StoredDrink] {
        let digits = name.first == "d" || name.first == "#" ? name.dropFirst() : Substring(name)
        return try Row.fetchAll(
            db,
            sql: "SELECT \(StoredDrink.columns) FROM drink WHERE (id = ? OR key = ?) AND deleted = 0 ORDER BY id <> ?",
            arguments: [Int64(digits) ?? 0, name, Int64(digits) ?? 0]
        ).readable(StoredDrink.init(row:))
    }

    /// The row with this number, including a tombstone, with the columns of `StoredDrink`.
    static func row(_ number: Int64, _ db: Database) throws -> Row? {
        try Row.fetchOne(db, sql: "SELECT \(StoredDrink.columns) FROM drink WHERE id = ?", arguments: [number])
    }
}
