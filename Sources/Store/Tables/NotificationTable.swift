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

    /// When somebody last looked.
    static let opened = "notification.opened"

    /// How many were told in that time that nobody has looked at since. What a person read where it was printed is none of them.
    static func unread(from first: Instant, through last: Instant, _ db: Database) throws -> Int {
        let opened = try Counter.value(opened, db)
        let statement = try db.cachedStatement(sql: """
            SELECT count(*) FROM notification WHERE sentAt BETWEEN ? AND ? AND ',' || sinks || ',' NOT LIKE '%,output,%' AND kind <> ?
            """)
        return try Int.fetchOne(
            statement, arguments: [max(first.milliseconds, Int64(opened) + 1), last.milliseconds, NotificationKind.waterlineLive.rawValue]) ?? 0
    }
}
