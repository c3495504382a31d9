import GRDB
import TrackerCore

enum SyncStateTable {
    /// How many refusals the state names; all are counted.
    static let shown = 5

    static func status(_ db: Database) throws -> (SyncStatus, SyncReport) {
        let status = try OutboxTable.status(db)
        guard let row = try Row.fetchOne(try db.cachedStatement(sql: "SELECT trouble, refused FROM sync_state")) else {
            return (status, SyncReport(waiting: try waiting(db)))
        }
        let refusals = try Row.fetchAll(
            db, sql: "SELECT * FROM sync_refusal ORDER BY entity, id LIMIT ?", arguments: [shown])
        let report = SyncReport(
            waiting: try waiting(db), trouble: try row.checked("trouble"), refused: try row.checked("refused"),
            refusals: try refusals.map {
                """
                \(try $0.checked("entity", String.self)) \(try $0.checked("id", String.self)): \
                \(try $0.checked("reason", String.self))
                """
            })
        return (status == .idle && report.trouble != nil ? .offline : status, report)
    }

    static func refused(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT refused FROM sync_state") ?? 0
    }

    /// With another server, or none, nothing is known any more.
    static func forget(_ db: Database) throws {
        try db.execute(sql: "DELETE FROM sync_state")
        try db.execute(sql: "DELETE FROM sync_refusal")
    }

    static func waiting(_ db: Database) throws -> Int {
        try Int.fetchOne(try db.cachedStatement(sql: "SELECT count(*) FROM outbox")) ?? 0
    }
}
