import GRDB
import TrackerCore

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
