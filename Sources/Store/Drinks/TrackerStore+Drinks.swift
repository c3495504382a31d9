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

    /// How many drinks count, whoever said so.
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
                    WHERE localDay BETWEEN ? AND ? AND \(DrinkTable.counts) \(known) GROUP BY localDay ORDER BY localDay
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
                    """
                    SELECT \(StoredDrink.columns) FROM drink WHERE \(DrinkTable.counts) ORDER BY instant DESC, key \
                    DESC LIMIT 1
                    """
            ).map(StoredDrink.init(row:))
        }
    }
}
