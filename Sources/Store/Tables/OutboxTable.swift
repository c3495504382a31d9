import GRDB
import TrackerCore

enum OutboxTable {
    static func outbox(_ db: Database) throws -> Outbox {
        Outbox(
            try Row.fetchAll(try db.cachedStatement(sql: "SELECT * FROM outbox ORDER BY seq")).readable(item).compactMap
            { $0 })
    }

    /// - Throws: `UnreadableRow`.
    /// - Returns: `nil` for an operation that nobody knows.
    private static func item(_ row: Row) throws -> OutboxItem? {
        guard let operation = OutboxItem.Operation(rawValue: try row.checked("op")) else { return nil }
        let notBefore: Int64 = try row.checked("notBefore")
        return OutboxItem(
            id: try row.checked("seq"), entity: .init(kind: try row.checked("entity"), id: try row.checked("id")),
            operation: operation,
            payload: try row.checked("payload"), updatedAt: try row.instant("updatedAt"),
            attempts: (try? row.checked("attempts", in: 0...1_000_000)) ?? 1_000_000,
            notBefore: notBefore > 0 ? try row.instant("notBefore") : nil, parkedReason: try row.checked("parked"))
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
