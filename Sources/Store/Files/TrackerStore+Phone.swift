import GRDB
package import TrackerCore

/// Drinks that a phone writes to its health records and later returns without their origin (tracker spec D4).
extension TrackerStore {
    /// The maximum age of drinks in days.
    package static let longestLookBackDays = 3650

    /// The drinks that the phone does not have, oldest first, without those from health records.
    /// - Parameter excludingSessions: whether to exclude the water of sessions.
    package func drinksMissingOnPhone(since: Instant, limit: Int, excludingSessions: Bool = false) throws -> [Drink] {
        let excluded =
            excludingSessions
            ? "AND source <> '\(DrinkSource.session.rawValue)' AND key NOT GLOB '\(Drink.sessionKeys)*'" : ""
        let drinks: [StoredDrink] = try all(
            """
            SELECT \(StoredDrink.columns) FROM drink
            WHERE deleted = 0 AND ml > 0 AND source <> ? AND instant >= ? \(excluded)
                AND NOT EXISTS (SELECT 1 FROM phone_health_sample AS p WHERE p.key = drink.key)
            ORDER BY instant, key LIMIT ?
            """, [DrinkSource.health.rawValue, since, limit])
        return drinks.map(\.drink)
    }

    /// Records that the phone has these drinks.
    /// - Returns: the number of new ones.
    package func recordPhoneDrinks(_ keys: [String]) throws -> Int {
        try write { db in
            var count = 0
            for key in Set(keys) {
                try db.run(
                    """
                    INSERT OR IGNORE INTO phone_health_sample (key, instant, ml)
                        SELECT key, instant, ml FROM drink WHERE key = ?
                    """, [key])
                count += db.changesCount
            }
            return count
        }
    }

    /// Removes samples that the phone wrote for this store. Each drink matches one of the same minute and amount,
    /// because a phone might not store seconds.
    static func removeReturnedSamples(_ db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM temp.sample WHERE rowid IN (
                    SELECT s.id FROM (
                        SELECT rowid AS id, instant / 60000 AS minute, ml,
                            row_number() OVER (PARTITION BY instant / 60000, ml ORDER BY rowid) AS number
                        FROM temp.sample WHERE key LIKE 'health|%'
                            AND NOT EXISTS (SELECT 1 FROM drink AS there WHERE there.key = sample.key)
                    ) AS s WHERE s.number <= (
                        SELECT count(*) FROM phone_health_sample AS p
                        WHERE p.instant / 60000 = s.minute AND p.ml = s.ml))
                """)
    }

    // MARK: - Inbox files

    /// The size and modification time of an imported file in the inbox; `nil` if it was not imported.
    package func inboxSignature(_ name: String) throws -> String? {
        try first("SELECT signature FROM inbox_file WHERE name = ?", [name])
    }

    /// Stores the signature of a file, and deletes those of missing files.
    package func recordInboxFile(_ name: String, _ signature: String, present: Set<String>) throws {
        try write { db in
            for gone in try Set(String.fetchAll(db, sql: "SELECT name FROM inbox_file")).subtracting(present) {
                try db.run("DELETE FROM inbox_file WHERE name = ?", [gone])
            }
            try db.run("INSERT OR REPLACE INTO inbox_file (name, signature) VALUES (?, ?)", [name, signature])
        }
    }
}
