import Foundation
import GRDB
import TrackerCore

enum NotificationTable {
    /// How many are remembered: weeks of them.
    static let limit = 1000

    /// - Parameter isShown: it is what people saw, and not another decision with the same words, which it answers, too.
    static func insert(
        _ decision: TrackerNotification, _ sinks: [String], isShown: Bool, _ context: WriteContext, _ db: Database
    ) throws {
        var sinks = sinks
        for outlet in try String.fetchAll(
            db, sql: "SELECT outlet FROM pocket_message WHERE id = ? AND state = 'sent' ORDER BY seq",
            arguments: [decision.notificationId])
        {
            if !sinks.contains(outlet) { sinks.append(outlet) }
        }
        let (place, text) =
            isShown && decision.place > 0
            ? (decision.place, String(decoding: try JSONEncoder().encode(decision), as: UTF8.self)) : (nil, nil)
        try db.execute(
            sql: """
                INSERT INTO notification (id, kind, sentAt, sinks, place, decision) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET sentAt = excluded.sentAt, sinks = excluded.sinks, place = \
                excluded.place, decision = excluded.decision
                """,
            arguments: [
                decision.notificationId, decision.kind.rawValue, context.now.milliseconds, sinks.joined(separator: ","),
                place, text,
            ])
        // What stays until it is over says how things stand now: who was away needs the last of them only.
        if let place, decision.kind.isResident {
            try db.execute(
                sql: "UPDATE notification SET place = NULL, decision = NULL WHERE kind = ? AND place < ?",
                arguments: [decision.kind.rawValue, place])
        }
        // In the order of telling, which no clock turns.
        let old = "SELECT id FROM notification ORDER BY coalesce(place, sentAt) DESC LIMIT -1 OFFSET \(limit)"
        if let forgotten = try Int.fetchOne(db, sql: "SELECT max(place) FROM notification WHERE id IN (\(old))") {
            try Counter.set(Self.forgotten, max(forgotten, try Counter.value(Self.forgotten, db)), db)
        }
        try db.execute(sql: "DELETE FROM notification WHERE id IN (\(old))")
    }

    /// One more has it. Where nothing of it is noted yet nothing happens.
    static func add(_ sink: String, to id: String, _ db: Database) throws {
        try db.execute(
            sql:
                """
                UPDATE notification SET sinks = iif(sinks = '', '', sinks || ',') || ?1 WHERE id = ?2 AND ',' || \
                sinks || ',' NOT LIKE '%,' || ?1 || ',%'
                """,
            arguments: [sink, id])
    }

    /// The last place that was given to anything.
    static func newestPlace(_ db: Database) throws -> Int64 {
        let (told, begun) = (
            try Int64.fetchOne(db, sql: "SELECT max(place) FROM notification"),
            try Int64.fetchOne(db, sql: "SELECT max(place) FROM claim")
        )
        return max(told ?? 0, begun ?? 0, Int64(try Counter.value(forgotten, db)))
    }

    /// Up to which place not everything is remembered.
    static let forgotten = "notification.forgotten"

    /// When somebody last looked.
    static let opened = "notification.opened"
    /// What had been told by then: the last place. A clock may have been wrong when somebody looked.
    static let openedThrough = "notification.openedThrough"

    /// How many were told in that time that nobody has looked at since. What a person read where it was printed is none
    /// of them.
    /// - Returns: all of them, and how many are about a session.
    static func unread(from first: Instant, through last: Instant, _ db: Database) throws -> (all: Int, ofSessions: Int)
    {
        let (opened, openedThrough) = (try Counter.value(opened, db), try Counter.value(openedThrough, db))
        let statement = try db.cachedStatement(
            sql: """
                SELECT count(*) AS number, count(*) FILTER (WHERE kind LIKE 'waterline%') AS ofSessions
                FROM notification WHERE sentAt BETWEEN ?1 AND ?2 AND iif(place IS NULL OR ?3 = 0, sentAt > ?4, place > \
                ?3) AND ',' || sinks || ',' NOT LIKE '%,output,%' AND kind <> ?5
                """)
        let row = try Row.fetchOne(
            statement,
            arguments: [
                first.milliseconds, last.milliseconds, openedThrough, opened, NotificationKind.waterlineLive.rawValue,
            ])
        return try row.map { (try $0.checked("number"), try $0.checked("ofSessions")) } ?? (0, 0)
    }
}
