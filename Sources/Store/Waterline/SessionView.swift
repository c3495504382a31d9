import GRDB
import TrackerCore

/// A session with everything that counts in it.
package struct SessionView: Hashable, Sendable {
    /// The session itself.
    package var session: WaterlineSession
    /// Entered logs and the waters derived from bottle sips, in the order of time.
    package var logs: [LogEntry]
    /// Names of the presets that entries were logged with, by id; deleted presets included.
    package var presetNames: [String: String]
    /// Millilitres of sips still short of the next derived water.
    package var carryMl: Int
    /// N of the rule and the warning threshold in force (frozen once ended).
    package var everyNDrinks: Int
    /// The warning threshold in force.
    package var warningThreshold: Int

    /// The engine's state over all logs.
    package var state: WaterlineState { .computeState(logs, warningThreshold: warningThreshold) }
}

extension TrackerStore {
    /// The active session, with logs.
    package func activeSession(at now: Instant) throws -> SessionView? {
        try read { db in try SessionTable.active(db).map { try view($0, at: now, db) } }
    }

    /// A session by its id or an unambiguous beginning of it.
    package func session(named name: String, at now: Instant) throws -> SessionView? {
        try read { db in
            let ids = try String.fetchAll(
                db, sql: "SELECT id FROM session WHERE id = ? OR substr(id, 1, ?) = ? LIMIT 2",
                arguments: [name, name.count, name])
            guard !name.isEmpty, ids.count == 1, let found = try SessionTable.find(ids[0], db) else { return nil }
            return try view(found, at: now, db)
        }
    }

    /// Ended sessions, newest first; `limit` 5 is what the screens show.
    package func pastSessions(limit: Int = 5) throws -> [WaterlineSession] {
        try read { db in
            try Row.fetchAll(
                db, sql: "SELECT * FROM session WHERE isActive = 0 ORDER BY startTime DESC, id DESC LIMIT ?",
                arguments: [limit]
            ).readable(SessionTable.session)
        }
    }

    /// All logs that count in a session: entered ones, and waters derived from its sips (tracker law X1).
    func view(_ session: WaterlineSession, at now: Instant, _ db: Database) throws -> SessionView {
        let rules = try SessionRules(of: session, db)
        let derived = BottleWater(
            sips: try SessionTable.sips(of: session, at: now, db), session: session, now: now, mode: rules.bottleWater,
            defaultWaterOz: rules.waterOz, excluded: try SessionTable.excluded(session.id, db))
        let everyNDrinks = try session.ruleN ?? SettingTable.settings(db).waterEveryNDrinks
        return SessionView(
            session: session,
            logs: (try SessionTable.enteredLogs(session.id, db) + derived.logs).sorted(by: WaterlineState.isEarlier),
            presetNames: try PresetTable.names(inSession: session.id, db), carryMl: derived.carryMl,
            everyNDrinks: everyNDrinks, warningThreshold: rules.threshold)
    }

    /// Recomputes the stored summaries of ended sessions that contain any instant of the range: sips that arrive late
    /// count there, also in a sealed session.
    func refreshSummaries(from first: Instant, through last: Instant, _ context: WriteContext, _ db: Database) throws {
        let rows = try Row.fetchAll(
            try db.cachedStatement(sql: "SELECT * FROM session WHERE isActive = 0 AND startTime <= ? AND endTime >= ?"),
            arguments: [last.milliseconds, first.milliseconds])
        for session in try rows.readable(SessionTable.session) { try summarise(session, context, db) }
    }

    /// The same for single instants.
    func refreshSummaries(around instants: [Instant], _ context: WriteContext, _ db: Database) throws {
        guard let first = instants.min(), let last = instants.max() else { return }
        try refreshSummaries(from: first, through: last, context, db)
    }

    /// Recomputes and stores one ended session's summary, if it changed.
    func summarise(_ session: WaterlineSession, _ context: WriteContext, _ db: Database) throws {
        guard !session.isActive else { return }
        let view = try view(session, at: context.now, db)
        var fresh = session
        fresh.summarise(view.logs, warningThreshold: view.warningThreshold)
        if fresh != session { try SessionTable.save(fresh, nil, context, db) }
    }
}
