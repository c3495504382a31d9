/// The hydration reminders of one moment (tracker law B4, B5, X2): one engine for the three that the founding
/// documents bring, with one id, one daily limit, one pair of quiet hours and one congratulation.
struct HydrationReminders {
    let now: Instant
    let settings: Settings
    let pace: PaceSnapshot
    let nextDrink: NextDrink
    let lastDrink: Instant?
    let adaptive: AdaptiveReminder
    let isQuiet: Bool
    /// Moves on with what needs no acceptance: falling urgency, the goal's flag, the total seen.
    private(set) var state: EngineDay
    private(set) var decisions: [TrackerNotification] = []
    /// Ids of notifications that no longer say what is so.
    private(set) var closes: [String] = []

    init(now: Instant, facts: TrackerFacts, pace: PaceSnapshot, nextDrink: NextDrink) {
        self.now = now
        settings = facts.settings
        self.pace = pace
        self.nextDrink = nextDrink
        lastDrink = pace.lastDrinkTime
        adaptive = AdaptiveReminder(facts: facts, now: now)
        isQuiet = !Pace.Window(
            now: now, calendar: facts.calendar, wake: facts.settings.wake, sleep: facts.settings.sleep
        ).contains(now)
        state = (facts.engineDay ?? EngineDay(dayKey: pace.dayKey)).rolled(to: pace.dayKey)
        decide()
        state.lastTotalMl = pace.dailyTotalMl
    }

    /// In the order of B4.
    private mutating func decide() {
        if pace.isGoalAchieved {
            (state.lastNotified, state.recoveryIsDue) = (nil, nil)
            closes.append(NotificationKind.pace.id)
            reachedGoal()
            return
        }
        recover()
        if pace.urgency == .onTrack, nextDrink.phase != .alerting { closes.append(NotificationKind.pace.id) }
        guard settings.remindersEnabled, !isQuiet, decisions.isEmpty,
            !settings.dailyLimit || state.remindersSent < settings.maxPerDay
        else { return }
        let engine = settings.engine
        if engine == .pace || engine == .all { behindPace() }
        if decisions.isEmpty, engine == .interval || engine == .all { drinkDue() }
        if decisions.isEmpty, engine == .adaptive || engine == .all { notDrunkForLong() }
    }

    /// Once a day, also in quiet hours: the user has just acted (K-B19). The flag is set when a sink accepted, and at
    /// once when reminders are off. So a command that logs the last drink and has nobody to tell leaves the word to
    /// the service.
    private mutating func reachedGoal() {
        guard !state.goalNotified else { return }
        guard settings.remindersEnabled else {
            state.goalNotified = true
            return
        }
        add(.goal, NotificationTexts.goal, number: 1, .goal)
    }

    /// Urgency below the last notified one lowers it to the current: red to amber re-arms red only (K-B11). When a
    /// drink, not the clock, brought it on track, that is worth a word to those who want it: it is due until somebody
    /// heard it, because the evaluation that saw the drink may have had nobody to tell.
    private mutating func recover() {
        if let notified = state.lastNotified, pace.urgency < notified {
            state.lastNotified = pace.urgency == .onTrack ? nil : pace.urgency
            if pace.dailyTotalMl > state.lastTotalMl { state.recoveryIsDue = true }
        }
        guard state.recoveryIsDue == true else { return }
        // Once it is no longer so, or nobody wants to hear it, there is nothing left to say.
        guard pace.urgency == .onTrack, settings.backOnTrack, settings.remindersEnabled, !isQuiet else {
            state.recoveryIsDue = nil
            return
        }
        add(.recovery, NotificationTexts.recovery, number: state.backOnTrackSent.saturatingAdd(1), .recovery)
    }

    private mutating func behindPace() {
        guard pace.urgency > state.lastNotified ?? .onTrack, pace.deficitMl >= settings.minDeficitMl else { return }
        let text = NotificationTexts.pace(pace.urgency, deficitMl: pace.deficitMl)
        add(.pace, text, number: state.remindersSent.saturatingAdd(1), .pace(pace.urgency))
    }

    private mutating func drinkDue() {
        guard let anchor = dueAnchor, anchor != state.lastDueAnchor else { return }
        add(.interval, NotificationTexts.interval, number: state.remindersSent.saturatingAdd(1), .interval)
    }

    private mutating func notDrunkForLong() {
        let remaining = pace.dailyGoalMl - pace.dailyTotalMl
        guard let slot = dueSlot, slot > state.lastAdaptiveSlot ?? adaptive.start,
            let shown = adaptive.shownPace(remainingMl: remaining, at: now)
        else { return }
        add(.adaptive, NotificationTexts.adaptive(mlPerHour: shown), number: state.remindersSent.saturatingAdd(1), .adaptive)
    }

    /// The interval engine's anchor while it alerts: one reminder an anchor.
    private var dueAnchor: Instant? { nextDrink.isAlerting ? nextDrink.anchor : nil }

    /// The adaptive engine's latest firing.
    private var dueSlot: Instant? { adaptive.firing(at: now, lastDrink: lastDrink) }

    private mutating func add(
        _ kind: NotificationKind, _ text: NotificationTexts.Text, number: Int, _ acceptance: TrackerNotification.Acceptance
    ) {
        decisions.append(
            TrackerNotification(
                kind: kind, notificationId: "\(kind.id)/\(pace.dayKey)/\(number)", title: text.title, body: text.body,
                urgency: kind.urgency(for: pace.urgency, settings: settings), sound: settings.sound, dayKey: pace.dayKey,
                acceptance: acceptance, answeredAnchor: dueAnchor, answeredSlot: dueSlot))
    }
}

extension AdaptiveReminder {
    /// The adaptive reminder of the day that runs at that moment.
    init(facts: TrackerFacts, now: Instant) {
        let day = facts.calendar.day(of: now)
        let hours = facts.settings.adaptiveHours
        self.init(
            start: facts.calendar.instant(on: day, at: hours.start), end: facts.calendar.instant(on: day, at: hours.end),
            intervalHours: facts.settings.adaptiveIntervalHours)
    }
}
