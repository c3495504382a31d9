/// Sentences for a reminder's conditions: the current fact, and what would change it.
struct ReminderWords {
    let hydration: HydrationReminders
    let waterline: WaterlineReminders?
    let calendar: DayCalendar

    func condition(_ found: ReminderGuard, of kind: NotificationKind) -> Explanation.Condition {
        let (fact, change) = waterline.flatMap { words(found, $0) } ?? words(found, kind)
        return Explanation.Condition(name: found.name, holds: found.holds, fact: fact, change: change)
    }

    private var settings: Settings { hydration.settings }
    private var pace: PaceSnapshot { hydration.pace }

    private func time(_ instant: Instant) -> String { String(calendar.zone.wall(at: instant).timeText.prefix(5)) }
    private func ml(_ amount: Int) -> String { settings.amountUnits.text(amount) }

    private func words(_ found: ReminderGuard, _ kind: NotificationKind) -> (fact: String, change: String) {
        let holds = found.holds
        switch found.name {
        case .remindersOn:
            return (
                "Reminders are \(holds ? "on" : "off") (reminders.enabled).",
                "Switch reminders.enabled \(holds ? "off" : "on")."
            )
        case .goalOpen, .goalReached:
            let isReached = pace.isGoalAchieved
            return (
                """
                \(ml(pace.dailyTotalMl)) of \(ml(pace.dailyGoalMl)): the goal is \
                \(isReached ? "reached" : "not reached yet").
                """,
                isReached ? "A higher goal, a drink taken back, or the next day." : "\(ml(hydration.remainingMl)) more."
            )
        case .activeHours:
            let hours = "\(settings.wake) to \(settings.sleep)"
            return (
                "It is \(time(hydration.now)); reminders come from \(hours) (schedule.wake, schedule.sleep).",
                holds ? "Quiet hours, from \(settings.sleep) on." : "Active hours, from \(settings.wake) on."
            )
        case .notSnoozed:
            guard let until = hydration.snoozedUntil else {
                return ("Reminders are not paused.", "A pause: waterh-tracker snooze.")
            }
            return ("Reminders are paused until \(time(until)).", "The end of the pause.")
        case .setupFinished:
            return holds
                ? ("Setup is finished.", "A store without setup.")
                : ("Setup is not finished.", "Finish it on the page, or with: waterh-tracker setup.")
        case .firstPollEnded:
            return holds
                ? ("The service has polled since it started.", "A restart of the service.")
                : ("No poll has ended since the service started.", "The end of the first poll.")
        case .engineChosen:
            return (
                "reminders.engine is \(settings.engine.rawValue).",
                holds ? "Another reminders.engine." : "reminders.engine as \(kind.rawValue), or as all."
            )
        case .underDailyLimit:
            guard settings.dailyLimit else {
                return ("No number of reminders a day is set (reminders.dailyLimit).", "reminders.dailyLimit on.")
            }
            return (
                """
                \(hydration.state.remindersSent) of \(settings.maxPerDay) reminders of this day were told \
                (reminders.maxPerDay).
                """,
                holds
                    ? "\(settings.maxPerDay - hydration.state.remindersSent) more that are told."
                    : "A higher reminders.maxPerDay, or the next day."
            )
        case .noOtherWord:
            return (
                holds
                    ? "Nothing that matters more is told at the same moment."
                    : "Something that matters more is told at the same moment.",
                holds ? "Something that matters more." : "A moment at which nothing else is told."
            )
        case .behindPace, .onPace:
            let isBehind = pace.urgency > .onTrack
            return (
                "\(ml(pace.dailyTotalMl)) were drunk, \(ml(pace.expectedMl)) were expected by now: "
                    + (isBehind ? "\(ml(pace.deficitMl)) behind (\(pace.urgency.colour))." : "on pace."),
                isBehind ? "A drink of \(ml(pace.deficitMl))." : "Time without a drink."
            )
        case .urgencyRisen:
            guard let last = hydration.state.lastNotified else {
                return ("Nothing was told since the day was on pace.", "A reminder that is told.")
            }
            let next =
                last == .overdue
                ? "Only once the day was on pace again, it comes again."
                : "It comes again in red, or once the day was on pace again."
            return (
                "The last reminder of this day said \(last.colour); now it is \(pace.urgency.colour).",
                holds ? "A reminder that is told." : next
            )
        case .deficitLargeEnough:
            guard pace.urgency > .onTrack else {
                return (
                    "On pace it is not asked how much is missing (reminders.minDeficitMl).",
                    "A day that is less than \(ml(settings.minDeficitMl)) behind."
                )
            }
            // The displayed deficit is rounded to 50 ml, the deciding one is not (K-B5): mention both.
            let (raw, shown) = (ml(pace.deficitMl), settings.amountUnits.behind(pace.deficitMl))
            return (
                """
                \(raw) behind\(holds || shown == raw ? "" : ", rounded to \(shown) where it is shown"); a reminder \
                comes from \(ml(settings.minDeficitMl)) on (reminders.minDeficitMl).
                """,
                holds
                    ? "A drink, or a higher reminders.minDeficitMl."
                    : "Time without a drink, or a lower reminders.minDeficitMl."
            )
        case .drinkDue: return drinkDue
        case .drinkUntold:
            return (
                holds ? "That was not told yet." : "That was told already: once for each drink.",
                holds ? "A reminder that is told." : "The next drink."
            )
        case .pauseLongEnough:
            let hours = "\(Amounts.decimal(settings.adaptiveIntervalHours)) h"
            let range = "\(time(hydration.adaptive.start)) to \(time(hydration.adaptive.end))"
            let last = hydration.lastDrink.map { "The last drink was at \(time($0))" } ?? "Nothing was drunk today"
            let next =
                hydration.adaptive.nextFiring(after: hydration.now, lastDrink: hydration.lastDrink).map {
                    "No drink until \(time($0))."
                } ?? "The next day's hours."
            return (
                "\(last); a reminder comes every \(hours) without a drink, from \(range) (adaptive.intervalHours).",
                holds ? "A drink." : next
            )
        case .pauseUntold:
            return (
                holds
                    ? "That was not told yet."
                    : "That was told already: once every \(Amounts.decimal(settings.adaptiveIntervalHours)) h.",
                holds
                    ? "A reminder that is told."
                    : "The next \(Amounts.decimal(settings.adaptiveIntervalHours)) h without a drink."
            )
        case .goalUntold:
            return (
                holds
                    ? "That was not told on this day."
                    : "That was told on this day already, or reminders were off when the goal was reached.",
                holds ? "A word that is told." : "The next day."
            )
        case .recovered:
            return (
                holds
                    ? "A drink brought the day back on pace after a reminder."
                    : "No drink has brought the day back on pace since the last reminder, or that was told already.",
                holds
                    ? "The word is told, or the day falls behind again."
                    : "A reminder, and then a drink that makes up for it."
            )
        case .backOnTrackOn:
            return (
                "reminders.backOnTrack is \(holds ? "on" : "off").",
                "Switch reminders.backOnTrack \(holds ? "off" : "on")."
            )
        case .sessionRuns: return ("No Waterline session runs.", "Start one.")
        case .timeRemindersOn, .gridPointCome, .gridPointUntold, .stillLogging, .drinkLogged, .waterOwed,
            .thresholdCrossed, .valueHigh, .openForLong, .questionUnasked:
            return ("No Waterline session runs.", "Start one.")
        }
    }

