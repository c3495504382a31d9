import GRDB
import TrackerCore

/// The schema of the store: one migration, `v1`. It is edited in place until 0.10 is released.
///
/// `application_id` marks the file. `user_version` is 30 in a store of 0.9, and 30 plus the number of migrations since.
enum Schema {
    /// "WATH" as a big-endian number: SQLite's `application_id` of a store.
    static let applicationID: Int32 = 0x5741_5448
    /// `user_version` of a store that 0.9 wrote.
    static let release09 = 30
    /// `user_version` of a store that this version writes.
    static let version = release09 + migrator(path: ":memory:").migrations.count

    /// What a file contains.
    enum State {
        /// Nothing: the first write makes a store of it.
        case empty
        /// A store of 0.9, which the first write converts.
        case release09
        /// A store of this version.
        case current
    }

    static func migrator(path: String) -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1", foreignKeyChecks: .immediate) { db in
            for part in [tables, indexes, triggers] { try db.execute(sql: part) }
            try mark(db)
            // Readers never see positions of a store in memory, so its positions need no random beginning.
            if path != ":memory:" { try DrinkPlaces.begin(db) }
        }
        return migrator
    }

    static func mark(_ db: Database) throws {
        try db.execute(sql: "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(version)")
    }

    /// Makes a store of an empty file, and converts a store of 0.9.
    /// - Parameter keep: copies a store of 0.9 before it is converted, while it is locked for writing.
    /// - Returns: the names of the removed settings that the conversion deleted.
    @discardableResult
    static func bringUpToDate(_ database: any DatabaseWriter, path: String, keep: () throws -> Void = {}) throws
        -> [String]
    {
        switch try database.read({ try state($0, path: path, checksTables: false) }) {
        case .current: return []
        case .release09: return try convert(database, path: path, keep: keep)
        case .empty:
            do {
                try migrator(path: path).migrate(database)
            } catch {
                // `DatabaseMigrator` reads the applied migrations before it locks the file: another process might
                // have made the tables in between.
                guard (try? database.read { try state($0, path: path) }) == .current else { throw error }
            }
            return []
        }
    }

    /// Call this in a transaction: it reads several values that belong together.
    /// - Parameter checksTables: whether the columns of all tables are checked.
    /// - Throws: `StoreError` of kind `foreign`, `newer` or `damaged`.
    static func state(_ db: Database, path: String, checksTables: Bool = true) throws -> State {
        let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        guard try Int32.fetchOne(db, sql: "PRAGMA application_id") == applicationID else {
            // `DatabaseMigrator` makes its own table in a transaction of its own, before those of the first migration.
            let sql = "SELECT count(*) FROM sqlite_schema WHERE tbl_name <> 'grdb_migrations'"
            guard try Int32.fetchOne(db, sql: "PRAGMA application_id") == 0, version == 0,
                try Int.fetchOne(db, sql: sql) == 0
            else {
                throw StoreError(.foreign, "The file is a SQLite database of another program", at: path)
            }
            return .empty
        }
        guard version >= 0 else {
            throw StoreError(
                .damaged, "The store says that its schema is \(version), which no version of this program ever wrote",
                at: path, code: "schemaIsWrong")
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

    /// The effect of a restore on a table.
    enum Restoring {
        /// The backup's rows replace the rows here.
        case replaced
        /// The rows here stay, and the backup adds those that are missing: what other systems received.
        case merged
        /// The rows here stay: what belongs to this installation.
        case kept
    }

    /// Every table needs a rule.
    static let restoring: [String: Restoring] = Dictionary(
        uniqueKeysWithValues: [
            (
                .replaced,
                [
                    "setting", "bottle", "bottle_name", "bottle_setting", "bottle_record", "quarantine", "drink", "day",
                    "profile", "session", "log_entry", "excluded_log", "preset", "change", "inbox_file",
                ]
            ),
            (.merged, ["counter", "engine_day", "request", "notification", "pocket_message", "health_given"]),
            (
                .kept,
                [
                    "token", "connection_state", "drink_sequence", "drink_change", "outlet", "outlet_topic", "leaving",
                    "leaving_tried", "claim", "told_through", "pocket_trouble", "outbox", "sync_state", "sync_refusal",
                    "written_file",
                ]
            ),
        ].flatMap { (rule: Restoring, names: [String]) in names.map { ($0, rule) } })

    /// The names of the tables, in the order in which they are made.
    static let tableNames = tables.split(separator: "\n").filter { $0.hasPrefix("CREATE TABLE ") }
        .map { String($0.split(separator: " ")[2]) }

    static func columns(of table: String, _ db: Database) throws -> [String] {
        try String.fetchAll(db, sql: "SELECT name FROM pragma_table_info(?) ORDER BY cid", arguments: [table])
    }

    /// The statements of all tables, as in `tables`.
    static func statements(_ db: Database) throws -> String? {
        try String.fetchOne(
            db,
            sql: """
                SELECT group_concat(sql || ';', char(10, 10)) FROM (
                    SELECT sql FROM sqlite_schema WHERE type = 'table' AND name <> 'grdb_migrations'
                    AND name NOT LIKE 'sqlite_%' ORDER BY rowid)
                """)
    }

    /// Checks that every table has its columns: a missing column would end the program at the first row. Tables of
    /// other programs are allowed.
    /// - Throws: `StoreError` of kind `damaged`.
    private static func checkTables(_ db: Database, path: String) throws {
        // Equal statements have equal columns. Asking for the columns of each table takes as long as opening the file.
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
            .damaged, "The store's tables are not as this program makes them (\(table))", at: path,
            code: "schemaIsWrong")
    }
}
