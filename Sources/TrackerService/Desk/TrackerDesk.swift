import Foundation
import Store
import TrackerCore

/// What a person can do with a store, by name: every surface (command line, HTTP, MQTT, D-Bus) calls these methods and
/// only chooses words and transport.
///
/// A desk is made for one request over a store that stays open; that costs next to nothing. It reads no clock and no
/// machine's zone: the surface hands both in. Each method answers with a report, which is the JSON of every surface, or
/// throws a `Problem`. Each method that changes something runs by itself what follows a commit (tracker law B8), so no
/// surface can forget it.
package struct TrackerDesk: Sendable {
    /// The store that everything is done with.
    package let store: TrackerStore
    /// Who does it, and when.
    package var context: WriteContext
    /// Whether a notification would reach somebody: `notifications` in the state.
    package let canNotify: Bool
    /// Whether sessions are this caller's business. Where they are not, entries of a session are no entries, and what
    /// was done to one is not taken back.
    package private(set) var seesWaterline = true
    /// Takes what a person has to know beside an answer, a sentence each.
    let remark: @Sendable (String) -> Void

    /// For one request; `remark` hears what a person should know beside the answer.
    package init(
        _ store: TrackerStore, _ context: WriteContext, canNotify: Bool = false,
        remark: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.store = store
        self.context = context
        self.canNotify = canNotify
        self.remark = remark
    }

    /// A desk in the zone that is in force by the store's settings.
    /// - Parameters:
    ///   - isAsked: whether somebody asked for that moment, as `WriteContext.isAsked`.
    ///   - source: the surface, as `WriteContext.source`.
    package init(
        _ store: TrackerStore, now: Instant, isAsked: Bool = false, zone: ZoneChoice, source: String,
        canNotify: Bool = false,
        makeID: @escaping @Sendable () -> String = { UUID().uuidString.lowercased() },
        remark: @escaping @Sendable (String) -> Void = { _ in }
    ) throws {
        let zone = zone.inForce(try store.settings())
        self.init(
            store, WriteContext(now: now, zone: zone, source: source, isAsked: isAsked, makeID: makeID),
            canNotify: canNotify, remark: remark)
    }

    /// The time of the request.
    package var now: Instant { context.now }
    /// The zone of its days.
    package var zone: Zone { context.zone }

    /// The day that runs now.
    package func today() throws -> LocalDay {
        DayCalendar(zone: zone, boundaryHour: try store.settings().boundaryHour).day(of: now)
    }

    /// How the day stands, as far as it is the caller's business.
    package func state() throws -> TrackerSnapshot {
        let state = try store.look(context, canNotify: canNotify).snapshot
        return seesWaterline ? state : state.withoutWaterline
    }

    /// A time as a person types it: `14:00`, `2026-06-15T14:00`, or with an offset.
    package func moment(_ text: String) throws -> Instant { try Moment.parse(text, now: now, zone: zone) }

    /// One JSON object with keys in a stable order: the same text on every surface.
    package static func json(_ report: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(report), as: UTF8.self)
    }

    /// What follows a commit (tracker law B8). The desk's own methods call it; whoever writes to the store around them
    /// (a poll, a pass of sync, the settling of an offer) calls it afterwards. The commit stands, whatever happens
    /// here.
    package func afterCommit() {
        guard (try? store.hasChanged()) ?? true else { return }
        store.afterCommit(context).forEach(remark)
    }

    /// Runs a change with its answer, and then what follows every commit. Every method here that writes goes through
    /// this.
    func change<Report>(_ body: () throws -> Report) throws -> Report {
        let report = try body()
        afterCommit()
        return report
    }
}

extension TrackerDesk {
    /// The same desk, whose first write is made for this errand and only once.
    package func running(_ errand: Errand) -> TrackerDesk {
        TrackerDesk(store.running(errand), context, canNotify: canNotify, remark: remark).seeing(
            waterline: seesWaterline)
    }

    /// The same desk for what was said by that surface, as `WriteContext.source`.
    package func by(_ surface: String) -> TrackerDesk {
        var context = context
        context.source = surface
        return TrackerDesk(store, context, canNotify: canNotify, remark: remark).seeing(waterline: seesWaterline)
    }

