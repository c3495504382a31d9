import Foundation
package import Store
package import TrackerCore

/// The application API of a store. All interfaces (command line, HTTP, MQTT, D-Bus) call these methods.
///
/// Create a value for each request, which is cheap. The interface passes the time and the time zone. Each method
/// returns a report, which is the JSON of every interface, or throws a `Problem`. Each method that writes also runs the
/// tasks after a commit (tracker spec B8).
package struct TrackerAPI: Sendable {
    package private(set) var store: TrackerStore
    package var context: WriteContext
    /// Whether a notification channel is available: `notifications` in the JSON of the state.
    package let canNotify: Bool
    /// Whether the caller has access to Waterline. Otherwise entries of sessions are hidden and not undone.
    package private(set) var mayReadWaterline = true
    /// Receives warnings in addition to a result, one sentence each.
    let warn: @Sendable (String) -> Void

    package init(
        _ store: TrackerStore, _ context: WriteContext, canNotify: Bool = false,
        warn: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.store = store
        self.context = context
        self.canNotify = canNotify
        self.warn = warn
    }

    /// Uses the time zone of the store's settings.
    /// - Parameters:
    ///   - isExplicit: see `WriteContext.isExplicit`.
    ///   - source: see `WriteContext.source`.
    package init(
        _ store: TrackerStore, now: Instant, isExplicit: Bool = false, zone: ZoneChoice, source: String,
        canNotify: Bool = false, makeID: @escaping @Sendable () -> String = { UUID().uuidString.lowercased() },
        warn: @escaping @Sendable (String) -> Void = { _ in }
    ) throws {
        let zone = zone.effectiveZone(try store.settings())
        self.init(
            store, WriteContext(now: now, zone: zone, source: source, isExplicit: isExplicit, makeID: makeID),
            canNotify: canNotify, warn: warn)
    }

    package var now: Instant { context.now }
    package var zone: Zone { context.zone }

    package func today() throws -> LocalDay {
        DayCalendar(zone: zone, boundaryHour: try store.settings().boundaryHour).day(of: now)
    }

    /// The state of the day, without Waterline if the caller has no access to it.
    package func state() throws -> TrackerSnapshot {
        let state = try store.preview(context, canNotify: canNotify).snapshot
        return mayReadWaterline ? state : state.withoutWaterline
    }

    /// Parses a time: `14:00`, `2026-06-15T14:00`, or a time with an offset.
    package func moment(_ text: String) throws -> Instant { try TimeText.parse(text, now: now, zone: zone) }

    /// A JSON object with sorted keys, equal on every interface.
    package static func json(_ report: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(report), as: UTF8.self)
    }

    /// Runs the tasks after a commit (tracker spec B8). Polls, sync and deliveries call it, because they write to the
    /// store directly. Errors become warnings and do not affect the commit.
    package func afterCommit() {
        guard (try? store.hasChanged()) ?? true else { return }
        store.afterCommit(context).forEach(warn)
    }

    /// Runs a change and then the tasks after a commit. Every method that writes must use this.
    func change<Report>(_ body: () throws -> Report) throws -> Report {
        let report = try body()
        afterCommit()
        return report
    }
}

extension TrackerAPI {
    /// A copy whose first write executes this request once.
    package func executing(_ request: IdempotentRequest) -> TrackerAPI {
        var tracker = self
        tracker.store = store.executing(request)
        return tracker
    }

    /// A copy with another `WriteContext.source`.
    package func withSource(_ source: String) -> TrackerAPI {
        var tracker = self
        tracker.context.source = source
        return tracker
    }

    /// A copy with or without access to Waterline.
    package func withAccess(waterline: Bool) -> TrackerAPI {
        var tracker = self
        tracker.mayReadWaterline = waterline
        return tracker
    }

    /// Checks that the caller has access to Waterline.
    /// - Throws: `waterlineNotShared` without access to Waterline.
    func requireWaterlineAccess() throws { if !mayReadWaterline { throw Self.waterlineNotShared } }

    package static let waterlineNotShared = Refusal(
        "waterlineNotShared", "Waterline is disabled for other machines. Enable it in the configuration.")

    /// The state of the day, and the time until it changes without a write.
    package func stateAndDuration() throws -> (snapshot: TrackerSnapshot, validFor: Duration) {
        let evaluation = try store.preview(context, canNotify: canNotify)
        return (evaluation.snapshot, pause(until: evaluation.nextChange))
    }

    /// The time until a moment, from 50 ms to 60 s (tracker spec B8).
    func pause(until next: Instant) -> Duration {
        min(DayObserver.longestPause, .milliseconds(max(50, Int64(now.seconds(to: next) * 1000) + 1)))
    }

    /// The counted drinks of the current day, oldest first.
    package func drinksToday() throws -> [StoredDrink] {
        try store.drinks(on: try today(), knownAt: context.explicitNow)
    }

    /// The total of the current day in millilitres.
    package func totalToday() throws -> Int { try store.intake(context).totalMl }

