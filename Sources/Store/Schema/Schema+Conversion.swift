import GRDB
import TrackerCore

extension Schema {
    /// Tables of 0.9 that no longer exist.
    private static let removedTables = [
        "migration", "clock_mark", "fleet_again", "fleet_told", "leaving_tried", "pocket_address", "pocket_leaving",
        "push_key", "push_subscription", "sync_refusal", "written_file",
    ]

    /// The names of tables in 0.9, if they have a new name.
    static let oldTableNames = [
        "channel_error": "pocket_trouble", "channel_position": "told_through", "phone_health_sample": "health_given",
        "publisher": "outlet", "queued_notification": "pocket_message", "stale_topic": "leaving",
    ]

    /// The names of columns in 0.9, if they have a new name, by the new name of their table.
    static let oldColumnNames = [
        "change": ["description": "what"],
        "channel_error": ["channel": "outlet", "message": "words"],
        "channel_position": ["channel": "outlet", "position": "place"],
        "claim": ["position": "place"],
        "drink": ["correctionOf": "instead", "firstPosition": "born", "position": "place"],
        "drink_sequence": ["restoredThrough": "putBack"],
        "inbox_file": ["signature": "mark"],
        "notification": ["position": "place"],
        "outbox": ["rejection": "parked"],
        "publisher": ["address": "place", "origin": "home"],
        "queued_notification": ["channel": "outlet", "kind": "place"],
        "stale_topic": ["address": "place"],
    ]

    /// Columns that 0.9 does not have; NULL after a conversion.
    static let addedColumns: Set = ["lastAgreedPoll", "largestReading", "deletedWith", "lastUsedAt", "refusals"]

    /// Converts a store of 0.9 in one transaction.
    /// - Returns: the names of the removed settings that the conversion deleted.
    static func convert(_ database: any DatabaseWriter, path: String, backUp: () throws -> Void) throws -> [String] {
        try database.writeWithoutTransaction { db in
            // SQLite ignores `foreign_keys` inside a transaction. `legacy_alter_table`: RENAME changes no other table.
            try db.execute(sql: "PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON")
            defer { try? db.execute(sql: "PRAGMA legacy_alter_table = OFF; PRAGMA foreign_keys = ON") }
            var removed: [String] = []
            try db.inTransaction(.immediate) {
                // Another process might have converted the store before this one got the lock.
                guard try state(db, path: path) == .release09 else { return .rollback }
                try backUp()
                try replaceTables(db, path: path)
                removed = try deleteRemovedFeatures(db)
                try setVersion(db)
                return .commit
            }
            return removed
        }
    }