    /// The same desk for somebody whose business sessions are, or are not.
    package func seeing(waterline: Bool) -> TrackerDesk {
        var desk = self
        desk.seesWaterline = waterline
        return desk
    }

    /// - Throws: `Refusal` (`waterlineNotShared`) where sessions are none of the caller's business.
    func needWaterline() throws {
        guard !seesWaterline else { return }
        throw Refusal(
            "waterlineNotShared",
            "Waterline is not shown beyond the machine it runs on. The configuration can switch that on.")
    }
}

extension TrackerDesk {
    /// How the day stands, and how long nothing of it changes by itself.
    package func standing() throws -> (snapshot: TrackerSnapshot, lasts: Duration) {
        let evaluation = try store.look(context, canNotify: canNotify)
        return (evaluation.snapshot, pause(until: evaluation.nextChange))
    }

    /// For how long nobody need look: until that moment, at most 60 s (tracker law B8).
    func pause(until next: Instant) -> Duration {
        min(DayFollower.longestPause, .milliseconds(max(50, Int64(now.seconds(to: next) * 1000) + 1)))
    }
}

extension TrackerDesk {
    /// The counted drinks of the day that runs now, oldest first.
    package func drinksToday() throws -> [StoredDrink] { try store.drinks(on: try today(), knownAt: context.asked) }

    /// What was drunk on the day that runs now, in millilitres.
    package func totalToday() throws -> Int { try store.intake(context).totalMl }

    /// The drinks that a name in our lists can mean: none, or one as a rule.
    package func drinks(named name: String) throws -> [StoredDrink] { try store.drinks(named: name) }

    /// The session that runs, else the last one; `nil` where there was none.
    package func sessionIfAny() throws -> SessionReport? {
        if let active = try store.activeSession(at: now) { return SessionReport(active) }
        guard let last = try store.pastSessions(limit: 1).first, let view = try store.session(named: last.id, at: now)
        else { return nil }
        return SessionReport(view)
    }

    /// The entries of the session that runs, oldest first; none without one.
    package func activeLogs() throws -> [LogReport] {
        try store.activeSession(at: now).map { view in view.logs.map { LogReport($0, view) } } ?? []
    }
}

extension TrackerDesk {
    /// The store's file.
    package var path: String { store.path }

    /// How the store itself is. Changes nothing.
    package func upkeep() throws -> UpkeepReport {
        let (settings, refused) = try store.settingsAndRefused()
        let junk = try store.quarantineCounts()
        return UpkeepReport(
            rows: try store.rowCounts(), damage: try store.integrityProblems(), journal: try store.journalCounts(),
            doubts: try store.doubts().map { JournalReport.Doubt(reason: $0.reason, count: $0.count) },
            junkReceived: junk.received, junkNotKept: junk.evicted,
            refused: refused, outbox: try store.outbox(),
            sync: try store.syncReport().report,
            troubles: try outletTroubles(), listen: settings.service.httpListen, bottles: try store.bottles())
    }

    /// Places that are told of the day and could not be, as it was when a service tried last.
    package func outletTroubles() throws -> [OutletTrouble] { try store.outletTroubles() }

    /// How much brokers keep of what is not here any more: it is taken back by whoever publishes the day.
    package func leftBehind() throws -> Int { try store.leavings().reduce(0) { $0 + $1.topics.count } }

    /// Whether there is anything that a restore would replace.
    package func isUsed() throws -> Bool { try store.isUsed() }

    /// Whether anybody has begun here; nobody before that is behind a goal that nobody has set.
    package func hasBegun() throws -> Bool { try store.hasBegun() }

    /// The position of the last change of a drink: where a reader of changes goes on.
    package func lastChange() throws -> Int64 { try store.lastDrinkPlace() }

    /// Whether a reader of changes may go on behind this position.
    package func isChange(_ position: Int64) throws -> Bool { try store.isDrinkPlace(position) }
}

