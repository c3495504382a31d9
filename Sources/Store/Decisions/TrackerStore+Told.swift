import Foundation
import GRDB
import TrackerCore

extension TrackerStore {
    /// What was told at the places behind `place`, oldest first.
    package func told(after place: Int64, through last: Int64 = .max) throws -> [ToldNotification] {
        try read { db in
            let statement = try db.cachedStatement(
                sql:
                    """
                    SELECT decision, sinks FROM notification WHERE place > ? AND place <= ? AND decision IS NOT \
                    NULL ORDER BY place
                    """
            )
            return try Row.fetchAll(statement, arguments: [place, last]).readable { row in
                guard
                    let decision = try? JSONDecoder().decode(
                        TrackerNotification.self, from: Data(try row.checked("decision", String.self).utf8))
                else {
                    throw row.unreadable("decision is nothing that was ever told")
                }
                return ToldNotification(
                    decision: decision,
                    sinks: try row.checked("sinks", String.self).split(separator: ",").map(String.init))
            }
        }
    }

    /// The last place that was given, to what was told or is being told; and up to which place not everything is
    /// remembered.
    package func toldPlaces() throws -> (newest: Int64, forgotten: Int64) {
        try read { db in
            (try NotificationTable.newestPlace(db), Int64(try Counter.value(NotificationTable.forgotten, db)))
        }
    }

    /// Up to which place an outlet has dealt with everything. One that is new begins with what is told from now on.
    package func toldThrough(_ outlet: String) throws -> Int64 {
        func known(_ db: Database) throws -> Int64? {
            try Int64.fetchOne(
                try db.cachedStatement(sql: "SELECT place FROM told_through WHERE outlet = ?"), arguments: [outlet])
        }
        if let place = try read(known) { return place }
        return try write { db in
            try beginTold(outlet, from: nil, db)
            return try known(db) ?? 0
        }
    }

    /// - Parameter place: `nil`: the newest of what was told.
    func beginTold(_ outlet: String, from place: Int64?, _ db: Database) throws {
        let told = try place ?? Int64.fetchOne(db, sql: "SELECT max(place) FROM notification") ?? 0
        try db.execute(
            sql: "INSERT INTO told_through (outlet, place) VALUES (?, ?) ON CONFLICT (outlet) DO NOTHING",
            arguments: [outlet, told])
    }

    /// An outlet has dealt with these, which others were told before.
    /// - Parameters:
    ///   - missed: why it has not got some of them, by their places.
    ///   - place: everything up to here is dealt with.
    package func hasHeard(
        _ told: [ToldNotification], _ outlet: String, missed: [Int64: MissedReason] = [:], through place: Int64
    ) throws {
        try write { db in
            for one in told {
                if let reason = missed[one.place] {
                    try db.execute(
                        sql:
                            """
                            UPDATE notification SET missed = iif(missed IS NULL, '', missed || ',') || ? WHERE \
                            place = ?
                            """,
                        arguments: ["\(outlet)=\(reason.rawValue)", one.place])
                } else if !one.sinks.contains(outlet) {
                    try db.execute(
                        sql: "UPDATE notification SET sinks = iif(sinks = '', '', sinks || ',') || ? WHERE place = ?",
                        arguments: [outlet, one.place])
                }
            }
            try db.execute(
                sql: "UPDATE told_through SET place = max(place, ?) WHERE outlet = ?", arguments: [place, outlet])
        }
    }

    /// Whether an outlet missed these is looked at anew: when that was noted the clock was wrong.
    package func forgetMissed(_ places: [Int64], _ outlet: String) throws {
        try write { db in
            for place in places {
                let missed =
                    try String.fetchOne(db, sql: "SELECT missed FROM notification WHERE place = ?", arguments: [place])
                    ?? ""
                let left = missed.split(separator: ",").filter { !$0.hasPrefix(outlet + "=") }.joined(separator: ",")
                try db.execute(
                    sql: "UPDATE notification SET missed = ? WHERE place = ?",
                    arguments: [left.isEmpty ? nil : left, place])
            }
        }
    }

    /// An outlet has dealt with everything up to this place, and what it has to do with it is noted elsewhere.
    package func hasPassed(_ outlet: String, through place: Int64) throws {
        try write { db in
            try db.execute(
                sql: "UPDATE told_through SET place = max(place, ?) WHERE outlet = ?", arguments: [place, outlet])
        }
    }

    /// It hears nothing any more; when it begins again, it is with what is told from then on.
    package func stopsHearing(_ outlet: String) throws {
        let sql = "FROM told_through WHERE outlet = ?"
        guard
            try read({ db in try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 \(sql))", arguments: [outlet]) })
                == true
        else { return }
        try write { db in try db.execute(sql: "DELETE \(sql)", arguments: [outlet]) }
    }

    /// Whether Waterline is shared beyond this machine from now on. What is told of a session while it is not goes
    /// nowhere later, either.
    /// - Returns: behind which place a session's words are for others; `nil`: they are nobody's business.
    @discardableResult
    package func noteSharing(_ isShared: Bool) throws -> Int64? {
        func known(_ db: Database) throws -> Int64? {
            try Int64.fetchOne(db, sql: "SELECT value FROM counter WHERE name = ?", arguments: [Self.sharedFrom])
        }
        let before = try read(known)
        guard (before != nil) != isShared else { return before }
        return try write { db in
            guard isShared else {
                try db.execute(sql: "DELETE FROM counter WHERE name = ?", arguments: [Self.sharedFrom])
                return nil
            }
            if let known = try known(db) { return known }
            let newest = try NotificationTable.newestPlace(db)
            try Counter.set(Self.sharedFrom, Int(newest), db)
            return newest
        }
    }

    private static let sharedFrom = "waterline.sharedFrom"

    /// With the words under which it has been sent somewhere, where it has.
    static func asSent(_ decision: TrackerNotification, _ db: Database) throws -> TrackerNotification {
        let text = try String.fetchOne(
            db,
            sql: """
                SELECT announcement FROM pocket_message p
                WHERE id = ? AND (state = 'sent' OR EXISTS (SELECT 1 FROM claim c WHERE c.id = p.outlet || ' ' || \
                p.id)) ORDER BY seq LIMIT 1
                """, arguments: [decision.notificationId])
        guard let sent = try? text.map({ try JSONDecoder().decode(Announcement.self, from: Data($0.utf8)) }),
            sent.kind == decision.kind, sent.urgency == decision.urgency
        else {
            return decision
        }
        var decision = decision
        (decision.title, decision.body) = (sent.title, sent.body)
        return decision
    }
}
