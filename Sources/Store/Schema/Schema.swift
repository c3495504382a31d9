import GRDB
import TrackerCore

/// The schema of the store: one migration, `v1`. It is edited in place until 0.10 is released.
///
/// `application_id` marks the file. `user_version` is 30 in a store of 0.9, and 30 plus the number of migrations since.
enum Schema {
    /// "WATH" in big-endian order: SQLite's `application_id` of a store.
    static let applicationID: Int32 = 0x5741_5448
    /// `user_version` of a store that 0.9 wrote.
    static let release09 = 30
    static let version = release09 + migrator(path: ":memory:").migrations.count

    enum State {
        /// An empty file; the first write creates a store.
        case empty
        /// A store of 0.9, which the first write converts.
        case release09
        case current
    }

    static func migrator(path: String) -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1", foreignKeyChecks: .immediate) { db in
            for part in [tables, indexes, triggers] { try db.execute(sql: part) }
            try setVersion(db)
            // A store in memory has no readers of positions and needs no random start.
            if path != ":memory:" { try DrinkPositions.initialise(db) }
        }
        return migrator
    }

    static func setVersion(_ db: Database) throws {
        try db.execute(sql: "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(version)")
    }

    /// Creates a store in an empty file, and converts a store of 0.9.
    /// - Parameter backUp: called with the write lock before a conversion, to copy the store of 0.9.
    /// - Returns: the names of settings that the conversion deleted.
    @discardableResult
    static func createOrConvert(_ database: any DatabaseWriter, path: String, backUp: () throws -> Void = {}) throws
        -> [String]
    {
        switch try database.read({ try state($0, path: path, checksTables: false) }) {
        case .current: return []
        case .release09: return try convert(database, path: path, backUp: backUp)
        case .empty:
            do {
                try migrator(path: path).migrate(database)
            } catch {
                // `DatabaseMigrator` reads the applied migrations before it locks the file. Another process might have
                // created them since.
                guard (try? database.read { try state($0, path: path) }) == .current else { throw error }
            }
            return []
        }
    }

    /// The state of the file. Call this in a transaction, because it reads several related values.
    /// - Parameter checksTables: whether to check the columns of all tables.
    /// - Throws: `StoreError` of kind `foreign`, `newer` or `damaged`.
    static func state(_ db: Database, path: String, checksTables: Bool = true) throws -> State {
        let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        guard try Int32.fetchOne(db, sql: "PRAGMA application_id") == applicationID else {
            // `DatabaseMigrator` creates its own table in a separate transaction before the first migration.
            let sql = "SELECT count(*) FROM sqlite_schema WHERE tbl_name <> 'grdb_migrations'"
            guard try Int32.fetchOne(db, sql: "PRAGMA application_id") == 0, version == 0,
                try Int.fetchOne(db, sql: sql) == 0
            else {
                throw StoreError(.foreign, "The file is a SQLite database of another program", at: path)
            }
            return .empty
        }
        guard version >= 0 else {
            throw StoreError(.damaged, "The store has the unknown schema \(version)", at: path, code: "schemaIsWrong")
        }
        let migrator = migrator(path: path)
        guard version <= self.version, try !migrator.hasBeenSuperseded(db) else {
            throw StoreError(
                .newer,
                "The store was written by a later version (schema \(version), this program knows \(self.version))",
                at: path)
        }
        guard version >= release09 else {
            throw StoreError(
                .damaged, "The store was written before 0.9 (schema \(version)): update it with 0.9 first", at: path,
                code: "schemaIsTooOld")
        }
        guard version == self.version else { return .release09 }
        guard try migrator.hasCompletedMigrations(db) else { throw wrongTable("grdb_migrations", path: path) }
        if checksTables { try checkTables(db, path: path) }
        return .current
    }

    // MARK: - Tables

    /// The way in which a restore treats the rows of a table.
    enum RestoreRule {
        /// The backup's rows replace the store's rows.
        case replaced
        /// The store's rows stay, and the backup adds missing ones, for data that other systems received.
        case merged
        /// The store's rows stay, for data of this installation.
        case kept
    }

    /// The rule of each table. Every table needs one.
    static let restoreRules: [String: RestoreRule] = Dictionary(
        uniqueKeysWithValues: [
            (
                .replaced,
                [
                    "setting", "bottle", "bottle_name", "bottle_setting", "bottle_record", "quarantine", "drink", "day",
                    "profile", "session", "log_entry", "excluded_log", "preset", "change", "inbox_file",
                ]
            ),
            (
                .merged,
                ["counter", "engine_day", "request", "notification", "queued_notification", "phone_health_sample"]
            ),
            (
                .kept,
                [
                    "token", "connection_state", "drink_sequence", "drink_change", "publisher", "stale_topic", "claim",
                    "channel_position", "channel_error", "outbox", "sync_state",
                ]
            ),
        ].flatMap { (rule: RestoreRule, names: [String]) in names.map { ($0, rule) } })

    /// The names of the tables in the order of creation.
    static let tableNames = tables.split(separator: "\n").filter { $0.hasPrefix("CREATE TABLE ") }
        .map { String($0.split(separator: " ")[2]) }

    static func columns(of table: String, _ db: Database) throws -> [String] {
        try String.fetchAll(db, sql: "SELECT name FROM pragma_table_info(?) ORDER BY cid", arguments: [table])
    }

    static func statements(_ db: Database) throws -> String? {
        try String.fetchOne(
            db,
            sql: """
                SELECT group_concat(sql || ';', char(10, 10)) FROM (
                    SELECT sql FROM sqlite_schema WHERE type = 'table' AND name <> 'grdb_migrations'
                    AND name NOT LIKE 'sqlite_%' ORDER BY rowid)
                """)
    }

    /// Checks the columns of every table, because a missing one would crash the process. Other tables are allowed.
    /// - Throws: `StoreError` of kind `damaged`.
    private static func checkTables(_ db: Database, path: String) throws {
        // Equal statements have equal columns. Reading the columns of each table would take as long as opening the
        // file.
        guard try statements(db) != tables else { return }
        try DatabaseQueue().write { model in
            try model.execute(sql: tables)
            for table in tableNames where try columns(of: table, model) != columns(of: table, db) {
                throw wrongTable(table, path: path)
            }
        }
    }

    static func wrongTable(_ table: String, path: String) -> StoreError {
        StoreError(
            .damaged, "The table \(table) has other columns than this program expects", at: path, code: "schemaIsWrong")
    }
}
