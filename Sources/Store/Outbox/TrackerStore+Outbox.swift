import GRDB
import TrackerCore

extension TrackerStore {
    /// The queue as it stands, parked items included.
    package func outbox() throws -> Outbox { try read { try OutboxTable.outbox($0) } }

    /// Takes in what came of sending an item: done ones leave, refused ones park, the rest waits longer each time.
    /// Where a newer change took the item's place meanwhile, that one stays.
    package func finishSending(_ item: OutboxItem, _ outcome: SendOutcome, at now: Instant) throws {
        try write { db in
            var outbox = try OutboxTable.outbox(db)
            outbox.finish(item, outcome, at: now)
            guard let left = outbox.items.first(where: { $0.id == item.id }) else {
                try db.execute(sql: "DELETE FROM outbox WHERE seq = ?", arguments: [item.id])
                return
            }
            try db.execute(
                sql: "UPDATE outbox SET attempts = ?, notBefore = ?, parked = ? WHERE seq = ?",
                arguments: [left.attempts, left.notBefore?.milliseconds ?? 0, left.parkedReason, left.id])
        }
    }

    /// What the cloud icon shows while nothing is on its way.
    package func syncStatus() throws -> SyncStatus { try read { try OutboxTable.status($0) } }
}