    /// Creates the current tables and copies the columns that old and new ones have.
    private static func replaceTables(_ db: Database, path: String) throws {
        guard try columns(of: "migration", db) == ["name"], try columns(of: "grdb_migrations", db).isEmpty else {
            throw wrongTable("migration", path: path)
        }
        let sequences: [(String, Int64)] = try db.pairs("SELECT name, seq FROM sqlite_sequence")
        for table in tableNames {
            let old = oldTableNames[table] ?? table
            let parts = try String.fetchAll(
                db,
                sql: """
                    SELECT 'DROP ' || type || ' "' || name || '"' FROM sqlite_schema
                    WHERE tbl_name = ? AND type IN ('index', 'trigger') AND sql IS NOT NULL
                    """, arguments: [old])
            for part in parts { try db.execute(sql: part) }
            guard try !columns(of: old, db).isEmpty else { throw wrongTable(old, path: path) }
            try db.execute(sql: "ALTER TABLE \(old) RENAME TO old_\(table)")
        }
        for table in removedTables { try db.execute(sql: "DROP TABLE IF EXISTS \(table)") }
        try db.execute(sql: tables)
        for table in tableNames {
            let columns = try columns(of: table, db).filter { !addedColumns.contains($0) }
            let oldColumns = columns.map { oldColumnNames[table]?[$0] ?? $0 }
            guard try Set(oldColumns).isSubset(of: self.columns(of: "old_\(table)", db)) else {
                throw wrongTable(oldTableNames[table] ?? table, path: path)
            }
            do {
                try db.execute(
                    sql: """
                        INSERT \(table == "bottle_name" ? "OR IGNORE " : "")INTO \(table)
                            (\(columns.joined(separator: ", ")))
                        SELECT \(oldColumns.joined(separator: ", ")) FROM old_\(table); DROP TABLE old_\(table)
                        """)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
                throw StoreError(
                    .damaged, "A row of the store cannot be converted: \(error.message ?? table)", at: path,
                    code: "schemaIsWrong")
            }
        }
        // 0.9 did not store the use of a token: its 90 days begin now.
        try db.execute(sql: "UPDATE token SET lastUsedAt = unixepoch() * 1000")
        try db.execute(sql: "DELETE FROM sqlite_sequence")
        for (name, last) in sequences {
            guard let table = tableNames.first(where: { oldTableNames[$0] ?? $0 == name }) else { continue }
            try db.execute(sql: "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", arguments: [table, last])
        }
        // 0.9 allowed an address as an alias, and two counted versions of one drink.
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO bottle_name (name, bottle) SELECT origin, id FROM bottle;
                UPDATE bottle SET name = origin WHERE name NOT IN (SELECT name FROM bottle_name);
                UPDATE drink SET deleted = 1 WHERE deleted = 0
                    AND id NOT IN (SELECT max(id) FROM drink WHERE deleted = 0 GROUP BY coalesce(correctionOf, key))
                """)
        // The JSON of a notification has its position.
        for table in ["notification", "claim"] {
            try db.execute(
                sql: """
                    UPDATE \(table) SET decision = json_remove(
                        json_set(decision, '$.position', json_extract(decision, '$.place')), '$.place')
                        WHERE json_valid(decision)
                    """)
        }
        guard try columns(of: "outlet_topic", db) == ["outlet", "topic"] else {
            throw wrongTable("outlet_topic", path: path)
        }
        // 0.9 stored a broker as JSON with its URL and possibly the password.
        try db.execute(
            sql: """
                UPDATE publisher SET address = json_extract(address, '$.url') WHERE json_valid(address);
                UPDATE OR REPLACE stale_topic SET address = coalesce(json_extract(address, '$.url'), '')
                    WHERE json_valid(address);
                INSERT OR IGNORE INTO stale_topic (address, id, topic)
                    SELECT coalesce(address, ''), id, topic FROM outlet_topic JOIN publisher ON name = outlet;
                DROP TABLE outlet_topic
                """)
        for part in [indexes, triggers] { try db.execute(sql: part) }
        // Use the same text as `DatabaseMigrator`, because a restore compares the statements of backup and store.
        try db.execute(
            sql: """
                CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
                INSERT INTO grdb_migrations (identifier) VALUES ('v1')
                """)
    }

    /// Deletes settings and positions of features that 0.10 removed.
    /// - Returns: the names of the settings.
    private static func deleteRemovedFeatures(_ db: Database) throws -> [String] {
        let removed = try SettingTable.texts(db).keys.filter(Settings.isRemoved).sorted()
        for name in removed { try db.execute(sql: "DELETE FROM setting WHERE name = ?", arguments: [name]) }
        // An open publisher without a service would keep every change.
        try db.execute(
            sql: """
                DELETE FROM publisher WHERE name = 'fleet';
                DELETE FROM drink_change WHERE NOT EXISTS (SELECT 1 FROM publisher WHERE isOpen);
                DELETE FROM channel_position WHERE channel IN ('gotify', 'push');
                DELETE FROM queued_notification WHERE channel IN ('gotify', 'push');
                DELETE FROM channel_error WHERE channel IN ('gotify', 'push')
                """)
        return removed
    }
}
