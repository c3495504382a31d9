import GRDB
import TrackerCore

extension TrackerStore {
    /// Farther than this no session is moved, seconds: a clock that is so far off is not one that was put right.
    private static let farthestBack: Double = 24 * 3600

    /// The active session, as entries can be made in it now. One that was begun while the clock was fast lies in the
    /// time to come as soon as the clock is right, and would take nothing until then: it is moved back as a whole, so
    /// that the last of it was just now. What lay between its entries stays between them.
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
            try db.execute(
                sql:
                    "UPDATE log_entry SET timestamp = ?, updatedAt = max(?, updatedAt + 1), deviceId = ? WHERE seq = ?",
                arguments: [
                    log.timestamp.advanced(seconds: -back).milliseconds, context.now.milliseconds, device, log.seq,
                ])
            try finish(log.id, .addLogEntry, session, context, db)
        }
        return session
    }
}
