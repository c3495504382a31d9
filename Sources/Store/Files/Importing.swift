import GRDB
import TrackerCore

/// What an import changed.
public struct ImportOutcome: Hashable, Sendable {
    public var added = 0
    /// Known already: by our own key, or by start, value and source.
    public var known = 0
    /// Samples of 0 ml, which are no drinks.
    public var empty = 0
}

extension TrackerStore {
    /// Every counted drink, oldest first: what an export writes.
    public func allDrinks() throws -> [Drink] {
        try read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM drink WHERE deleted = 0 ORDER BY instant, key").readable { try StoredDrink(row: $0).drink }
        }
    }

    /// Takes samples in, all in one transaction (`tracker.md` D4).
    ///
    /// A sample of ours keeps its key, so that a store restored from an export knows the bottle's records again and a
    /// deleted drink stays deleted. A foreign one is known by start, value and source: a file read twice adds nothing.
    public func importSamples(_ samples: [HealthSample], areOurs: Bool, _ context: WriteContext) throws -> ImportOutcome {
        try write { db in
            let calendar = try dayCalendar(context.zone, db)
            let exists = try db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM drink WHERE key = ?)")
            let insert = try db.cachedStatement(sql: """
                INSERT INTO drink (key, instant, zone, localDay, ml, source, updatedAt) VALUES (?, ?, ?, ?, ?, ?, ?)
                """)
            var outcome = ImportOutcome()
            for sample in samples {
                guard sample.ml > 0 else {
                    outcome.empty += 1
                    continue
                }
                let isOurs = areOurs || sample.sourceName == nil || sample.sourceName == HealthFiles.sourceName
                let keys = [sample.uuid, sample.importKey].compactMap(\.self)
                let known = try keys.contains { try Bool.fetchOne(exists, arguments: [$0]) ?? false }
                guard !known else {
                    outcome.known += 1
                    continue
                }
                try insert.execute(arguments: [
                    isOurs ? sample.uuid ?? sample.importKey : sample.importKey, sample.at.milliseconds, context.zone.id,
                    calendar.day(of: sample.at).description, sample.ml, DrinkSource.health.rawValue, context.now.milliseconds,
                ])
                outcome.added += 1
            }
            return outcome
        }
    }

    /// Deletes everything: all rows of all tables, settings and outbox too. Back to the welcome.
    public func purge() throws {
        try write { db in
            // Children before parents, as the foreign keys want it.
            for table in [
                "log_entry", "excluded_log", "session", "drink", "bottle_record", "bottle_name", "bottle", "quarantine",
                "counter", "setting", "day", "engine_day", "profile", "token", "preset", "notification", "outbox", "change",
                "claim", "sync_state", "sync_refusal",
            ] {
                try db.execute(sql: "DELETE FROM \(table)")
            }
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
            let tables = try String.fetchAll(db, sql: """
                SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name
                """)
            return try tables.map { ($0, try Int.fetchOne(db, sql: "SELECT count(*) FROM \"\($0)\"") ?? 0) }
        }
    }

    /// What SQLite finds wrong with the file: empty when nothing is.
    public func integrityProblems() throws -> [String] {
        try read { db in
            try String.fetchAll(db, sql: "PRAGMA integrity_check").filter { $0 != "ok" }
                + Row.fetchAll(db, sql: "PRAGMA foreign_key_check").map { "a row of \($0[0] as String? ?? "?") points nowhere" }
        }
    }
}
