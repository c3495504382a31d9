import GRDB
import TrackerCore

extension TrackerStore {
    /// Notifications that were accepted, newest first.
    public func notifications(limit: Int = 50) throws -> [SentNotification] {
        try read { db in
            try Row.fetchAll(
                db, sql: "SELECT * FROM notification ORDER BY sentAt DESC, id DESC LIMIT ?", arguments: [limit]
            ).readable(SentNotification.init(row:))
        }
    }
}

/// A notification that at least one sink accepted.
public struct SentNotification: Hashable, Sendable {
    public var id: String
    public var kind: String
    public var sentAt: Instant
    public var sinks: [String]
}

extension SentNotification {
    init(row: Row) throws {
        self.init(
            id: try row.checked("id"), kind: try row.checked("kind"), sentAt: try row.instant("sentAt"),
            sinks: try row.checked("sinks", String.self).split(separator: ",").map(String.init))
    }
}

enum NotificationTable {
    /// How many are remembered: weeks of them.
    static let limit = 1000

    static func insert(_ decision: TrackerNotification, _ sinks: [String], _ context: WriteContext, _ db: Database) throws {
        try db.execute(sql: """
            INSERT INTO notification (id, kind, sentAt, sinks) VALUES (?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET sentAt = excluded.sentAt, sinks = excluded.sinks
            """, arguments: [
                decision.notificationId, decision.kind.rawValue, context.now.milliseconds, sinks.joined(separator: ","),
            ])
        try db.execute(sql: """
            DELETE FROM notification WHERE id IN (SELECT id FROM notification ORDER BY sentAt DESC LIMIT -1 OFFSET ?)
            """, arguments: [limit])
    }
}
