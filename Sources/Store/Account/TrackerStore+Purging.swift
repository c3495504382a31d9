import GRDB

extension TrackerStore {
    /// Deletes everything: all rows of all tables, settings and outbox too. Back to the welcome. What is there afterwards is a number that was drawn, by which
    /// readers of drinks see that it is not the store that they know; and what other ends keep of it, until it is taken back there.
    public func purge() throws {
        try write { db in
            try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
            try Self.leave(nil, db)
            for table in try Self.tables(db) where table != "leaving" { try db.execute(sql: "DELETE FROM \"\(table)\"") }
            try db.execute(sql: "DELETE FROM sqlite_sequence")
            try DrinkPlaces.begin(db)
        }
        // The rows are gone from the tables; this takes their bytes out of the file and the log too.
        try writeWithoutTransaction { db in
            try db.execute(sql: "VACUUM")
            if path != ":memory:" { _ = try db.checkpoint(.truncate) }
        }
    }

    /// Rows of every table, for the doctor and for proof that a purge left none.
    public func rowCounts() throws -> [(table: String, rows: Int)] {
        try read { db in
            try (Self.tables(db) + ["migration"]).sorted().map { ($0, try Int.fetchOne(db, sql: "SELECT count(*) FROM \"\($0)\"") ?? 0) }
        }
    }

    /// What SQLite finds wrong with the file: empty when nothing is.
    public func integrityProblems() throws -> [String] {
        try read { db in try Self.integrityProblems(db) }
    }

    static func integrityProblems(_ db: Database) throws -> [String] {
        try String.fetchAll(db, sql: "PRAGMA integrity_check").filter { $0 != "ok" }
            + Row.fetchAll(db, sql: "PRAGMA foreign_key_check").map { "a row of \((try? $0.checked("table", String.self)) ?? "?") points nowhere" }
    }

    /// The tables that hold what people and bottles said: all but the list of migrations.
    static func tables(_ db: Database) throws -> [String] {
        try String.fetchAll(db, sql: """
            SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'migration' ORDER BY name
            """)
    }
}
