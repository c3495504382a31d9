import GRDB
package import TrackerCore

/// A session with its entries.
package struct SessionView: Hashable, Sendable {
    package var session: WaterlineSession
    /// Logged entries and derived waters, by time.
    package var logs: [LogEntry]
    /// The names of used presets by id, including deleted ones.
    package var presetNames: [String: String]
    /// The millilitres that are not enough for a water yet.
    package var carryMl: Int
    /// N of the rule "water every N drinks", fixed at the end of the session.
    package var everyNDrinks: Int
    /// The warning threshold in drinks; fixed at the end of the session.
    package var warningThreshold: Int

    package var state: WaterlineState { .computeState(logs, warningThreshold: warningThreshold) }
}

extension TrackerStore {
    package func activeSession(at now: Instant) throws -> SessionView? {
        try read { db in try SessionTable.active(db).map { try view($0, at: now, db) } }
    }

    /// Returns a session; `nil` if the name matches none or several.
    /// - Parameter name: an id or an unambiguous prefix of one.
    package func session(named name: String, at now: Instant) throws -> SessionView? {
        try read { db in
            let ids: [String] = try db.all(
                "SELECT id FROM session WHERE id = ? OR substr(id, 1, ?) = ? LIMIT 2", [name, name.count, name])
            guard !name.isEmpty, ids.count == 1, let found = try SessionTable.find(ids[0], db) else { return nil }
            return try view(found, at: now, db)
        }
    }

    /// The ended sessions, newest first.
    package func pastSessions(limit: Int = 5) throws -> [WaterlineSession] {
        try all("SELECT * FROM session WHERE isActive = 0 ORDER BY startTime DESC, id DESC LIMIT ?", [limit])
    }

    /// Adds the logged entries and the derived waters to a session (tracker spec X1).
    func view(_ session: WaterlineSession, at now: Instant, _ db: Database) throws -> SessionView {
        let rules = try SessionRules(of: session, db)
        let derived = BottleWater(
            sips: try SessionTable.sips(of: session, at: now, db), session: session, now: now, mode: rules.bottleWater,
            defaultWaterOz: rules.waterOz, excluded: try SessionTable.excluded(session.id, db))
        let everyNDrinks = try session.ruleN ?? SettingTable.settings(db).waterEveryNDrinks
        return SessionView(
            session: session,
            logs: (try SessionTable.loggedEntries(session.id, db) + derived.logs).sorted(by: WaterlineState.isEarlier),
            presetNames: try PresetTable.names(inSession: session.id, db), carryMl: derived.carryMl,
            everyNDrinks: everyNDrinks, warningThreshold: rules.threshold)
    }

    /// Updates the summaries of ended sessions in a period, because late drinks count there. Includes sealed sessions,
    /// which the user can no longer change.
    func refreshSummaries(from first: Instant, through last: Instant, _ context: WriteContext, _ db: Database) throws {
        let sessions: [WaterlineSession] = try db.all(
            "SELECT * FROM session WHERE isActive = 0 AND startTime <= ? AND endTime >= ?", [last, first])
        for session in sessions { try summarise(session, context, db) }
    }

    func refreshSummaries(around instants: [Instant], _ context: WriteContext, _ db: Database) throws {
        guard let first = instants.min(), let last = instants.max() else { return }
        try refreshSummaries(from: first, through: last, context, db)
    }

    /// Recomputes an ended session's summary, and stores it if it changed.
    func summarise(_ session: WaterlineSession, _ context: WriteContext, _ db: Database) throws {
        guard !session.isActive else { return }
        let view = try view(session, at: context.now, db)
        var updated = session
        updated.summarise(view.logs, warningThreshold: view.warningThreshold)
        if updated != session { try SessionTable.save(updated, nil, context, db) }
    }

    /// Starts a session, or returns the active one (`started` is `false`). A unique index allows only one. Seals all
    /// ended sessions (tracker spec E3).
    package func startSession(_ context: WriteContext) throws -> (session: WaterlineSession, started: Bool) {
        try write { db in
            if let active = try SessionTable.active(db) { return (active, false) }
            let profile = try ProfileTable.findOrCreate(db, context)
            try seal("isActive = 0 AND sealed = 0", [], context, db)
            let session = WaterlineSession(id: context.makeID(), userID: profile.userID, startTime: context.now)
            try db.run(
                "INSERT INTO session (id, userId, startTime, isActive, updatedAt, deviceId) VALUES (?, ?, ?, 1, ?, ?)",
                [session.id, session.userID, session.startTime, context.now, profile.deviceID])
            try OutboxWriter.enqueue(.session, session.id, at: context.now, db)
            return (session, true)
        }
    }

