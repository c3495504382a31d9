import GRDB

extension TrackerStore {
    /// What SQLite finds wrong with the file: empty when nothing is.
    package func integrityProblems() throws -> [String] {
        try read { db in try Self.integrityProblems(db) }
    }

    static func integrityProblems(_ db: Database) throws -> [String] {
        try String.fetchAll(db, sql: "PRAGMA integrity_check").filter { $0 != "ok" }
            + Row.fetchAll(db, sql: "PRAGMA foreign_key_check").map {
                "a row of \((try? $0.checked("table", String.self)) ?? "?") points nowhere"
            }
    }

    /// Rows of every table, for the doctor and for proof that a purge left none.
    package func rowCounts() throws -> [(table: String, rows: Int)] {
        try read { db in
            try Self.tables(db).map {
                ($0, try Int.fetchOne(db, sql: "SELECT count(*) FROM \"\($0)\"") ?? 0)
            }
        }
    }

    /// The tables that hold what people and bottles said: all except the migrator's table.
    static func tables(_ db: Database) throws -> [String] {
        try String.fetchAll(
            db,
            sql: """
                SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
                AND name <> 'grdb_migrations' ORDER BY name
                """)
    }
}
