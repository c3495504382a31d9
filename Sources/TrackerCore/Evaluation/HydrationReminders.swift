/// The hydration reminders at one moment (tracker spec B4, B5, X2). One engine replaces the three of the original
/// requirements, with one id, one daily limit, one pair of quiet hours and one goal notification.
struct HydrationReminders {
    let now: Instant
    let settings: Settings
    let pace: PaceSnapshot
    let nextDrink: NextDrink
    let lastDrink: Instant?
    let adaptive: AdaptiveReminder
    let activeHours: Pace.Window
    let isQuiet: Bool
    let reminderHold: ReminderHold?
    /// The end of the user's pause; `nil` without one.
    let snoozedUntil: Instant?
    /// The state to save. It includes changes without a notification: falling urgency, the goal flag, the last total.
    private(set) var state: EngineDay
    private(set) var decisions: [TrackerNotification] = []
    private(set) var idsToClose: [String] = []
    private(set) var guards: [NotificationKind: [ReminderGuard]] = [:]

    init(now: Instant, facts: TrackerFacts) {
        let intake = facts.today(at: now)
        self.now = now
        settings = facts.settings
        pace = PaceSnapshot(now: now, intake: intake, settings: facts.settings, calendar: facts.calendar)
        nextDrink = NextDrink(facts: facts, intake: intake, now: now)
        lastDrink = pace.lastDrinkTime
        adaptive = AdaptiveReminder(facts: facts, now: now)
        activeHours = Pace.Window(
            now: now, calendar: facts.calendar, wake: facts.settings.wake, sleep: facts.settings.sleep)
        isQuiet = !activeHours.contains(now)
        reminderHold = facts.reminderHold
        snoozedUntil = facts.snoozedUntil.flatMap { $0 > now ? $0 : nil }
        state = (facts.engineDay ?? EngineDay(dayKey: pace.dayKey)).state(on: pace.dayKey)
        decide()
        state.lastTotalMl = pace.dailyTotalMl
    }

    /// Decides on each kind in the order of tracker spec B4.
    private mutating func decide() {
        if pace.isGoalAchieved {
            (state.lastNotified, state.recoveryIsDue) = (nil, nil)
        } else {
            lowerUrgency()
        }
        if snoozedUntil != nil || pace.isGoalAchieved || pace.urgency == .onTrack && nextDrink.phase != .alerting {
            idsToClose.append(NotificationKind.pace.id)
        }
        if !pace.isGoalAchieved { idsToClose.append(NotificationKind.goal.id) }
        if pace.urgency > .onTrack { idsToClose.append(NotificationKind.recovery.id) }
        decideGoal()
        decideRecovery()
        decideReminder(.pace, .pace(pace.urgency)) {
            NotificationTexts.pace($0.pace.urgency, deficitMl: $0.pace.deficitMl, in: $0.settings.amountUnits)
        }
        decideReminder(.interval, .interval) { _ in NotificationTexts.interval }
        decideReminder(.adaptive, .adaptive) { reminders in
            reminders.adaptive.displayedPace(remainingMl: reminders.remainingMl, at: reminders.now).map {
                NotificationTexts.adaptive(mlPerHour: $0, in: reminders.settings.amountUnits)
            }
        }
    }

    /// Decides the goal notification: once a day, even in quiet hours, because the user has just logged a drink
    /// (K-B19). The flag is set when a channel accepts, or at once if reminders are off.
    private mutating func decideGoal() {
        if holds(.goal, goalGuards) { return add(.goal, NotificationTexts.goal, number: 1, .goal) }
        if pace.isGoalAchieved, !settings.remindersEnabled { state.goalNotified = true }
    }

    /// Lowers the last notified urgency to the current one: a fall from red to amber allows red again (K-B11). If a
    /// drink brought the day back on pace, a notification is due until a channel accepts it.
    private mutating func lowerUrgency() {
        guard let notified = state.lastNotified, pace.urgency < notified else { return }
        state.lastNotified = pace.urgency == .onTrack ? nil : pace.urgency
        if pace.dailyTotalMl > state.lastTotalMl { state.recoveryIsDue = true }
    }

    private mutating func decideRecovery() {
        if holds(.recovery, recoveryGuards) {
            return add(.recovery, NotificationTexts.recovery, number: state.backOnTrackSent.saturatingAdd(1), .recovery)
        }
        // The notification no longer applies, or the setting is off.
        if state.recoveryIsDue == true { state.recoveryIsDue = nil }
    }

    private mutating func decideReminder(
        _ kind: NotificationKind, _ acceptance: TrackerNotification.Acceptance,
        _ text: (Self) -> NotificationTexts.Text?
    ) {
        guard holds(kind, reminderGuards(kind)), let text = text(self) else { return }
        add(kind, text, number: state.remindersSent.saturatingAdd(1), acceptance)
    }

    /// Checks and stores the conditions of a kind. Returns whether all hold.
    private mutating func holds(_ kind: NotificationKind, _ conditions: [ReminderGuard]) -> Bool {
        guards[kind] = conditions
        return conditions.allSatisfy(\.holds)
    }

    /// The interval engine's anchor while it alerts.
    var dueAnchor: Instant? { nextDrink.isAlerting ? nextDrink.anchor : nil }

    /// The adaptive engine's latest reminder time.
    var dueSlot: Instant? { adaptive.latestTime(at: now, lastDrink: lastDrink) }

    var remainingMl: Int { pace.dailyGoalMl - pace.dailyTotalMl }

    private mutating func add(
        _ kind: NotificationKind, _ text: NotificationTexts.Text, number: Int,
        _ acceptance: TrackerNotification.Acceptance
    ) {
        decisions.append(
            TrackerNotification(
                kind: kind, notificationId: "\(kind.id)/\(pace.dayKey)/\(number)", title: text.title, body: text.body,
                urgency: kind.urgency(for: pace.urgency, settings: settings), sound: settings.sound,
                dayKey: pace.dayKey,
                acceptance: acceptance, answeredAnchor: dueAnchor, answeredSlot: dueSlot))
    }
}

extension AdaptiveReminder {
    init(facts: TrackerFacts, now: Instant) {
        let day = facts.calendar.day(of: now)
        let hours = facts.settings.adaptiveHours
        self.init(
            start: facts.calendar.instant(on: day, at: hours.start),
            end: facts.calendar.instant(on: day, at: hours.end),
            intervalHours: facts.settings.adaptiveIntervalHours)
    }
}