    /// The active session, else the last one; `nil` if there is none.
    package func sessionIfAny() throws -> SessionView? {
        try store.activeSession(at: now) ?? sessions(limit: 1).sessions.first
    }

    /// The entries of the active session, oldest first; empty without one.
    package func activeLogs() throws -> [LogReport] {
        try store.activeSession(at: now).map { view in view.logs.map { LogReport($0, view) } } ?? []
    }

    package var path: String { store.path }

    /// The state of the store for maintenance. Changes nothing.
    package func maintenanceReport() throws -> MaintenanceReport {
        let (settings, invalid) = try store.validatedSettings()
        let counts = try store.quarantineCounts()
        return MaintenanceReport(
            rows: try store.rowCounts(), damage: try store.integrityProblems(), journal: try store.journalCounts(),
            quarantineReasons: try store.quarantineReasons(), undecodableReceived: counts.received,
            undecodableDeleted: counts.evicted, invalidSettings: invalid, outbox: try store.outbox(),
            sync: try store.syncReport().report, publisherErrors: try store.publisherErrors(),
            listen: settings.service.httpListen, bottles: try store.bottles())
    }

    /// The number of stale retained topics, which the service deletes from their brokers.
    package func staleTopicCount() throws -> Int { try store.staleTopics().reduce(0) { $0 + $1.topics.count } }

    /// Exchanges changes with the sync server of the settings.
    /// - Returns: the result, even after a failure; `nil` without a server.
    package func synchronise() async throws -> SyncClient.Pass? {
        let now = now
        var pass = SyncClient.Pass()
        do {
            guard let client = try SyncClient(store.settings()) else { return nil }
            pass = try await client.pass(store, now: { now }, zone: zone)
        } catch let problem as SyncProblem {
            try store.finishSyncPass(MergeOutcome(), problem: problem.sentence)
            pass.problem = problem.sentence
        }
        afterCommit()
        return pass
    }

    package func day(_ day: LocalDay) throws -> DayDrinksReport {
        let drinks = try store.drinks(on: day, knownAt: context.explicitNow)
        let record = try store.history(from: day, through: day, knownAt: context.explicitNow)[day]
        return DayDrinksReport(day: DayReport(day: day, record: record), drinks: drinks.map(report))
    }

    /// The week that contains a day. The setting `week.firstDay` determines the first day of weeks.
    package func week(of day: LocalDay) throws -> WeekReport {
        let week = History.week(containing: day, firstDay: try store.settings().weekFirstDay)
        let today = try today()
        let bars = try store.history(from: week.first ?? day, through: week.last ?? day, knownAt: context.explicitNow)
            .bars(week: week, today: today)
        return WeekReport(
            days: zip(week, bars).map { DayReport(day: $0, record: $1) },
            totalMl: bars.reduce(0) { $0 + ($1?.totalMl ?? 0) },
            streak: try store.streak(today: today, knownAt: context.explicitNow))
    }

    package func month(of day: LocalDay) throws -> MonthReport {
        let first = day.adding(days: 1 - day.day)
        let last = first.adding(days: LocalDay.length(ofMonth: first.month, year: first.year) - 1)
        let days = try store.history(from: first, through: last, knownAt: context.explicitNow).calendar(
            year: first.year, month: first.month, today: try today())
        return MonthReport(
            month: String(first.description.prefix(7)), days: days.map { DayReport(day: $0.day, record: $0.record) },
            metDays: days.count { $0.record?.isMet ?? false })
    }

    package func streak() throws -> StreakReport {
        let today = try today()
        return StreakReport(
            streak: try store.streak(today: today, knownAt: context.explicitNow),
            record: try store.history(from: today, through: today, knownAt: context.explicitNow)[today])
    }

    /// Explains each reminder: its conditions, and the changes that would reverse them. Has no side effects.
    /// - Parameter moment: `14:00` means the current day, even in the future; `nil` means now. The explanation of an
    ///   earlier moment also considers notifications that were sent after it.
    package func why(at moment: String? = nil) throws -> WhyReport {
        var then = self
        if let moment {
            then.context.now = try timeOfToday(moment) ?? self.moment(moment)
            then.context.isExplicit = true
        }
        var explanation = Tracker.explain(try store.facts(then.context), now: then.now)
        if !mayReadWaterline { explanation.reminders.removeAll { $0.kind.isWaterline } }
        return WhyReport(explanation: explanation, state: try then.state())
    }

    /// The time on the tracker's current day. A time before the boundary hour is on the next date. `nil` if invalid.
    private func timeOfToday(_ text: String) throws -> Instant? {
        guard let time = TimeOfDay(text) else { return nil }
        let calendar = try store.facts(context).calendar
        let day = calendar.day(of: now)
        return calendar.instant(on: time.hour < calendar.boundaryHour ? day.adding(days: 1) : day, at: time)
    }

    /// The notifications that a channel accepted, at most `limit`.
    package func deliveredNotifications(limit: Int = 50) throws -> ShownReport {
        ShownReport(notifications: try store.notifications(limit: limit))
    }
}
