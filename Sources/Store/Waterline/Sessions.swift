import Foundation
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

    /// All logs of a session: entered ones, and waters derived from its sips (tracker specification X1).
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

    /// Updates the summaries of ended sessions in a period: late sips count there, also in a sealed session.
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

extension TrackerStore {
    /// Starts a session, or returns the active one (`started` is `false`): a unique index allows only one. The start
    /// seals all
    /// ended sessions (tracker specification E3).
    package func startSession(_ context: WriteContext) throws -> (session: WaterlineSession, started: Bool) {
        try write { db in
            if let active = try sessionByTheClock(context, db) { return (active, false) }
            let profile = try ProfileTable.findOrMake(db, context)
            // One that nobody can read would forbid every other for ever.
            try db.execute(sql: "UPDATE session SET isActive = 0 WHERE isActive = 1")
            try seal("isActive = 0 AND sealed = 0", [], context, db)
            let session = WaterlineSession(id: context.makeID(), userID: profile.userID, startTime: context.now)
            try db.run(
                "INSERT INTO session (id, userId, startTime, isActive, updatedAt, deviceId) VALUES (?, ?, ?, 1, ?, ?)",
                [
                    session.id, session.userID, session.startTime.milliseconds, context.now.milliseconds,
                    profile.deviceID,
                ])
            try OutboxWriter.put(.session(session.id), op: .upsertSession, at: context.now, db)
            return (session, true)
        }
    }

    /// Ends the active session with its summary; the rules in force are frozen with it.
    /// - Parameter atLastLog: ends it at its last entry rather than now.
    package func endSession(atLastLog: Bool = false, _ context: WriteContext) throws -> SessionView {
        try write { db in
            guard let active = try sessionByTheClock(context, db) else {
                throw WaterlineSession.Refusal.noActiveSession
            }
            let open = try view(active, at: context.now, db)
            let end = atLastLog ? open.logs.last?.timestamp ?? context.now : context.now
            let settings = try SettingTable.settings(db)
            var ended = active
            ended.end(at: end, logs: open.logs.filter { $0.timestamp <= end }, settings: settings)
            try SessionTable.save(ended, SessionRules(settings), context, db)
            try db.run("UPDATE session SET reminders = NULL WHERE id = ?", [ended.id])
            return try view(ended, at: context.now, db)
        }
    }

    /// "Done": the summary has been read, the session is a past one from now on.
    package func sealSession(_ id: String, _ context: WriteContext) throws {
        try write { db in
            try seal("isActive = 0 AND sealed = 0 AND id = ?", [id], context, db)
        }
    }

    private func seal(
        _ condition: String, _ arguments: StatementArguments, _ context: WriteContext, _ db: Database
    ) throws {
        for row in try Row.fetchAll(db, sql: "SELECT * FROM session WHERE \(condition)", arguments: arguments) {
            guard var session = try [row].readable(SessionTable.session).first else { continue }
            session.sealed = true
            try SessionTable.save(session, nil, context, db)
        }
    }
}

extension TrackerStore {
    /// The longest way that a session is moved, seconds: a larger difference is not a corrected clock.
    private static let farthestBack: Double = 24 * 3600

