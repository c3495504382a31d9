import Foundation
import GRDB
import TrackerCore

extension TrackerStore {
    /// So many wait for one outlet at most: then the oldest is given up.
    package static let queueLimit = 1000
    /// So many that are over are remembered for each outlet.
    private static let queueMemory = 400

    /// Notes a notification for an outlet, before it is sent. One that is known keeps its place and takes the new
    /// words, unless it is there already.
    /// - Parameters:
    ///   - keepsAll: otherwise what waits for the same place is given up: a reminder is of the moment.
    ///   - makeKey: a secret for its buttons.
    /// - Returns: how it stands now, its number in the queue, and how many others were given up because too many wait.
    package func post(
        _ announcement: Announcement, to outlet: String, keepsAll: Bool, at now: Instant, makeKey: () -> String
    ) throws -> (state: QueuedNotification.State, sequence: Int64, givenUp: Int) {
        let text = String(decoding: try JSONEncoder().encode(announcement), as: UTF8.self)
        return try write { db in
            let known = try Row.fetchOne(
                db, sql: "SELECT seq, state FROM pocket_message WHERE outlet = ? AND id = ?",
                arguments: [outlet, announcement.id])
            if let known, let state = QueuedNotification.State(rawValue: try known.checked("state")),
                state == .sent || state == .refused
            {
                return (state, try known.checked("seq"), 0)
            }
            if !keepsAll {
                try db.execute(
                    sql:
                        """
                        UPDATE pocket_message SET state = 'dropped' WHERE outlet = ? AND place = ? AND id <> ? AND \
                        state = 'waiting'
                        """,
                    arguments: [outlet, announcement.kind.id, announcement.id])
            }
            try db.execute(
                sql: """
                    INSERT INTO pocket_message (outlet, id, place, announcement, since, state, key) VALUES (?, ?, ?, \
                    ?, ?, 'waiting', ?)
                    ON CONFLICT (outlet, id) DO UPDATE SET announcement = excluded.announcement, since = \
                    excluded.since, state = 'waiting'
                    """, arguments: [outlet, announcement.id, announcement.kind.id, text, now.milliseconds, makeKey()])
            try db.execute(
                sql: """
                    UPDATE pocket_message SET state = 'dropped' WHERE outlet = ?1 AND state = 'waiting' AND seq <= (
                        SELECT seq FROM pocket_message WHERE outlet = ?1 AND state = 'waiting' ORDER BY seq DESC LIMIT \
                    1 OFFSET ?2)
                    """, arguments: [outlet, Self.queueLimit])
            let givenUp = db.changesCount
            try db.execute(
                sql: """
                    DELETE FROM pocket_message WHERE outlet = ?1 AND state <> 'waiting' AND seq <= (
                        SELECT seq FROM pocket_message WHERE outlet = ?1 AND state <> 'waiting' ORDER BY seq DESC \
                    LIMIT 1 OFFSET ?2)
                    """, arguments: [outlet, Self.queueMemory])
            let sequence =
                try Int64.fetchOne(
                    db, sql: "SELECT seq FROM pocket_message WHERE outlet = ? AND id = ?",
                    arguments: [outlet, announcement.id]) ?? 0
            return (.waiting, sequence, givenUp)
        }
    }

    /// What an outlet is to send next.
    package enum QueueTurn: Sendable {
        case nothing
        /// Another process is at it; it may have died.
        case busy
        case message(QueuedNotification)
    }

    /// The oldest that waits, for this claimant alone until `endPost`, or until the claim lapses (tracker law B7).
    package func nextPost(from outlet: String, as claimant: String, at now: Instant) throws -> QueueTurn {
        let sql = "SELECT * FROM pocket_message WHERE outlet = ? AND state = 'waiting' ORDER BY seq LIMIT 1"
        guard try read({ db in try Row.fetchOne(db, sql: sql, arguments: [outlet]) }) != nil else { return .nothing }
        return try write { db in
            guard let row = try Row.fetchOne(db, sql: sql, arguments: [outlet]) else { return .nothing }
            guard let message = try? QueuedNotification(row: row) else {
                // Nobody can read it: it goes nowhere.
                try db.execute(
                    sql: "UPDATE pocket_message SET state = 'dropped' WHERE seq = ?",
                    arguments: [try row.checked("seq", Int64?.self)])
                return .busy
            }
            return try Claims(claimant: claimant, now: now).take(Self.claim(message, outlet), db)
                ? .message(message) : .busy
        }
    }

    /// What became of it; `waiting`: it is tried again.
    package func endPost(
        _ message: QueuedNotification, from outlet: String, as claimant: String, at now: Instant,
        _ state: QueuedNotification.State
    ) throws {
        try write { db in
            _ = try Claims(claimant: claimant, now: now).giveBack(Self.claim(message, outlet), db)
            guard state != .waiting else { return }
            try db.execute(
                sql: "UPDATE pocket_message SET state = ? WHERE seq = ?", arguments: [state.rawValue, message.sequence])
            // Also when nobody waited for it any more. Where others are being told yet, whoever notes that looks here.
            if state == .sent { try NotificationTable.add(outlet, to: message.announcement.id, db) }
        }
    }

    /// How it stands with a notification at an outlet.
    package func postState(_ id: String, at outlet: String) throws -> QueuedNotification.State? {
        try read { db in
            try String.fetchOne(
                db, sql: "SELECT state FROM pocket_message WHERE outlet = ? AND id = ?", arguments: [outlet, id]
            ).flatMap(QueuedNotification.State.init(rawValue:))
        }
    }

    /// How it stands with notifications at an outlet, by their ids; one that it does not know is missing.
    package func postStates(at outlet: String) throws -> [String: QueuedNotification.State] {
        try read { db in
            try Row.fetchAll(db, sql: "SELECT id, state FROM pocket_message WHERE outlet = ?", arguments: [outlet])
                .reduce(into: [:]) { states, row in
                    states[try row.checked("id", String.self)] = QueuedNotification.State(
                        rawValue: try row.checked("state"))
                }
        }
    }

    /// The numbers of all that wait for an outlet.
    package func waitingPosts(for outlet: String) throws -> [Int64] {
        try read { db in
            try Int64.fetchAll(
                db, sql: "SELECT seq FROM pocket_message WHERE outlet = ? AND state = 'waiting' ORDER BY seq",
                arguments: [outlet])
        }
    }

    /// Gives up what waits for that place, because its reason is gone.
    package func dropPosts(_ place: String, from outlet: String) throws {
        let waiting = "outlet = ? AND place = ? AND state = 'waiting'"
        let isWaiting = "SELECT EXISTS (SELECT 1 FROM pocket_message WHERE \(waiting))"
        guard try read({ db in try Bool.fetchOne(db, sql: isWaiting, arguments: [outlet, place]) }) == true else {
            return
        }
        try write { db in
            try db.execute(
                sql: "UPDATE pocket_message SET state = 'dropped' WHERE \(waiting)", arguments: [outlet, place])
        }
    }

    /// The notification whose buttons act with this key.
    package func post(withKey key: String) throws -> QueuedNotification? {
        try read { db in
            try Row.fetchOne(db, sql: "SELECT * FROM pocket_message WHERE key = ?", arguments: [key]).map(
                QueuedNotification.init(row:))
        }
    }

    private static func claim(_ message: QueuedNotification, _ outlet: String) -> String {
        "\(outlet) \(message.announcement.id)"
    }
}
