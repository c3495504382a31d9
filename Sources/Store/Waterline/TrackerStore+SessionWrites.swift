import GRDB
import TrackerCore

extension TrackerStore {
    /// Starts a session, or returns the active one (`started` false): a unique index allows no second.
    /// The start seals every ended session (tracker law E3).
    package func startSession(_ context: WriteContext) throws -> (session: WaterlineSession, started: Bool) {
        try write { db in
            if let active = try sessionByTheClock(context, db) { return (active, false) }
            let profile = try ProfileTable.findOrMake(db, context)
            // One that nobody can read would forbid every other for ever.
            try db.execute(sql: "UPDATE session SET isActive = 0 WHERE isActive = 1")
            try seal("isActive = 0 AND sealed = 0", [], context, db)
            let session = WaterlineSession(id: context.makeID(), userID: profile.userID, startTime: context.now)
            try db.execute(
                sql: """
                    INSERT INTO session (id, userId, startTime, isActive, updatedAt, deviceId) VALUES (?, ?, ?, 1, ?, ?)
                    """,
                arguments: [
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
            try db.execute(sql: "UPDATE session SET reminders = NULL WHERE id = ?", arguments: [ended.id])
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