    private var drinkDue: (fact: String, change: String) {
        let next = hydration.nextDrink
        return switch next.phase {
        case .alerting: ("A drink is due since \(next.due.map(time) ?? "now").", "A drink.")
        case .counting: ("The next drink is due at \(next.due.map(time) ?? "--").", "No drink until then.")
        case .outsideHours:
            (
                """
                It is \(time(hydration.now)); drinks are spaced from \(settings.intervalHours.wake) to \
                \(settings.intervalHours.sleep).
                """,
                "Those hours."
            )
        case .goalReached:
            ("The goal is reached: nothing more is due.", "A higher goal, a drink taken back, or the next day.")
        }
    }

    /// `nil` for conditions outside Waterline.
    private func words(_ found: ReminderGuard, _ session: WaterlineReminders) -> (fact: String, change: String)? {
        let holds = found.holds
        let every = "every \(session.state.gridIntervalMinutes) min"
        switch found.name {
        case .sessionRuns:
            guard holds else { return nil }
            return ("A session runs since \(time(session.session.startTime)).", "End it.")
        case .timeRemindersOn:
            return (
                "Reminders by time are \(holds ? "on" : "off") (waterline.timeReminders).",
                "Switch waterline.timeReminders \(holds ? "off" : "on")."
            )
        case .gridPointCome, .gridPointUntold:
            let next = time(session.grid.nextPoint(after: session.now))
            let point =
                session.grid.point(at: session.now).map { "the last one was at \(time($0))" }
                ?? "the first one is at \(next)"
            let told =
                found.name == .gridPointCome ? "" : holds ? ", and was not told" : ", and was told or passed in silence"
            return (
                "They come \(every) (waterline.intervalMinutes); \(point)\(told).",
                holds ? "A reminder that is told." : "The next one is at \(next)."
            )
        case .stillLogging:
            return (
                holds
                    ? "Something was logged in the 90 minutes before."
                    : "Nothing was logged for 90 minutes: the session may be over.",
                holds ? "90 minutes without an entry." : "An entry."
            )
        case .drinkLogged:
            return (
                holds ? "A drink was logged since the last reminder." : "No drink was logged since the last reminder.",
                holds ? "A reminder that is told." : "A drink."
            )
        case .waterOwed:
            return (
                """
                \(counted(session.engine.sinceWater, "drink")) since the last water; one is due after \
                \(settings.waterEveryNDrinks) (waterline.waterEveryNDrinks).
                """,
                holds
                    ? "A water."
                    : "\(counted(max(1, settings.waterEveryNDrinks - session.engine.sinceWater), "more drink"))."
            )
        case .thresholdCrossed:
            return (
                holds
                    ? "The value came to the warning's threshold since the last look."
                    : "The value did not come to the warning's threshold since the last look.",
                holds ? "A warning that is told." : "A value that is below it, and then drinks."
            )
        case .valueHigh:
            return (
                """
                The value is \(Amounts.decimal(session.engine.value)); the warning begins at \
                \(settings.warningThreshold) (waterline.warningThreshold).
                """,
                holds ? "A water." : "Drinks without water, or a lower waterline.warningThreshold."
            )
        case .openForLong:
            return (
                """
                The session runs since \
                \(time(session.session.startTime))\
                \(session.state.keepGoingAt.map { " and was told to go on at \(time($0))" } ?? ""); \
                after 12 h it is asked about.
                """,
                holds ? "Let it go on, or end it." : "12 h."
            )
        case .questionUnasked:
            return (
                holds ? "It was not asked about yet." : "It was asked about already.",
                holds ? "A question that is told." : "Let it go on: then it is asked again after 12 h."
            )
        default:
            return nil
        }
    }
}
