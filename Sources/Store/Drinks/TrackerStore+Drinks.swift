import GRDB
import TrackerCore

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
