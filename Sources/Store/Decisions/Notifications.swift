package import GRDB
package import TrackerCore

extension TrackerStore {
    /// Accepted notifications, newest first.
    package func notifications(limit: Int = 50) throws -> [SentNotification] {
        try all("SELECT * FROM notification ORDER BY sentAt DESC, id DESC LIMIT ?", [limit])
    }

    /// Marks all notifications as read (`unread` in the state).
    package func markNotificationsRead(_ context: WriteContext) throws {
        try write { db in
            try Counter.set(NotificationTable.lastReadTime, Int(context.now.milliseconds), db)
            try Counter.set(NotificationTable.lastReadPosition, Int(try NotificationTable.newestPosition(db)), db)
        }
    }
}

/// A notification that a channel accepted.
package struct SentNotification: Hashable, Sendable {
    package var id: String
    /// The id of the notification's kind. A later notification with the same id replaces it.
    package var kind: String
    /// The time at which the first channel accepted it.
    package var sentAt: Instant
    /// The channels that accepted the notification: `desktop`, `output`, `mqtt` …
    package var channels: [String]
    /// The channels that do not show the notification, each with a `MissedReason` (`replaced`, `over` …).
    package var missed: [String: String]
}

extension SentNotification: FetchableRecord {
    package init(row: Row) throws {
        let missed = try row.decode(String?.self, forColumn: "missed") ?? ""
        let kind: String = try row.decode(forColumn: "kind")
        self.init(
            id: try row.decode(forColumn: "id"), kind: NotificationKind(rawValue: kind)?.id ?? kind,
            sentAt: try row.decode(forColumn: "sentAt"),
            channels: try row.decode(String.self, forColumn: "sinks").split(separator: ",").map(String.init),
            missed: Dictionary(
                missed.split(separator: ",").compactMap { entry in
                    let parts = entry.split(separator: "=", maxSplits: 1).map(String.init)
                    return parts.count == 2 ? (parts[0], parts[1]) : nil
                }, uniquingKeysWith: { $1 }))
    }
}

/// A delivered notification that a channel receives later, because it was not connected.
package struct DeliveredNotification: Hashable, Sendable {
    package var decision: TrackerNotification
    /// The names of the channels that accepted the notification.
    package var channels: [String]

    /// The position among all notifications.
    package var position: Int64 { decision.position }
}

