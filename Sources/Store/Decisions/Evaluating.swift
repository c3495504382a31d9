import Foundation
import GRDB
import TrackerCore

extension TrackerStore {
    /// Everything the core needs to decide at one moment. Read in one transaction: one consistent state.
    public func facts(_ context: WriteContext) throws -> TrackerFacts {
        try read { db in try facts(context, db) }
    }

    /// Evaluates without telling anybody or remembering anything: what `status` shows.
    public func look(_ context: WriteContext) throws -> Evaluation {
        Tracker.evaluate(try facts(context), now: context.now)
    }

    /// One tick: evaluates, offers what was decided to the sinks, and remembers what they accepted.
    ///
    /// The state that needs no acceptance is saved before the first delivery, what was accepted after each one. A
    /// process killed in between offers the same decision again, under the same id (`tracker.md` B7).
    public func evaluate(_ context: WriteContext, sinks: [any NotificationSink]) throws -> Evaluation {
        var evaluation = try write { db in
            let facts = try facts(context, db)
            let evaluation = Tracker.evaluate(facts, now: context.now)
            try save(evaluation, unless: facts, db)
            return evaluation
        }
        for id in evaluation.closes { sinks.forEach { $0.close(id: id) } }
        for decision in evaluation.decisions {
            let names = sinks.filter { $0.deliver(decision) }.map { String(describing: type(of: $0)) }
            guard !names.isEmpty else { continue }
            evaluation.accept(decision)
            try write { db in
                try save(evaluation, unless: nil, db)
                try NotificationTable.insert(decision, names, context, db)
            }
        }
        return evaluation
    }

    /// "Keep Going": the abandoned session's prompt is silent for another 12 hours.
    public func keepGoing(_ context: WriteContext) throws {
        try write { db in
            guard let facts = try waterlineFacts(context.now, db) else { throw WaterlineSession.Refusal.noActiveSession }
            let settings = Settings.restored(from: try SettingTable.texts(db)).settings
            var state = facts.reminders
                ?? WaterlineReminderState(session: facts.session, intervalMinutes: settings.intervalMinutes)
            state.keepGoing(at: context.now)
            try saveReminders(state, db)
        }
    }

    /// Notifications that were accepted, newest first.
    public func notifications(limit: Int = 50) throws -> [SentNotification] {
        try read { db in
            try Row.fetchAll(
                db, sql: "SELECT * FROM notification ORDER BY sentAt DESC, id DESC LIMIT ?", arguments: [limit]
            ).readable(SentNotification.init(row:))
        }
    }

    // MARK: - Parts

    private func facts(_ context: WriteContext, _ db: Database) throws -> TrackerFacts {
        let settings = Settings.restored(from: try SettingTable.texts(db)).settings
        let today = DayCalendar(zone: context.zone, boundaryHour: settings.boundaryHour).day(of: context.now)
        let drinks = try DrinkTable.drinks(on: today, db).map(\.drink)
        return TrackerFacts(
            settings: settings, zone: context.zone, days: [today: DayIntake(day: today, folding: drinks)],
            engineDay: try engineDay(today, db), waterline: try waterlineFacts(context.now, db),
            sync: try OutboxTable.status(db))
    }

    private func engineDay(_ day: LocalDay, _ db: Database) throws -> EngineDay? {
        let statement = try db.cachedStatement(sql: "SELECT state FROM engine_day WHERE dayKey = ?")
        let text = try String.fetchOne(statement, arguments: [day.description])
        return text.flatMap { try? JSONDecoder().decode(EngineDay.self, from: Data($0.utf8)) }
    }

    private func waterlineFacts(_ now: Instant, _ db: Database) throws -> WaterlineFacts? {
        guard let session = try SessionTable.active(db) else { return nil }
        let reminders = try String.fetchOne(db, sql: "SELECT reminders FROM session WHERE id = ?", arguments: [session.id])
        return WaterlineFacts(
            session: session, logs: try SessionTable.enteredLogs(session.id, db),
            sips: try SessionTable.sips(of: session, at: now, db), excluded: try SessionTable.excluded(session.id, db),
            reminders: reminders.flatMap { try? JSONDecoder().decode(WaterlineReminderState.self, from: Data($0.utf8)) })
    }

    /// Saves what the evaluation remembers; nothing where it equals what it started from.
    private func save(_ evaluation: Evaluation, unless old: TrackerFacts?, _ db: Database) throws {
        let day = evaluation.engineDay
        if old?.engineDay != day {
            let state = String(decoding: try JSONEncoder().encode(day), as: UTF8.self)
            let statement = try db.cachedStatement(sql: """
                INSERT INTO engine_day (dayKey, remindersSent, lastNotified, goalNotified, lastDueAnchor, state)
                VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (dayKey) DO UPDATE SET remindersSent = excluded.remindersSent,
                    lastNotified = excluded.lastNotified, goalNotified = excluded.goalNotified,
                    lastDueAnchor = excluded.lastDueAnchor, state = excluded.state
                """)
            try statement.execute(arguments: [
                day.dayKey.description, day.remindersSent, day.lastNotified?.rawValue ?? 0, day.goalNotified,
                day.lastDueAnchor?.milliseconds, state,
            ])
        }
        if let reminders = evaluation.waterlineReminders, old?.waterline?.reminders != reminders || old == nil {
            try saveReminders(reminders, db)
        }
    }

    private func saveReminders(_ state: WaterlineReminderState, _ db: Database) throws {
        let text = String(decoding: try JSONEncoder().encode(state), as: UTF8.self)
        try db.execute(
            sql: "UPDATE session SET reminders = ? WHERE id = ? AND isActive = 1", arguments: [text, state.sessionID])
    }
}

/// A notification that at least one sink accepted.
public struct SentNotification: Hashable, Sendable {
    public var id: String
    public var kind: String
    public var sentAt: Instant
    public var sinks: [String]
}

extension SentNotification {
    init(row: Row) throws {
        self.init(
            id: try row.checked("id"), kind: try row.checked("kind"), sentAt: try row.instant("sentAt"),
            sinks: try row.checked("sinks", String.self).split(separator: ",").map(String.init))
    }
}

enum NotificationTable {
    /// How many are remembered: weeks of them.
    static let limit = 1000

    static func insert(_ decision: TrackerNotification, _ sinks: [String], _ context: WriteContext, _ db: Database) throws {
        try db.execute(sql: """
            INSERT INTO notification (id, kind, sentAt, sinks) VALUES (?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET sentAt = excluded.sentAt, sinks = excluded.sinks
            """, arguments: [
                decision.notificationId, decision.kind.rawValue, context.now.milliseconds, sinks.joined(separator: ","),
            ])
        try db.execute(sql: """
            DELETE FROM notification WHERE id IN (SELECT id FROM notification ORDER BY sentAt DESC LIMIT -1 OFFSET ?)
            """, arguments: [limit])
    }
}
