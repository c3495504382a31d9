/// The stored facts of the active session.
package struct WaterlineFacts: Hashable, Sendable {
    package var session: WaterlineSession
    /// Logged entries in any order, without deleted and derived ones.
    package var logs: [LogEntry]
    package var sips: [Sip]
    /// The ids of excluded derived entries.
    package var excluded: Set<String>
    /// The reminder state; `nil` for a new session.
    package var reminders: WaterlineReminderState?

    package init(
        session: WaterlineSession, logs: [LogEntry] = [], sips: [Sip] = [], excluded: Set<String> = [],
        reminders: WaterlineReminderState? = nil
    ) {
        self.session = session
        self.logs = logs
        self.sips = sips
        self.excluded = excluded
        self.reminders = reminders
    }

    /// All counted entries, logged and derived, by time.
    package func allLogs(now: Instant, settings: Settings) -> [LogEntry] {
        let derived = BottleWater(
            sips: sips, session: session, now: now, mode: settings.bottleWater, defaultWaterOz: settings.defaultWaterOz,
            excluded: excluded)
        return (logs + derived.logs).sorted(by: WaterlineState.isEarlier)
    }
}

/// The reminders of one session at one moment (tracker spec E3, E4). Quiet hours and the daily limit do not apply,
/// because sessions take place at night.
struct WaterlineReminders {
    let now: Instant
    let settings: Settings
    let calendar: DayCalendar
    let session: WaterlineSession
    let logs: [LogEntry]
    let waterlineState: WaterlineState
    /// The state to save. It includes changes without a notification: skipped grid points, values without a warning.
    private(set) var state: WaterlineReminderState
    private(set) var decisions: [TrackerNotification] = []
    private(set) var guards: [NotificationKind: [ReminderGuard]] = [:]

    init(now: Instant, facts: WaterlineFacts, settings: Settings, calendar: DayCalendar) {
        self.now = now
        self.settings = settings
        self.calendar = calendar
        session = facts.session
        logs = facts.allLogs(now: now, settings: settings)
        waterlineState = WaterlineState.computeState(logs, warningThreshold: settings.warningThreshold)
        let known = facts.reminders.flatMap { $0.sessionID == facts.session.id ? $0 : nil }
        state = known ?? WaterlineReminderState(session: session, intervalMinutes: settings.intervalMinutes)
        guard session.isActive else { return }
        decideTimeReminder()
        decidePerDrinkReminder()
        decideWarning()
        decideQuestion()
        decideResident()
    }

    /// The reminders by time (tracker spec E4). An interval of less than a minute counts as one minute.
    var grid: TimeGrid {
        TimeGrid(
            start: state.gridStart, interval: Int64(max(1, state.gridIntervalMinutes)).saturatingMultiply(60_000))
    }

    /// Whether there was no entry in the 90 minutes before that point. Such points are skipped.
    private func isSilent(at point: Instant) -> Bool {
        let last = logs.reduce(session.startTime) { $1.timestamp <= point ? max($0, $1.timestamp) : $0 }
        return last.seconds(to: point) >= 90 * 60
    }

    /// The next reminder if nothing more is logged; `nil` if reminders are off, or nothing was logged for 90 minutes.
    var nextReminder: Instant? {
        guard settings.timeReminders, session.isActive else { return nil }
        let next = grid.nextPoint(after: now)
        return isSilent(at: next) ? nil : next
    }

    /// Whole hours since the start of an abandoned session; otherwise `nil`.
    var abandonedHours: Int? {
        AbandonedSession.hours(start: session.startTime, keepGoingAt: state.keepGoingAt, now: now)
    }

    /// The kinds that no longer apply, and those with the same text as a new notification.
    var kindsToClose: [NotificationKind] {
        let lastWater = logs.filter { $0.kind == .water }.map(\.timestamp).max()
        let isOver: [(kind: NotificationKind, isOver: Bool)] = [
            (.waterlineTime, lastWater.map { water in state.lastSlot.map { water >= $0 } ?? false } ?? false),
            (.waterlinePerDrink, waterlineState.sinceWater < settings.waterEveryNDrinks),
            (.waterlineWarning, !waterlineState.isWarning), (.waterlineAbandoned, abandonedHours == nil),
        ]
        let sameText: Set<NotificationKind> = settings.discreet ? [.waterlinePerDrink, .waterlineWarning] : []
        let next = decisions.filter { sameText.contains($0.kind) }.max { $0.urgency.rawValue < $1.urgency.rawValue }
        let replaced = next.map { sameText.subtracting([$0.kind]) } ?? []
        return isOver.filter { $0.isOver || replaced.contains($0.kind) }.map(\.kind)
    }

