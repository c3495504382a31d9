import GRDB
import TrackerCore

/// A day's drinks added up.
package struct DayTotal: Hashable, Sendable {
    /// The day.
    package var day: LocalDay
    /// Sum of its drinks that count.
    package var totalMl: Int
    /// How many of them there are.
    package var count: Int
}

extension TrackerStore {
    /// The counted drinks of a day, oldest first, ties by key.
    /// - Parameter asked: only those that are known at that moment; `nil`: all that are stored.
    package func drinks(on day: LocalDay, knownAt asked: Instant? = nil) throws -> [StoredDrink] {
        try read { db in try DrinkTable.drinks(on: day, db) }.filter { $0.drink.isKnown(at: asked) }
    }

    /// The number of drinks that count.
    package func countedDrinks() throws -> Int {
        try read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM drink WHERE deleted = 0 AND ml > 0") ?? 0 }
    }

    /// The counted drinks from one instant to another, both included, oldest first.
    package func drinks(from first: Instant, through last: Instant) throws -> [StoredDrink] {
        try read { db in try DrinkTable.drinks(from: first, through: last, db) }
    }

    /// Days with counted drinks between two days, both included, ascending. Days without drinks are left out.
    /// - Parameter asked: only of drinks that are known at that moment; `nil`: of all that are stored.
    package func totals(from first: LocalDay, through last: LocalDay, knownAt asked: Instant? = nil) throws
        -> [DayTotal]
    {
        try read { db in
            // As `Drink.isKnown(at:)`. Where nobody asks, the index has all that is needed.
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

    /// The drinks that a name may mean, the one that it does mean first.
    package func drinks(named name: String) throws -> [StoredDrink] {
        try read { db in try DrinkTable.meanings(of: name, db) }
    }

    /// The last counted drink at all.
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

/// A drink and the row it is stored in.
@dynamicMemberLookup
package struct StoredDrink: Hashable, Sendable {
    /// The row's number, for people to point at; never used again.
    package var number: Int64
    /// The drink itself.
    package var drink: Drink

    /// What the drink says.
    package subscript<Value>(dynamicMember path: KeyPath<Drink, Value>) -> Value { drink[keyPath: path] }

    /// What a statement selects first whose rows are read as drinks: they are read by their places, since a day has
    /// many and a history all of them.
    static let columns =
        """
        drink.id, drink.key, drink.instant, drink.zone, drink.localDay, drink.ml, drink.source, drink.deleted, \
        drink.updatedAt, drink.instead
        """

    /// - Parameter row: with `columns` first.
    /// - Throws: `UnreadableRow`.
    init(row: Row) throws {
        number = try row.checked("id", at: 0)
        let day: String = try row.checked("localDay", at: 4)
        guard let localDay = LocalDay(day) else { throw row.unreadable("localDay is \"\(day)\", which is no date") }
        drink = Drink(
            key: try row.checked("key", at: 1), at: try row.instant("instant", at: 2),
            zone: try row.checked("zone", at: 3), localDay: localDay,
            ml: try row.checked("ml", at: 5),
            source: DrinkSource(rawValue: try row.checked("source", at: 6)),
            isDeleted: try row.checked("deleted", at: 7), updatedAt: try row.instant("updatedAt", at: 8))
    }

    /// The key of the drink that a row corrects.
    /// - Parameter row: with `columns` first.
    static func original(_ row: Row) throws -> String? { try row.checked("instead", at: 9) }
}

enum DrinkTable {
    /// One sip, or a whole bottle of an import: what a row may say. A bottle's record holds 65,535 at most.
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
