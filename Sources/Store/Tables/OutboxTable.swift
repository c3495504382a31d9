import GRDB
import TrackerCore

enum OutboxTable {
    static func outbox(_ db: Database) throws -> Outbox {
        Outbox(try Row.fetchAll(try db.cachedStatement(sql: "SELECT * FROM outbox ORDER BY seq")).compactMap { row in
            OutboxItem.Operation(rawValue: row["op"]).map { operation in
                OutboxItem(
                    id: row["seq"], entity: .init(kind: row["entity"], id: row["id"]), operation: operation,
                    payload: row["payload"], updatedAt: Instant(milliseconds: row["updatedAt"]), attempts: (try? row.checked("attempts", in: 0...1_000_000)) ?? 1_000_000,
                    notBefore: (row["notBefore"] as Int64) > 0 ? Instant(milliseconds: row["notBefore"]) : nil,
                    parkedReason: row["parked"])
            }
        })
    }

    /// Lets parked and waiting items go at once.
    static func unpark(_ db: Database) throws {
        try db.execute(sql: "UPDATE outbox SET parked = NULL, attempts = 0, notBefore = 0")
    }

    static func status(_ db: Database) throws -> SyncStatus {
        let isEmpty = try Bool.fetchOne(try db.cachedStatement(sql: "SELECT NOT EXISTS (SELECT 1 FROM outbox)")) ?? true
        if isEmpty { return .idle }
        let outbox = try outbox(db)
        return outbox.status(isSending: false, isOffline: outbox.items.contains { $0.attempts > 0 })
    }
}