    private mutating func decideTimeReminder() {
        state.restartGrid(at: now, intervalMinutes: settings.intervalMinutes)
        let point = grid.point(at: now)
        let isSent = holds(
            .waterlineTime,
            [
                ReminderGuard(.timeRemindersOn, settings.timeReminders),
                ReminderGuard(.gridPointReached, point.map { $0 > session.startTime } ?? false),
                ReminderGuard(.gridPointNotSent, point.flatMap { point in state.lastSlot.map { point > $0 } } ?? true),
                ReminderGuard(.stillLogging, point.map { !isSilent(at: $0) } ?? true),
            ])
        guard let point, point > state.lastSlot ?? session.startTime else { return }
        // A grid point without a notification, for example in silence, counts as handled.
        guard isSent else { return state.lastSlot = point }
        decide(.waterlineTime, NotificationTexts.waterlineTime, .waterlineTime(slot: point))
    }

    private mutating func decidePerDrinkReminder() {
        let newest = logs.reduce(0) { $1.kind == .alcohol ? max($0, $1.seq) : $0 }
        let isSent = holds(
            .waterlinePerDrink,
            [
                ReminderGuard(.drinkLogged, newest > state.lastDrinkSeq),
                ReminderGuard(.waterDue, waterlineState.sinceWater >= settings.waterEveryNDrinks),
            ])
        guard isSent else {
            if newest > state.lastDrinkSeq { state.lastDrinkSeq = newest }
            return
        }
        let text = NotificationTexts.perDrink(sinceWater: waterlineState.sinceWater, discreet: settings.discreet)
        decide(.waterlinePerDrink, text, .perDrink(seq: newest))
    }

    /// Detects a crossing of the threshold from below, first by edits and deletions, then entry by entry. So several
    /// logs between two evaluations do not hide a crossing.
    private mutating func decideWarning() {
        let threshold = settings.warningThreshold
        let isKnown = { [last = state.lastValueSeq] (log: LogEntry) in log.source == .bottle || log.seq <= last }
        var value = logs.reduce(0) { isKnown($1) ? $0 + Self.change($1) : $0 }
        var crossed =
            !WaterlineState.isHigh(state.lastValueThousandths, threshold: threshold)
            && WaterlineState.isHigh(value, threshold: threshold)
        var newest = state.lastValueSeq
        for log in logs.filter({ !isKnown($0) }).sorted(by: { $0.seq < $1.seq }) {
            let before = value
            value += Self.change(log)
            newest = max(newest, log.seq)
            if !WaterlineState.isHigh(before, threshold: threshold), WaterlineState.isHigh(value, threshold: threshold)
            {
                crossed = true
            }
        }
        guard
            holds(
                .waterlineWarning,
                [ReminderGuard(.thresholdCrossed, crossed), ReminderGuard(.valueHigh, waterlineState.isWarning)])
        else {
            (state.lastValueThousandths, state.lastValueSeq) = (value, newest)
            return
        }
        let text = NotificationTexts.warning(discreet: settings.discreet)
        decide(.waterlineWarning, text, .warning(valueThousandths: value, seq: newest))
    }

    private static func change(_ log: LogEntry) -> Int { log.kind == .water ? -1000 : log.thousandths }

    private mutating func decideQuestion() {
        let conditions = [
            ReminderGuard(.openForLong, abandonedHours != nil),
            ReminderGuard(.questionNotSent, !state.abandonedNotified),
        ]
        guard holds(.waterlineAbandoned, conditions), let hours = abandonedHours else { return }
        decide(.waterlineAbandoned, NotificationTexts.abandoned(hours: hours), .abandoned)
    }

    private mutating func decideResident() {
        let text = NotificationTexts.live(
            waterlineState, nextReminder: nextReminder.map(calendar.timeOfDay), discreet: settings.discreet)
        let liveText = text.title + "\n" + text.body
        guard liveText != state.lastLiveText else { return }
        decide(.waterlineLive, text, .live(text: liveText))
    }

    private mutating func holds(_ kind: NotificationKind, _ conditions: [ReminderGuard]) -> Bool {
        guards[kind] = [ReminderGuard(.sessionRuns, true)] + conditions
        return conditions.allSatisfy(\.holds)
    }

    private mutating func decide(
        _ kind: NotificationKind, _ text: NotificationTexts.Text, _ acceptance: TrackerNotification.Acceptance
    ) {
        let number = state.sent[kind.id, default: 0].saturatingAdd(1)
        decisions.append(
            TrackerNotification(
                kind: kind, notificationId: "\(kind.id)/\(session.id)/\(number)", title: text.title, body: text.body,
                urgency: kind.urgency(for: nil, settings: settings), sound: settings.sound && !kind.isResident,
                dayKey: calendar.day(of: now), sessionID: session.id, acceptance: acceptance,
                isDiscreet: settings.discreet))
    }
}
