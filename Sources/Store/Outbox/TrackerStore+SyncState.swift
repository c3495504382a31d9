import GRDB
import TrackerCore

extension TrackerStore {
    /// Remembers what came of a pass over the sync server, so that every surface can say it.
    package func finishSyncPass(_ merged: MergeOutcome, trouble: String?, at now: Instant) throws {
        try write { db in
            // Rows that were not even asked for this time are as they were.
            let refused = trouble == nil ? merged.refused : try SyncStateTable.refused(db)
            try db.execute(
                sql: "INSERT OR REPLACE INTO sync_state (only, passedAt, trouble, refused) VALUES (1, ?, ?, ?)",
                arguments: [now.milliseconds, trouble, refused])
            guard trouble == nil else { return }
            try db.execute(sql: "DELETE FROM sync_refusal")
            for refusal in merged.refusals {
                try db.execute(
                    sql: "INSERT OR REPLACE INTO sync_refusal (entity, id, reason) VALUES (?, ?, ?)",
                    arguments: [refusal.entity.rawValue, refusal.id, refusal.reason])
            }
        }
    }

    /// The icon and what stands behind it.
    package func syncReport() throws -> (status: SyncStatus, report: SyncReport) {
        try read { try SyncStateTable.status($0) }
    }
}
