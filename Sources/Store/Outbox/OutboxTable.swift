import GRDB
import TrackerCore

/// One thing to tell the server.
public struct OutboxItem: Hashable, Sendable {
    public var seq: Int64
    public var entity: String
    public var id: String
    /// `createUser`, `upsertSession`, `addLogEntry`, `deleteLogEntry`, `upsertDrinkPreset`, `deleteUser`.
    public var op: String
    /// A JSON object.
    public var payload: String
    public var updatedAt: Instant
    /// Failed attempts so far.
    public var attempts: Int
    /// Not to be tried before.
    public var notBefore: Instant
    /// Why the server will never take it; `nil` while it may.
    public var parked: String?
}

extension TrackerStore {
    /// The next item to send: the oldest that waits. `nil` when nothing waits; it may not be due yet.
    public func nextOutboxItem() throws -> OutboxItem? {
        try read { db in
            try Row.fetchOne(db, sql: "SELECT * FROM outbox WHERE parked IS NULL ORDER BY seq LIMIT 1").map(OutboxTable.item)
        }
    }

    /// Everything in the outbox, parked items too, in order.
    public func outbox() throws -> [OutboxItem] {
        try read { db in try Row.fetchAll(db, sql: "SELECT * FROM outbox ORDER BY seq").map(OutboxTable.item) }
    }

    /// The server has it. A newer change that replaced it meanwhile stays queued.
    public func outboxDelivered(_ item: OutboxItem) throws {
        try write { db in
            try db.execute(
                sql: "DELETE FROM outbox WHERE seq = ? AND op = ? AND payload = ? AND updatedAt = ?",
                arguments: [item.seq, item.op, item.payload, item.updatedAt.milliseconds])
        }
    }

    /// It did not get through: try again after the back-off (1, 2, 4 … 300 s).
    public func outboxFailed(_ item: OutboxItem, at now: Instant) throws {
        try write { db in
            let wait = OutboxTable.backOffSeconds(attempts: item.attempts)
            try db.execute(
                sql: "UPDATE outbox SET attempts = attempts + 1, notBefore = ? WHERE seq = ? AND parked IS NULL",
                arguments: [now.advanced(seconds: wait).milliseconds, item.seq])
        }
    }

    /// The server refuses it for good: it stays, out of the way of the others, until a newer change replaces it.
    public func parkOutboxItem(_ item: OutboxItem, because reason: String) throws {
        try write { db in
            try db.execute(sql: "UPDATE outbox SET parked = ? WHERE seq = ?", arguments: [reason, item.seq])
        }
    }

    public func syncStatus() throws -> SyncStatus { try read { try OutboxTable.status($0) } }
}

enum OutboxTable {
    static func item(_ row: Row) -> OutboxItem {
        OutboxItem(
            seq: row["seq"], entity: row["entity"], id: row["id"], op: row["op"], payload: row["payload"],
            updatedAt: Instant(milliseconds: row["updatedAt"]), attempts: row["attempts"],
            notBefore: Instant(milliseconds: row["notBefore"]), parked: row["parked"])
    }

    /// Seconds to wait after a failure: 1, 2, 4 … 256, 300.
    static func backOffSeconds(attempts: Int) -> Double {
        attempts >= 9 ? 300 : Double(1 << max(0, attempts))
    }

    /// What the cloud icon shows while nothing is on its way.
    static func status(_ db: Database) throws -> SyncStatus {
        let row = try Row.fetchOne(try db.cachedStatement(sql: """
            SELECT count(*) FILTER (WHERE parked IS NULL) AS waiting, count(*) FILTER (WHERE parked IS NOT NULL) AS parked,
                max(attempts) FILTER (WHERE parked IS NULL) AS attempts FROM outbox
            """))
        let waiting: Int = row?["waiting"] ?? 0
        let parked: Int = row?["parked"] ?? 0
        if waiting > 0 { return (row?["attempts"] ?? 0) > 0 ? .offline : .pending(waiting) }
        return parked > 0 ? .error : .idle
    }
}
