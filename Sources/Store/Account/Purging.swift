import Foundation
import GRDB

extension TrackerStore {
    /// Deletes all rows of all tables. Only the retained topics that are to be deleted at receivers stay. Readers by
    /// position see
    /// a new store.
    package func purge() throws {
        try write { db in
            try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
            try Self.leave(nil, db)
            let staying: Set = ["leaving", "leaving_tried"]
            for table in try Self.tables(db) where !staying.contains(table) {
                try db.execute(sql: "DELETE FROM \"\(table)\"")
            }
            // The deletion of drinks is counted.
            try db.execute(sql: "DELETE FROM counter; DELETE FROM sqlite_sequence")
            try DrinkPlaces.begin(db)
        }
        // The rows are gone from the tables; this takes their bytes out of the file and the log too.
        try writeWithoutTransaction { db in
            try db.execute(sql: "VACUUM")
            if path != ":memory:" { _ = try db.checkpoint(.truncate) }
        }
    }
}

/// What a service's figures have of a store.
extension TrackerStore {
    /// The size of the file and of its WAL; `nil` if there is no file.
    package var bytes: Int? {
        func size(_ path: String) -> Int? {
            ((try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? NSNumber)?.intValue
        }
        return size(path).map { $0 + (size(path + "-wal") ?? 0) }
    }

    /// The number of changes for the sync server.
    package func outboxDepth() throws -> Int { try read { try SyncStateTable.waiting($0) } }
}
