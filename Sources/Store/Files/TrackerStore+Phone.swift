import Foundation
import GRDB
import TrackerCore

/// A phone keeps health records of its own: what it wrote there for us comes back among what others wrote, without a
/// word of whose it is (tracker law D4).
extension TrackerStore {
    /// So many days are looked back at most.
    package static let longestLookBack = 3650

    /// Drinks that the phone has not yet, oldest first: what came from health records is there already.
    /// - Parameter sparingSessions: without the water of sessions.
    package func drinksNotGiven(since: Instant, limit: Int, sparingSessions: Bool = false) throws -> [Drink] {
        let spared =
            sparingSessions
            ? "AND source <> '\(DrinkSource.session.rawValue)' AND key NOT GLOB '\(Drink.sessionKeys)*'" : ""
        return try read { db in
            var drinks: [Drink] = []
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT \(StoredDrink.columns) FROM drink WHERE deleted = 0 AND ml > 0 AND source <> ? AND instant \
                    >= ? \(spared)
                        AND NOT EXISTS (SELECT 1 FROM health_given AS g WHERE g.key = drink.key)
                    ORDER BY instant, key LIMIT ?
                    """, arguments: [DrinkSource.health.rawValue, since.milliseconds, limit])
            try rows.forEachDrink { drink, _, _ in drinks.append(drink) }
            return drinks
        }
    }

    /// Notes that the phone has these.
    /// - Returns: how many of them are new.
    package func noteGiven(_ keys: [String]) throws -> Int {
        try write { db in
            var count = 0
            for key in Set(keys) {
                try db.execute(
                    sql:
                        """
                        INSERT INTO health_given (key, instant, ml) SELECT key, instant, ml FROM drink WHERE key = \
                        ? ON CONFLICT (key) DO NOTHING
                        """,
                    arguments: [key])
                count += db.changesCount
            }
            return count
        }
    }

    /// Of samples that lie aside, those that the phone wrote for us: each of ours is the answer to one of them, in the
    /// same minute and of the same amount, since a phone may write down no seconds. What is stored already under its
    /// own key takes nobody's place.
    static func takeGivenAway(_ db: Database) throws {
        guard try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM health_given)") == true else { return }
        try db.execute(
            sql: """
                DELETE FROM temp.sample WHERE rowid IN (
                    SELECT s.id FROM (
                        SELECT rowid AS id, instant / 60000 AS minute, ml, row_number() OVER (PARTITION BY instant / \
                60000, ml ORDER BY rowid) AS number
                        FROM temp.sample WHERE key LIKE 'health|%' AND NOT EXISTS (SELECT 1 FROM drink AS there WHERE \
                there.key = sample.key)
                    ) AS s WHERE s.number <= (SELECT count(*) FROM health_given AS g WHERE g.instant / 60000 = \
                s.minute AND g.ml = s.ml))
                """)
    }

    // MARK: - Files that a phone lays down

    /// With which mark a file of the inbox was taken in; `nil`: never.
    package func inboxMark(_ name: String) throws -> String? {
        try read { db in try String.fetchOne(db, sql: "SELECT mark FROM inbox_file WHERE name = ?", arguments: [name]) }
    }

    /// From now on that file is known; of those that are not there any more nothing is kept.
    package func noteInbox(_ name: String, _ mark: String, present: Set<String>) throws {
        try write { db in
            for gone in try Set(String.fetchAll(db, sql: "SELECT name FROM inbox_file")).subtracting(present) {
                try db.execute(sql: "DELETE FROM inbox_file WHERE name = ?", arguments: [gone])
            }
            try db.execute(
                sql:
                    """
                    INSERT INTO inbox_file (name, mark) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET mark = \
                    excluded.mark
                    """,
                arguments: [name, mark])
        }
    }
}
