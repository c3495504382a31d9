import GRDB
package import TrackerCore

/// A notification in the queue of a channel, such as ntfy.
package struct QueuedNotification: Hashable, Sendable {
    package enum State: String, Hashable, Sendable {
        case waiting, sent
        /// The notification no longer applied.
        case dropped
        /// The channel rejected the notification permanently.
        case rejected = "refused"
    }

    package var sequence: Int64
    package var announcement: Announcement
    /// The time of the decision to send the notification.
    package var since: Instant
    /// The secret that authorises the notification's buttons, and nothing else.
    package var key: String

    package init(sequence: Int64, announcement: Announcement, since: Instant, key: String) {
        (self.sequence, self.announcement, self.since, self.key) = (sequence, announcement, since, key)
    }
}

extension QueuedNotification: Decodable, FetchableRecord {
    private enum CodingKeys: String, CodingKey {
        case sequence = "seq"
        case announcement, since, key
    }
}

extension TrackerStore {
    /// The maximum number of waiting notifications of a channel. Above it, the oldest is dropped.
    package static let queueLimit = 1000
    /// The number of finished notifications kept for each channel.
    private static let finishedLimit = 400

    /// Queues a notification. A known one keeps its position and gets the new text, unless it was sent.
    /// - Parameters:
    ///   - sendsLate: `false` drops the waiting notifications of the same kind.
    ///   - makeKey: creates a secret for its buttons.
    /// - Returns: the number of dropped notifications because of `queueLimit`.
    package func enqueue(
        _ announcement: Announcement, to channel: String, sendsLate: Bool, at now: Instant, makeKey: () -> String
    ) throws -> Int {
        try write { db in
            let isFinished = try db.has(
                "FROM queued_notification WHERE channel = ? AND id = ? AND state IN ('sent', 'refused')",
                [channel, announcement.id])
            guard !isFinished else { return 0 }
            if !sendsLate { try Self.drop(announcement.kind.id, from: channel, except: announcement.id, db) }
            try db.run(
                """
                INSERT INTO queued_notification (channel, id, kind, announcement, since, state, key)
                VALUES (?, ?, ?, ?, ?, 'waiting', ?) ON CONFLICT (channel, id) DO UPDATE
                    SET announcement = excluded.announcement, since = excluded.since, state = 'waiting'
                """, [channel, announcement.id, announcement.kind.id, try announcement.json, now, makeKey()])
            try db.run(
                """
                UPDATE queued_notification SET state = 'dropped' WHERE channel = ?1 AND state = 'waiting' AND seq <= (
                    SELECT seq FROM queued_notification WHERE channel = ?1 AND state = 'waiting'
                    ORDER BY seq DESC LIMIT 1 OFFSET ?2)
                """, [channel, Self.queueLimit])
            let droppedCount = db.changesCount
            try db.run(
                """
                DELETE FROM queued_notification WHERE channel = ?1 AND state <> 'waiting' AND seq <= (
                    SELECT seq FROM queued_notification WHERE channel = ?1 AND state <> 'waiting'
                    ORDER BY seq DESC LIMIT 1 OFFSET ?2)
                """, [channel, Self.finishedLimit])
            return droppedCount
        }
    }

    package enum NextNotification: Sendable {
        case nothing
        /// Another process is delivering, or ended during delivery.
        case busy
        case message(QueuedNotification)
    }

    /// Claims the oldest waiting notification until `finishNotification`, or until the claim expires (tracker spec B7).
    package func claimNextNotification(from channel: String, as claimant: String, at now: Instant) throws
        -> NextNotification
    {
        let sql = "SELECT * FROM queued_notification WHERE channel = ? AND state = 'waiting' ORDER BY seq LIMIT 1"
        return try write { db in
            guard let row = try Row.fetchOne(db, sql: sql, arguments: [channel]) else { return .nothing }
            guard let message = try? QueuedNotification(row: row) else {
                // Drop an unreadable notification.
                try db.run(
                    "UPDATE queued_notification SET state = 'dropped' WHERE seq = ?",
                    [try row.decode(Int64.self, forColumn: "seq")])
                return .busy
            }
            return try Claims(claimant: claimant, now: now).acquire(Self.claim(message, channel), db)
                ? .message(message) : .busy
        }
    }

    /// Ends a delivery. `waiting` causes another attempt.
    package func finishNotification(
        _ message: QueuedNotification, from channel: String, as claimant: String, at now: Instant,
        _ state: QueuedNotification.State
    ) throws {
        try write { db in
            _ = try Claims(claimant: claimant, now: now).release(Self.claim(message, channel), db)
            guard state != .waiting else { return }
            try db.run("UPDATE queued_notification SET state = ? WHERE seq = ?", [state.rawValue, message.sequence])
            // The delivery that queued this notification might have timed out without this channel: add it here.
            if state == .sent { try NotificationTable.add(channel, to: message.announcement.id, db) }
        }
    }

    package func queuedState(_ id: String, at channel: String) throws -> QueuedNotification.State? {
        try first("SELECT state FROM queued_notification WHERE channel = ? AND id = ?", [channel, id])
            .flatMap(QueuedNotification.State.init(rawValue:))
    }

    /// Drops the waiting notifications of a kind that no longer apply.
    package func dropNotifications(_ kind: String, from channel: String) throws {
        try write { try Self.drop(kind, from: channel, $0) }
    }

    private static func drop(_ kind: String, from channel: String, except id: String? = nil, _ db: Database) throws {
        try db.run(
            """
            UPDATE queued_notification SET state = 'dropped' WHERE channel = ? AND kind = ? AND id IS NOT ? AND
            state = 'waiting'
            """, [channel, kind, id])
    }

    /// The notification whose buttons this key authorises.
    package func queuedNotification(withKey key: String) throws -> QueuedNotification? {
        try first("SELECT * FROM queued_notification WHERE key = ?", [key])
    }

    private static func claim(_ message: QueuedNotification, _ channel: String) -> String {
        "\(channel) \(message.announcement.id)"
    }
}