    /// The active session. One that started while the clock was fast is in the future when the clock is corrected, and
    /// would
    /// accept no entry. It is moved back so that its last entry is now; the intervals between its entries stay.
    func sessionByTheClock(_ context: WriteContext, _ db: Database) throws -> WaterlineSession? {
        guard var session = try SessionTable.active(db) else { return nil }
        guard session.startTime > context.now else { return session }
        let logs = try SessionTable.enteredLogs(session.id, db)
        let back = context.now.seconds(to: max(session.startTime, logs.last?.timestamp ?? session.startTime))
        guard back <= Self.farthestBack else { return session }
        session.startTime = session.startTime.advanced(seconds: -back)
        try SessionTable.save(session, nil, context, db)
        if var state = try reminders(of: session.id, db) {
            state.gridStart = state.gridStart.advanced(seconds: -back)
            state.lastSlot = state.lastSlot?.advanced(seconds: -back)
            state.keepGoingAt = state.keepGoingAt?.advanced(seconds: -back)
            try saveReminders(state, db)
        }
        let device = try ProfileTable.findOrMake(db, context).deviceID
        for log in logs {
            try db.run(
                "UPDATE log_entry SET timestamp = ?, updatedAt = max(?, updatedAt + 1), deviceId = ? WHERE seq = ?",
                [
                    log.timestamp.advanced(seconds: -back).milliseconds, context.now.milliseconds, device, log.seq,
                ])
            try finish(log.id, .addLogEntry, session, context, db)
        }
        return session
    }
}

/// Sessions and their entries as rows.
enum SessionTable {
    static func active(_ db: Database) throws -> WaterlineSession? {
        try Row.fetchAll(try db.cachedStatement(sql: "SELECT * FROM session WHERE isActive = 1")).readable(session)
            .first
    }

    static func find(_ id: String, _ db: Database) throws -> WaterlineSession? {
        try Row.fetchAll(db, sql: "SELECT * FROM session WHERE id = ?", arguments: [id]).readable(session).first
    }

    /// - Throws: `UnreadableRow`.
    static func session(_ row: Row) throws -> WaterlineSession {
        let summary: String? = try row.checked("computedSummary")
        return WaterlineSession(
            id: try row.checked("id"), userID: try row.checked("userId"), startTime: try row.instant("startTime"),
            endTime: try row.instantIfAny("endTime"),
            computedSummary: summary.flatMap { try? JSONDecoder().decode(SessionSummary.self, from: Data($0.utf8)) },
            ruleN: try row.checkedIfAny("ruleN", in: SessionRules.storable), sealed: try row.checked("sealed"))
    }

    /// Writes an ended or active session back and queues it for the server.
    static func save(_ session: WaterlineSession, _ settings: SessionRules?, _ context: WriteContext, _ db: Database)
        throws
    {
        let summary = try session.computedSummary.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
        let device = try ProfileTable.findOrMake(db, context).deviceID
        try db.run(
            """
            UPDATE session SET startTime = :start, endTime = :end, isActive = :active, sealed = :sealed, ruleN =
            :ruleN, bottleWater = coalesce(:mode, bottleWater), waterOz = coalesce(:oz, waterOz), threshold =
            coalesce(:threshold, threshold), computedSummary = :summary, updatedAt = max(:now, updatedAt + 1),
            deviceId = :device WHERE id = :id
            """,
            [
                "start": session.startTime.milliseconds, "end": session.endTime?.milliseconds,
                "active": session.isActive, "sealed": session.sealed, "ruleN": session.ruleN,
                "mode": settings?.bottleWater.rawValue, "oz": settings?.waterOz, "threshold": settings?.threshold,
                "summary": summary, "now": context.now.milliseconds, "device": device, "id": session.id,
            ])
        try OutboxWriter.put(.session(session.id), op: .upsertSession, at: context.now, db)
    }

    /// - Throws: `UnreadableRow`.
    static func log(_ row: Row) throws -> LogEntry {
        LogEntry(
            id: try row.checked("id"), sessionID: try row.checked("sessionId"), timestamp: try row.instant("timestamp"),
            kind: LogEntry.Kind(rawValue: try row.checked("type")) ?? .water,
            drinkType: try row.checked("drinkType", String?.self).flatMap(DrinkType.init(rawValue:)),
            sizeOz: try row.amountIfAny("sizeOz"), abv: try row.amountIfAny("abv"),
            standardDrinkEstimate: try row.amountIfAny("standardDrinkEstimate"), presetID: try row.checked("presetId"),
            amountOz: try row.amountIfAny("amountOz"), source: LogSource(rawValue: try row.checked("source")),
            updatedAt: try row.instant("updatedAt"), seq: try row.checked("seq"))
    }

