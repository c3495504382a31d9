import GRDB
package import TrackerCore

extension TrackerStore {
    /// The input of an evaluation, read in one transaction.
    package func facts(_ context: WriteContext) throws -> TrackerFacts {
        try read { db in try facts(context, db) }
    }

    package func intake(_ context: WriteContext) throws -> DayIntake {
        try read { db in try intake(try SettingTable.settings(db), context, db) }
    }

    private func intake(_ settings: Settings, _ context: WriteContext, _ db: Database) throws -> DayIntake {
        let today = DayCalendar(zone: context.zone, boundaryHour: settings.boundaryHour).day(of: context.now)
        return DayIntake(
            day: today,
            folding: try DrinkTable.drinks(on: today, db).map(\.drink).filter { $0.isKnown(at: context.explicitNow) })
    }

    /// Evaluates without delivering or saving.
    /// - Parameter canNotify: whether a notification channel is available (`notifications` in the state).
    package func preview(_ context: WriteContext, canNotify: Bool = false) throws -> Evaluation {
        var facts = try facts(context)
        facts.hasNotificationServer = canNotify
        return Tracker.evaluate(facts, now: context.now)
    }

    /// Evaluates, and saves the changes that need no acceptance. Delivers nothing.
    func evaluate(_ context: WriteContext) throws {
        try write { db in _ = try evaluate(context, canNotify: false, db) }
    }

    /// Evaluates and claims every decision in one transaction, so that only this process delivers it. The caller shows
    /// each group and calls `finish`. If the process ends in between, its claims expire (`Claims.leaseSeconds`), and
    /// another process completes this delivery with the same ids before a new one (tracker spec B7).
    /// - Parameter canNotify: as in `preview`. Without a channel nothing is claimed or written.
    package func beginDelivery(_ context: WriteContext, canNotify: Bool = true) throws -> Delivery {
        let claims = Claims(claimant: context.makeID(), now: context.now)
        return try write { db in
            var evaluation = try evaluate(context, canNotify: canNotify, db)
            guard canNotify else {
                evaluation.decisions = try evaluation.decisions.filter { try claims.isFree($0.notificationId, db) }
                return Delivery(evaluation, claims)
            }
            var isAbandoned = false
            switch try claims.unfinished(db) {
            // One process delivers at a time, so that all channels have the same order.
            case .inProgress: evaluation.decisions = []
            case .abandoned(let rest): (evaluation.decisions, isAbandoned) = (rest, true)
            case .nothing:
                evaluation.decisions = try assignPositions(
                    evaluation.decisions.filter { try claims.isFree($0.notificationId, db) }, context, db)
            }
            for decision in evaluation.decisions {
                _ = try claims.acquire(decision.notificationId, db, delivery: decision)
            }
            return Delivery(evaluation, claims, isAbandoned: isAbandoned)
        }
    }

    private func assignPositions(_ decisions: [TrackerNotification], _ context: WriteContext, _ db: Database) throws
        -> [TrackerNotification]
    {
        guard !decisions.isEmpty else { return [] }
        let first = max(try NotificationTable.newestPosition(db) + 1, context.now.milliseconds)
        return Delivery.groups(decisions).enumerated().flatMap { index, group in
            group.decisions.map { decision in
                var decision = decision
                (decision.position, decision.decidedAt) = (first + Int64(index), context.now)
                return decision
            }
        }
    }

    /// Renews a group's claims before a late delivery.
    /// - Returns: `false` if they expired and another process delivers it.
    package func renewClaims(_ group: Delivery.Group, of delivery: Delivery, at now: Instant) throws -> Bool {
        try write { db in
            try group.decisions.reduce(true) { try delivery.claims.renew($1.notificationId, at: now, db) && $0 }
        }
    }

    /// Releases a group's claims and stores its channels. Without a channel, it is delivered again (K-B15).
    package func finish(
        _ group: Delivery.Group, of delivery: Delivery, acceptedBy names: [String], _ context: WriteContext
    )
        throws
    {
        try write { db in
            // The ended process might have shown the notification, so its text must not change.
            for decision in group.decisions
            where try delivery.claims.release(decision.notificationId, db) && (!names.isEmpty || delivery.isAbandoned) {
                try accept(decision, db)
                try NotificationTable.insert(
                    decision, names, isShown: decision.notificationId == group.shown.notificationId, context, db)
            }
        }
    }

    /// Pauses the hydration reminders until `end`; `nil` ends a pause. Reminders that are still due come afterwards.
    package func snooze(until end: Instant?, _ context: WriteContext) throws {
        try write { db in
            try Counter.set(Self.snoozedUntil, Int(end?.milliseconds ?? 0), db)
            guard var day = try engineDay(dayCalendar(context.zone, db).day(of: context.now), db) else { return }
            day.clearSentReminders()
            try save(day, db)
        }
    }

