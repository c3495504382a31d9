import Foundation
import GRDB

extension TrackerStore {
    /// Deletes all rows of all tables, except the retained topics. Positions in the change stream become invalid.
    package func purge() throws {
        try write { db in
            try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
            for table in try Self.tables(db) where table != "stale_topic" {
                try db.execute(sql: "DELETE FROM \"\(table)\"")
            }
            // The triggers have recorded the deleted drinks, so delete the counters last.
            try db.execute(sql: "DELETE FROM counter; DELETE FROM sqlite_sequence")
            try DrinkPositions.initialise(db)
        }
        // Also remove the deleted bytes from the file and the WAL.
        try writeWithoutTransaction { db in
            try db.execute(sql: "VACUUM")
            if path != ":memory:" { _ = try db.checkpoint(.truncate) }
        }
    }

    /// The size of the file and its WAL; `nil` if there is no file.
    package var bytes: Int? {
        func size(_ path: String) -> Int? {
            ((try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? NSNumber)?.intValue
        }
        return size(path).map { $0 + (size(path + "-wal") ?? 0) }
    }

    package func outboxDepth() throws -> Int { try read { try SyncStateTable.waiting($0) } }
}