    /// The entered logs of a session, in the order of time.
    static func enteredLogs(_ id: String, _ db: Database) throws -> [LogEntry] {
        let statement = try db.cachedStatement(
            sql: "SELECT * FROM log_entry WHERE sessionId = ? AND deleted = 0 ORDER BY timestamp, seq")
        return try Row.fetchAll(statement, arguments: [id]).readable(log)
    }
}

extension SessionTable {
    /// The bottle's sips from the session's start to its end, or to now.
    static func sips(of session: WaterlineSession, at now: Instant, _ db: Database) throws -> [Sip] {
        try DrinkTable.drinks(from: session.startTime, through: session.endTime ?? now, db)
            .filter { $0.source == .bottle }.map { Sip(key: $0.key, at: $0.at, ml: $0.ml) }
    }

    /// Ids of derived waters that a person took out.
    static func excluded(_ id: String, _ db: Database) throws -> Set<String> {
        try String.fetchSet(db, sql: "SELECT id FROM excluded_log WHERE sessionId = ?", arguments: [id])
    }
}

/// The settings that a session's derived waters and warning rest on: live while it is active, frozen at its end.
struct SessionRules {
    var bottleWater: BottleWaterMode
    var waterOz: Int
    var threshold: Int

    /// What any of the numbers may be in a row; anything else reads as the setting.
    static let storable = 1...10_000

    init(_ settings: Settings) {
        bottleWater = settings.bottleWater
        waterOz = settings.defaultWaterOz
        threshold = settings.warningThreshold
    }

    /// The rules of a stored session: what was frozen at its end, today's settings for the rest.
    init(of session: WaterlineSession, _ db: Database) throws {
        self.init(try SettingTable.settings(db))
        guard !session.isActive else { return }
        let row = try Row.fetchOne(
            db, sql: "SELECT bottleWater, waterOz, threshold FROM session WHERE id = ?", arguments: [session.id])
        bottleWater =
            (try? row?.checked("bottleWater", String.self)).flatMap(BottleWaterMode.init(rawValue:)) ?? bottleWater
        waterOz = (try? row?.checkedIfAny("waterOz", in: Self.storable)) ?? waterOz
        threshold = (try? row?.checkedIfAny("threshold", in: Self.storable)) ?? threshold
    }
}

enum LogTable {
    static func insert(_ log: LogEntry, _ deviceID: String, _ db: Database) throws -> Int64 {
        try db.run(
            """
            INSERT INTO log_entry (id, sessionId, timestamp, type, drinkType, sizeOz, abv, standardDrinkEstimate,
            presetId, amountOz, source, updatedAt, deviceId) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                log.id, log.sessionID, log.timestamp.milliseconds, log.kind.rawValue, log.drinkType?.rawValue,
                log.sizeOz,
                log.abv, log.standardDrinkEstimate, log.presetID, log.amountOz, log.source.rawValue,
                log.updatedAt.milliseconds, deviceID,
            ])
        return db.lastInsertedRowID
    }

    static func find(_ name: String, _ db: Database) throws -> LogEntry? {
        let number = (name.first == "w" ? Int64(name.dropFirst()) : nil) ?? -1
        return try Row.fetchOne(
            db, sql: "SELECT * FROM log_entry WHERE deleted = 0 AND (id = ? OR seq = ?)", arguments: [name, number]
        ).map(SessionTable.log)
    }

    static func log(_ seq: some BinaryInteger, _ db: Database) throws -> LogEntry {
        guard let row = try Row.fetchOne(db, sql: "SELECT * FROM log_entry WHERE seq = ?", arguments: [Int64(seq)])
        else {
            preconditionFailure("the entry \(seq) was written in this very transaction")
        }
        return try SessionTable.log(row)
    }
}