extension TrackerStore {
    /// The notifications after a position, oldest first.
    package func deliveries(after position: Int64, through last: Int64 = .max) throws -> [DeliveredNotification] {
        try read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT decision, sinks FROM notification
                    WHERE position > ? AND position <= ? AND decision IS NOT NULL ORDER BY position
                    """, arguments: [position, last])
            return try rows.compactMap { row in
                let channels = try row.decode(String.self, forColumn: "sinks").split(separator: ",").map(String.init)
                return TrackerNotification(json: try row.decode(forColumn: "decision")).map {
                    DeliveredNotification(decision: $0, channels: channels)
                }
            }
        }
    }

    /// The newest position, the position of the newest delivered notification, and that of the last deleted one.
    package func deliveryPositions() throws -> (newest: Int64, delivered: Int64, lastDeleted: Int64) {
        try read { db in
            let last = try Int64.fetchOne(db, sql: "SELECT max(position) FROM notification WHERE decision IS NOT NULL")
            let lastDeleted = Int64(try Counter.value(NotificationTable.lastDeleted, db))
            return (try NotificationTable.newestPosition(db), last ?? 0, lastDeleted)
        }
    }

    /// The last position that a channel has processed. A new channel starts with the next notification.
    package func lastProcessed(_ channel: String) throws -> Int64 {
        func storedPosition(_ db: Database) throws -> Int64? {
            try db.first("SELECT position FROM channel_position WHERE channel = ?", [channel])
        }
        if let position = try read(storedPosition) { return position }
        return try write { db in
            try addChannel(channel, from: nil, db)
            return try storedPosition(db) ?? 0
        }
    }

    /// Starts to record which notifications a channel has processed; no effect if it is already recorded.
    /// - Parameter position: `nil` for the newest position.
    func addChannel(_ channel: String, from position: Int64?, _ db: Database) throws {
        let start = try position ?? db.first("SELECT max(position) FROM notification") ?? 0
        try db.run(
            "INSERT INTO channel_position (channel, position) VALUES (?, ?) ON CONFLICT (channel) DO NOTHING",
            [channel, start])
    }

    /// Records that a channel has processed notifications.
    /// - Parameters:
    ///   - missed: the reason for those that it does not show, by position.
    ///   - position: the last processed position.
    package func recordProcessed(
        _ sent: [DeliveredNotification], _ channel: String, missed: [Int64: MissedReason] = [:], through position: Int64
    ) throws {
        try write { db in
            for notification in sent {
                if let reason = missed[notification.position] {
                    try db.run(
                        "UPDATE notification SET missed = coalesce(missed || ',', '') || ? WHERE position = ?",
                        ["\(channel)=\(reason.rawValue)", notification.position])
                } else {
                    try NotificationTable.add(channel, to: notification.decision.notificationId, db)
                }
            }
            try db.run(
                "UPDATE channel_position SET position = max(position, ?) WHERE channel = ?", [position, channel])
        }
    }

    /// Removes a channel. If it returns, it starts with the next notification.
    package func removeChannel(_ channel: String) throws {
        try write { try $0.run("DELETE FROM channel_position WHERE channel = ?", [channel]) }
    }

    /// Sets whether Waterline is shared with other machines. Earlier notifications are never shared.
    /// - Returns: the position after which notifications of a session can be shared; `nil` if they cannot.
    @discardableResult
    package func recordSharing(_ isShared: Bool) throws -> Int64? {
        func sharedFrom(_ db: Database) throws -> Int64? {
            try db.first("SELECT value FROM counter WHERE name = ?", [Self.sharedFrom])
        }
        let before = try read(sharedFrom)
        guard (before != nil) != isShared else { return before }
        return try write { db in
            guard isShared else {
                try db.run("DELETE FROM counter WHERE name = ?", [Self.sharedFrom])
                return nil
            }
            if let position = try sharedFrom(db) { return position }
            let newest = try NotificationTable.newestPosition(db)
            try Counter.set(Self.sharedFrom, Int(newest), db)
            return newest
        }
    }

    private static let sharedFrom = "waterline.sharedFrom"
}

enum NotificationTable {
    /// The number of notifications that are kept.
    static let limit = 1000

    /// Stores a delivered notification with the channels that accepted it.
    /// - Parameter isShown: `false` for a decision that another one with the same text answers.
    static func insert(
        _ decision: TrackerNotification, _ channels: [String], isShown: Bool, _ context: WriteContext, _ db: Database
    ) throws {
        let queued: [String] = try db.all(
            "SELECT channel FROM queued_notification WHERE id = ? AND state = 'sent' ORDER BY seq",
            [decision.notificationId])
        let channels = channels + queued.filter { !channels.contains($0) }
        let position = isShown && decision.position > 0 ? decision.position : nil
        try db.run(
            """
            INSERT INTO notification (id, kind, sentAt, sinks, position, decision) VALUES (?, ?, ?, ?, ?, ?) ON
            CONFLICT (id) DO UPDATE SET sentAt = excluded.sentAt, sinks = excluded.sinks, position = excluded.position,
            decision = excluded.decision
            """,
            [
                decision.notificationId, decision.kind.rawValue, context.now, channels.joined(separator: ","), position,
                position == nil ? nil : try decision.json,
            ])
        // A resident notification shows the current state, so an unavailable channel needs the last one only.
        if let position, decision.kind.isResident {
            try db.run(
                "UPDATE notification SET position = NULL, decision = NULL WHERE kind = ? AND position < ?",
                [decision.kind.rawValue, position])
        }
        // Delete by position, because the clock can be set back.
        let old = "SELECT id FROM notification ORDER BY coalesce(position, sentAt) DESC LIMIT -1 OFFSET \(limit)"
        if let lastDeleted: Int = try db.first("SELECT max(position) FROM notification WHERE id IN (\(old))") {
            try Counter.set(Self.lastDeleted, max(lastDeleted, try Counter.value(Self.lastDeleted, db)), db)
        }
        try db.execute(sql: "DELETE FROM notification WHERE id IN (\(old))")
    }

    static func add(_ channel: String, to id: String, _ db: Database) throws {
        try db.run(
            """
            UPDATE notification SET sinks = iif(sinks = '', '', sinks || ',') || ?1 WHERE id = ?2 AND ',' || sinks
            || ',' NOT LIKE '%,' || ?1 || ',%'
            """, [channel, id])
    }

    static func newestPosition(_ db: Database) throws -> Int64 {
        max(
            try db.first("SELECT max(position) FROM notification") ?? 0,
            try db.first("SELECT max(position) FROM claim") ?? 0,
            Int64(try Counter.value(lastDeleted, db)))
    }

    /// The name in the table `counter` for the position of the last deleted notification.
    static let lastDeleted = "notification.forgotten"

    /// The name in the table `counter` for the time when the user last read the notifications.
    static let lastReadTime = "notification.opened"
    /// The name in the table `counter` for the newest position at that time. A wrong clock does not affect it.
    static let lastReadPosition = "notification.openedThrough"

    /// The number of unread notifications in a period, without those that were printed on a terminal.
    /// - Returns: all of them, and those of a session.
    static func unread(from first: Instant, through last: Instant, _ db: Database) throws -> (all: Int, ofSessions: Int)
    {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT count(*), count(*) FILTER (WHERE kind LIKE 'waterline%') FROM notification
                WHERE sentAt BETWEEN ?1 AND ?2 AND iif(position IS NULL OR ?3 = 0, sentAt > ?4, position > ?3)
                    AND ',' || sinks || ',' NOT LIKE '%,output,%' AND kind <> ?5
                """,
            arguments: [
                first, last, try Counter.value(lastReadPosition, db), try Counter.value(lastReadTime, db),
                NotificationKind.waterlineLive.rawValue,
            ])
        return try row.map { (try $0.decode(atIndex: 0), try $0.decode(atIndex: 1)) } ?? (0, 0)
    }
}