    /// Ends the active session with its summary, and stores the current rules with it.
    /// - Parameter atLastLog: the end is the time of the last entry, not now.
    package func endSession(atLastLog: Bool = false, _ context: WriteContext) throws -> SessionView {
        try write { db in
            guard let active = try SessionTable.active(db) else {
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

    /// Seals a session after the user has read its summary.
    package func sealSession(_ id: String, _ context: WriteContext) throws {
        try write { db in
            try seal("isActive = 0 AND sealed = 0 AND id = ?", [id], context, db)
        }
    }

    private func seal(
        _ condition: String, _ arguments: StatementArguments, _ context: WriteContext, _ db: Database
    ) throws {
        let sessions: [WaterlineSession] = try db.all("SELECT * FROM session WHERE \(condition)", arguments)
        for var session in sessions {
            session.sealed = true
            try SessionTable.save(session, nil, context, db)
        }
    }
}

enum SessionTable {
    static func active(_ db: Database) throws -> WaterlineSession? {
        try db.first("SELECT * FROM session WHERE isActive = 1")
    }

    static func find(_ id: String, _ db: Database) throws -> WaterlineSession? {
        try db.first("SELECT * FROM session WHERE id = ?", [id])
    }

    /// Updates a session and queues it for the server. Stored rules stay if `rules` is `nil`.
    static func save(_ session: WaterlineSession, _ rules: SessionRules?, _ context: WriteContext, _ db: Database)
        throws
    {
        let device = try ProfileTable.findOrCreate(db, context).deviceID
        try db.run(
            """
            UPDATE session SET startTime = :start, endTime = :end, isActive = :active, sealed = :sealed,
                ruleN = :ruleN, bottleWater = coalesce(:mode, bottleWater), waterOz = coalesce(:oz, waterOz),
                threshold = coalesce(:threshold, threshold), computedSummary = :summary,
                updatedAt = max(:now, updatedAt + 1), deviceId = :device WHERE id = :id
            """,
            [
                "start": session.startTime, "end": session.endTime, "active": session.isActive,
                "sealed": session.sealed, "ruleN": session.ruleN,
                "mode": rules?.bottleWater.rawValue, "oz": rules?.waterOz, "threshold": rules?.threshold,
                "summary": try session.computedSummary?.json, "now": context.now, "device": device, "id": session.id,
            ])
        try OutboxWriter.enqueue(.session, session.id, at: context.now, db)
    }

    static func loggedEntries(_ id: String, _ db: Database) throws -> [LogEntry] {
        try db.all("\(LogTable.select) WHERE sessionId = ? AND deleted = 0 ORDER BY timestamp, seq", [id])
    }

    /// The bottle's drinks from the session's start to its end, or to now.
    static func sips(of session: WaterlineSession, at now: Instant, _ db: Database) throws -> [Sip] {
        try DrinkTable.drinks(from: session.startTime, through: session.endTime ?? now, db)
            .filter { $0.source == .bottle }.map { Sip(key: $0.key, at: $0.at, ml: $0.ml) }
    }

    /// The ids of derived waters that the user removed.
    static func excluded(_ id: String, _ db: Database) throws -> Set<String> {
        try String.fetchSet(db, sql: "SELECT id FROM excluded_log WHERE sessionId = ?", arguments: [id])
    }
}

extension WaterlineSession: FetchableRecord {}

/// The settings for a session's derived waters and warning: the current ones while it is active, fixed at its end.
struct SessionRules {
    var bottleWater: BottleWaterMode
    var waterOz: Int
    var threshold: Int

    init(_ settings: Settings) {
        bottleWater = settings.bottleWater
        waterOz = settings.defaultWaterOz
        threshold = settings.warningThreshold
    }

    /// The stored rules of an ended session; the current settings for missing ones.
    init(of session: WaterlineSession, _ db: Database) throws {
        self.init(try SettingTable.settings(db))
        let sql = "SELECT bottleWater, waterOz, threshold FROM session WHERE id = ?"
        guard !session.isActive, let row = try Row.fetchOne(db, sql: sql, arguments: [session.id]) else { return }
        bottleWater =
            try row.decode(String?.self, atIndex: 0).flatMap(BottleWaterMode.init(rawValue:)) ?? bottleWater
        waterOz = try row.decode(Int?.self, atIndex: 1) ?? waterOz
        threshold = try row.decode(Int?.self, atIndex: 2) ?? threshold
    }
}

extension LogEntry: FetchableRecord {}

enum LogTable {
    /// The SELECT and FROM clauses of a query for entries.
    static let select = "SELECT *, type AS kind FROM log_entry"

    static func insert(_ log: LogEntry, _ deviceID: String, _ db: Database) throws -> Int64 {
        try db.run(
            """
            INSERT INTO log_entry (id, sessionId, timestamp, type, drinkType, sizeOz, abv, standardDrinkEstimate,
                presetId, amountOz, source, updatedAt, deviceId) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                log.id, log.sessionID, log.timestamp, log.kind.rawValue, log.drinkType?.rawValue, log.sizeOz, log.abv,
                log.standardDrinkEstimate, log.presetID, log.amountOz, log.source.rawValue, log.updatedAt, deviceID,
            ])
        return db.lastInsertedRowID
    }

    static func find(_ name: String, _ db: Database) throws -> LogEntry? {
        let number = (name.first == "w" ? Int64(name.dropFirst()) : nil) ?? -1
        return try db.first("\(select) WHERE deleted = 0 AND (id = ? OR seq = ?)", [name, number])
    }

    static func log(_ seq: some BinaryInteger, _ db: Database) throws -> LogEntry {
        guard let log: LogEntry = try db.first("\(select) WHERE seq = ?", [Int64(seq)]) else {
            preconditionFailure("entry \(seq) is missing, although this transaction wrote it")
        }
        return log
    }
}