    private static let snoozedUntil = "reminders.snoozedUntil"

    /// Delays the question about an abandoned session by 12 hours ("Keep Going").
    package func keepGoing(_ context: WriteContext) throws {
        try write { db in
            guard let facts = try waterlineFacts(context, db) else { throw WaterlineSession.Refusal.noActiveSession }
            let settings = try SettingTable.settings(db)
            var state =
                facts.reminders
                ?? WaterlineReminderState(session: facts.session, intervalMinutes: settings.intervalMinutes)
            state.keepGoing(at: context.now)
            try saveReminders(state, db)
        }
    }

    // MARK: - Helpers

    /// Evaluates, and saves the changes that need no acceptance.
    private func evaluate(_ context: WriteContext, canNotify: Bool, _ db: Database) throws -> Evaluation {
        var facts = try facts(context, db)
        facts.hasNotificationServer = canNotify
        let evaluation = Tracker.evaluate(facts, now: context.now)
        try save(evaluation, unless: facts, db)
        return evaluation
    }

    private func facts(_ context: WriteContext, _ db: Database) throws -> TrackerFacts {
        let settings = try SettingTable.settings(db).withDefaultUnits(defaultUnits)
        let intake = try intake(settings, context, db)
        let today = intake.day
        var facts = TrackerFacts(
            settings: settings, zone: context.zone, days: [today: intake],
            engineDay: try engineDay(today, db), waterline: try waterlineFacts(context, db))
        facts.reminderHold = context.reminderHold
        let snoozedUntil = try Counter.value(Self.snoozedUntil, db)
        facts.snoozedUntil = snoozedUntil > 0 ? Instant(milliseconds: Int64(snoozedUntil)) : nil
        (facts.sync, facts.syncReport) = try SyncStateTable.status(db)
        facts.connectionProblem = try ConnectionTable.problem(db)
        facts.bottle = try ConnectionTable.lastPolledBottle(db)
        (facts.unread, facts.unreadOfSessions) = try NotificationTable.unread(
            from: facts.calendar.start(of: today), through: context.now, db)
        return facts
    }

    private func engineDay(_ day: LocalDay, _ db: Database) throws -> EngineDay? {
        EngineDay(json: try db.first("SELECT state FROM engine_day WHERE dayKey = ?", [day]))
    }

    private func waterlineFacts(_ context: WriteContext, _ db: Database) throws -> WaterlineFacts? {
        // `--now` can be before the start of the session.
        guard let session = try SessionTable.active(db), context.explicitNow.map({ session.startTime <= $0 }) ?? true
        else { return nil }
        return WaterlineFacts(
            session: session,
            logs: try SessionTable.loggedEntries(session.id, db).filter { $0.isKnown(at: context.explicitNow) },
            sips: try SessionTable.sips(of: session, at: context.now, db),
            excluded: try SessionTable.excluded(session.id, db), reminders: try reminders(of: session.id, db))
    }

    func reminders(of session: String, _ db: Database) throws -> WaterlineReminderState? {
        WaterlineReminderState(
            json: try db.first("SELECT reminders FROM session WHERE id = ? AND isActive = 1", [session]))
    }

    private func accept(_ decision: TrackerNotification, _ db: Database) throws {
        var day = try engineDay(decision.dayKey, db) ?? EngineDay(dayKey: decision.dayKey)
        day.accept(decision)
        try save(day, db)
        guard let session = decision.sessionID, var state = try reminders(of: session, db) else { return }
        state.accept(decision)
        try saveReminders(state, db)
    }

    /// A changed interval restarts the session's time grid (tracker spec E4).
    func restartGrid(from old: Settings, to new: Settings, at now: Instant, _ db: Database) throws {
        guard new.intervalMinutes != old.intervalMinutes, let session = try SessionTable.active(db) else { return }
        var state =
            try reminders(of: session.id, db)
            ?? WaterlineReminderState(session: session, intervalMinutes: old.intervalMinutes)
        state.restartGrid(at: max(now, session.startTime), intervalMinutes: new.intervalMinutes)
        try saveReminders(state, db)
    }

    private func save(_ evaluation: Evaluation, unless old: TrackerFacts, _ db: Database) throws {
        if old.engineDay != evaluation.engineDay { try save(evaluation.engineDay, db) }
        if let reminders = evaluation.waterlineReminders, old.waterline?.reminders != reminders {
            try saveReminders(reminders, db)
        }
    }

    private func save(_ day: EngineDay, _ db: Database) throws {
        try db.run("INSERT OR REPLACE INTO engine_day (dayKey, state) VALUES (?, ?)", [day.dayKey, try day.json])
    }

    func saveReminders(_ state: WaterlineReminderState, _ db: Database) throws {
        try db.run("UPDATE session SET reminders = ? WHERE id = ? AND isActive = 1", [try state.json, state.sessionID])
    }
}
