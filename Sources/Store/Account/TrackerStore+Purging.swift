import GRDB

extension TrackerStore {
    /// Deletes everything: all rows of all tables, settings and outbox too. Back to the welcome. What is there
    /// afterwards is a number that was drawn, by which readers of drinks see that it is not the store that they know;
    /// and what brokers keep of it, until it is taken back there.
    package func purge() throws {
        try write { db in
            try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
            try Self.leave(nil, db)
            let staying: Set = ["leaving", "leaving_tried"]
            for table in try Self.tables(db) where !staying.contains(table) {
                try db.execute(sql: "DELETE FROM \"\(table)\"")
            }
            try db.execute(sql: "DELETE FROM sqlite_sequence")
            try DrinkPlaces.begin(db)
        }
        // The rows are gone from the tables; this takes their bytes out of the file and the log too.
        try writeWithoutTransaction { db in
            try db.execute(sql: "VACUUM")
            if path != ":memory:" { _ = try db.checkpoint(.truncate) }
        }
    }
}