extension TrackerDesk {
    /// One exchange with the sync server, where the settings name one: sends what waits, and takes in what other
    /// devices wrote.
    /// - Returns: what it did, also where it did not work; `nil` where there is no server.
    package func synchronise() async throws -> SyncClient.Pass? {
        let now = now
        var pass = SyncClient.Pass()
        do {
            guard let client = try SyncClient.named(by: store.settings()) else { return nil }
            pass = try await client.pass(store, now: { now }, zone: zone)
        } catch let trouble as SyncTrouble {
            try store.finishSyncPass(MergeOutcome(), trouble: trouble.sentence, at: now)
            pass.trouble = trouble.sentence
        }
        afterCommit()
        return pass
    }
}

extension TrackerDesk {
    /// A day's drinks.
    package func day(_ day: LocalDay) throws -> DayDrinksReport {
        let drinks = try store.drinks(on: day, knownAt: context.asked)
        let record = try store.history(from: day, through: day, knownAt: context.asked)[day]
        return DayDrinksReport(day: DayReport(day, record), drinks: drinks.map(report))
    }

    /// The week that contains a day, from the day that the settings begin weeks with.
    package func week(of day: LocalDay) throws -> WeekReport {
        let week = History.week(containing: day, firstDay: try store.settings().weekFirstDay)
        let today = try today()
        let bars = try store.history(from: week.first ?? day, through: week.last ?? day, knownAt: context.asked).bars(
            week: week, today: today)
        return WeekReport(
            days: zip(week, bars).map { DayReport($0, $1) }, totalMl: bars.reduce(0) { $0 + ($1?.totalMl ?? 0) },
            streak: try store.streak(today: today, knownAt: context.asked))
    }

    /// The month that contains a day.
    package func month(of day: LocalDay) throws -> MonthReport {
        let first = day.adding(days: 1 - day.day)
        let last = first.adding(days: LocalDay.length(ofMonth: first.month, year: first.year) - 1)
        let days = try store.history(from: first, through: last, knownAt: context.asked).calendar(
            year: first.year, month: first.month, today: try today())
        return MonthReport(
            month: String(first.description.prefix(7)), days: days.map { DayReport($0.day, $0.record) },
            metDays: days.count { $0.record?.isMet ?? false })
    }

    /// Days in a row that met their goal.
    package func streak() throws -> StreakReport {
        let today = try today()
        return StreakReport(
            streak: try store.streak(today: today, knownAt: context.asked),
            record: try store.history(from: today, through: today, knownAt: context.asked)[today])
    }
}

extension TrackerDesk {
    /// Why a reminder is told, or is silent: the conditions that the decision is made by, and what would change them.
    /// Tells and remembers nothing.
    /// - Parameter moment: as a person types it, `14:00` for that time of the day that runs, also where it is still to
    ///   come; `nil`: now. What was told of a day is known as it stands now, also for an earlier moment.
    package func why(at moment: String? = nil) throws -> WhyReport {
        var context = context
        if let moment { (context.now, context.isAsked) = (try timeOfToday(moment) ?? self.moment(moment), true) }
        let then = TrackerDesk(store, context, canNotify: canNotify, remark: remark)
        return WhyReport(
            explanation: Tracker.explain(try store.facts(context), now: context.now), state: try then.state())
    }

    /// Of the day that runs: what lies before its boundary hour is its end, on the next date. `nil` where the text is
    /// no time of day alone.
    private func timeOfToday(_ text: String) throws -> Instant? {
        guard let time = TimeOfDay(text) else { return nil }
        let calendar = try store.facts(context).calendar
        let day = calendar.day(of: now)
        return calendar.instant(on: time.hour < calendar.boundaryHour ? day.adding(days: 1) : day, at: time)
    }
}

extension TrackerDesk {
    /// The notifications that somebody was shown, so many at most.
    package func shown(limit: Int = 50) throws -> ShownReport {
        ShownReport(
            notifications: try store.notifications(limit: limit).map { sent in
                ShownReport.Line(
                    id: sent.id, kind: NotificationKind(rawValue: sent.kind)?.id ?? sent.kind, sentAt: sent.sentAt,
                    sinks: sent.sinks, missed: sent.missed)
            })
    }
}
