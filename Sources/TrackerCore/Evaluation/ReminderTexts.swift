/// Sentences for a reminder's conditions: the current fact, and what would change it.
struct ReminderTexts {
    let hydration: HydrationReminders
    let waterline: WaterlineReminders?
    let calendar: DayCalendar

    func condition(_ found: ReminderGuard, of kind: NotificationKind) -> Explanation.Condition {
        let (fact, change) = waterline.flatMap { sentences(found, $0) } ?? sentences(found, kind)
        return Explanation.Condition(name: found.name, holds: found.holds, fact: fact, change: change)
    }

    private var settings: Settings { hydration.settings }
    private var pace: PaceSnapshot { hydration.pace }

    private func time(_ instant: Instant) -> String { String(calendar.zone.wall(at: instant).timeText.prefix(5)) }
    private func ml(_ amount: Int) -> String { settings.amountUnits.text(amount) }

    private func sentences(_ found: ReminderGuard, _ kind: NotificationKind) -> (fact: String, change: String) {
        let holds = found.holds
        switch found.name {
        case .remindersOn:
            return (
                "Reminders are \(holds ? "on" : "off") (reminders.enabled).",
                "Switch reminders.enabled \(holds ? "off" : "on")."
            )
        case .goalOpen, .goalReached:
            let isReached = pace.isGoalAchieved
            let amounts = "\(ml(pace.dailyTotalMl)) of \(ml(pace.dailyGoalMl))"
            return isReached
                ? ("\(amounts): the goal is reached.", "A higher goal, a drink that you undo, or the next day.")
                : ("\(amounts): the goal is not reached yet.", "\(ml(hydration.remainingMl)) more.")
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
                : ("Setup is not finished.", "Finish setup on the page, or with: waterh-tracker setup.")
        case .firstPollEnded:
            return holds
                ? ("The service has polled since it started.", "A restart of the service.")
                : ("No poll has ended since the service started.", "The end of the first poll.")
        case .engineChosen:
            return (
                "reminders.engine is \(settings.engine.rawValue).",
                holds ? "Another reminders.engine." : "Set reminders.engine to \(kind.rawValue) or all."
            )
        case .underDailyLimit:
            guard settings.dailyLimit else {
                return ("Reminders have no daily limit (reminders.dailyLimit).", "Switch reminders.dailyLimit on.")
            }
            return (
                """
                \(hydration.state.remindersSent) of \(settings.maxPerDay) reminders of this day were sent \
                (reminders.maxPerDay).
                """,
                holds
                    ? "\(settings.maxPerDay - hydration.state.remindersSent) more reminders today."
                    : "A higher reminders.maxPerDay, or the next day."
            )
        case .noOtherNotification:
            return holds
                ? ("No more important notification is due now.", "A more important notification.")
                : ("A more important notification is due now.", "A time when no other notification is due.")
        case .behindPace, .onPace:
            let isBehind = pace.urgency > .onTrack
            return (
                "\(ml(pace.dailyTotalMl)) were drunk, \(ml(pace.expectedMl)) were expected by now: "
                    + (isBehind ? "\(ml(pace.deficitMl)) behind (\(pace.urgency.colour))." : "on pace."),
                isBehind ? "A drink of \(ml(pace.deficitMl))." : "Time without a drink."
            )
        case .urgencyRisen:
            guard let last = hydration.state.lastNotified else {
                return ("No reminder was sent since the day was on pace.", "A reminder.")
            }
            let next =
                last == .overdue
                ? "It is sent again only after the day was on pace."
                : "It is sent again in red, or after the day was on pace."
            return (
                "The last reminder of this day said \(last.colour); now it is \(pace.urgency.colour).",
                holds ? "A reminder." : next
            )
        case .deficitLargeEnough:
            guard pace.urgency > .onTrack else {
                return (
                    "While the day is on pace, the deficit is not checked (reminders.minDeficitMl).",
                    "A day that is less than \(ml(settings.minDeficitMl)) behind."
                )
            }
            // The displayed deficit is rounded to 50 ml, the deciding one is not (K-B5), so mention both.
            let (raw, shown) = (ml(pace.deficitMl), settings.amountUnits.spacedDeficit(pace.deficitMl))
            return (
                """
                \(raw) behind\(holds || shown == raw ? "" : ", shown as \(shown)"); reminders start \
                at \(ml(settings.minDeficitMl)) (reminders.minDeficitMl).
                """,
                holds
                    ? "A drink, or a higher reminders.minDeficitMl."
                    : "Time without a drink, or a lower reminders.minDeficitMl."
            )
        case .drinkDue: return drinkDue
        case .intervalNotSent:
            return holds
                ? ("It was not sent yet.", "A reminder.")
                : ("It was already sent: once for each drink.", "The next drink.")
        case .pauseLongEnough:
            let hours = "\(Amounts.decimal(settings.adaptiveIntervalHours)) h"
            let range = "\(time(hydration.adaptive.start)) to \(time(hydration.adaptive.end))"
            let last = hydration.lastDrink.map { "The last drink was at \(time($0))" } ?? "Nothing was drunk today"
            let next =
                hydration.adaptive.nextTime(after: hydration.now, lastDrink: hydration.lastDrink).map {
                    "No drink until \(time($0))."
                } ?? "The next day's hours."
            return (
                "\(last); a reminder comes every \(hours) without a drink, from \(range) (adaptive.intervalHours).",
                holds ? "A drink." : next
            )
        case .adaptiveNotSent:
            let interval = "\(Amounts.decimal(settings.adaptiveIntervalHours)) h"
            return holds
                ? ("It was not sent yet.", "A reminder.")
                : ("It was already sent: once every \(interval).", "The next \(interval) without a drink.")
        case .goalNotSent:
            return holds
                ? ("It was not sent on this day.", "This notification.")
                : ("It was already sent on this day, or reminders were off when the goal was reached.", "The next day.")
        case .recovered:
            return holds
                ? (
                    "A drink brought the day back on pace after a reminder.",
                    "This notification, or a day that falls behind again."
                )
                : (
                    "No drink has brought the day back on pace since the last reminder, or it was already sent.",
                    "A reminder, then a drink that catches up."
                )
        case .backOnTrackOn:
            return (
                "reminders.backOnTrack is \(holds ? "on" : "off").",
                "Switch reminders.backOnTrack \(holds ? "off" : "on")."
            )
        case .sessionRuns, .timeRemindersOn, .gridPointReached, .gridPointNotSent, .stillLogging, .drinkLogged,
            .waterDue,
            .thresholdCrossed, .valueHigh, .openForLong, .questionNotSent:
            return ("No Waterline session is running.", "Start a session.")
        }
    }

    private var drinkDue: (fact: String, change: String) {
        let next = hydration.nextDrink
        return switch next.phase {
        case .alerting: ("A drink has been due since \(next.due.map(time) ?? "now").", "A drink.")
        case .counting: ("The next drink is due at \(next.due.map(time) ?? "--").", "No drink until then.")
        case .outsideHours:
            (
                """
                It is \(time(hydration.now)); drinks are spaced from \(settings.intervalHours.wake) to \
                \(settings.intervalHours.sleep).
                """,
                "A time within these hours."
            )
        case .goalReached:
            ("The goal is reached: nothing more is due.", "A higher goal, a drink that you undo, or the next day.")
        }
    }

    /// The sentences for a condition; `nil` for conditions outside Waterline.
    private func sentences(_ found: ReminderGuard, _ session: WaterlineReminders) -> (fact: String, change: String)? {
        let holds = found.holds
        let every = "every \(session.state.gridIntervalMinutes) min"
        switch found.name {
        case .sessionRuns:
            guard holds else { return nil }
            return ("A session has been running since \(time(session.session.startTime)).", "End the session.")
        case .timeRemindersOn:
            return (
                "Reminders by time are \(holds ? "on" : "off") (waterline.timeReminders).",
                "Switch waterline.timeReminders \(holds ? "off" : "on")."
            )
        case .gridPointReached, .gridPointNotSent:
            let next = time(session.grid.nextPoint(after: session.now))
            let point =
                session.grid.point(at: session.now).map { "the last one was at \(time($0))" }
                ?? "the first one is at \(next)"
            let status =
                found.name == .gridPointReached ? "" : holds ? ", and was not sent" : ", and was sent or skipped"
            return (
                "A reminder is due \(every) (waterline.intervalMinutes); \(point)\(status).",
                holds ? "A reminder." : "Wait until \(next)."
            )
        case .stillLogging:
            return holds
                ? ("Something was logged in the 90 minutes before.", "90 minutes without an entry.")
                : ("Nothing was logged for 90 minutes: the session might be over.", "An entry.")
        case .drinkLogged:
            return holds
                ? ("A drink was logged since the last reminder.", "A reminder.")
                : ("No drink was logged since the last reminder.", "A drink.")
        case .waterDue:
            let sinceWater = session.waterlineState.sinceWater
            return (
                """
                \(counted(sinceWater, "drink")) since the last water; one is due after \
                \(settings.waterEveryNDrinks) (waterline.waterEveryNDrinks).
                """,
                holds
                    ? "A water."
                    : "\(counted(max(1, settings.waterEveryNDrinks - sinceWater), "more drink"))."
            )
        case .thresholdCrossed:
            return holds
                ? ("The value reached the warning threshold since the last check.", "A warning.")
                : (
                    "The value did not reach the warning threshold since the last check.",
                    "A value below the threshold, then more drinks."
                )
        case .valueHigh:
            return (
                """
                The value is \(Amounts.decimal(session.waterlineState.value)); the warning starts at \
                \(settings.warningThreshold) (waterline.warningThreshold).
                """,
                holds ? "A water." : "Drinks without water, or a lower waterline.warningThreshold."
            )
        case .openForLong:
            return (
                """
                The session has been running since \
                \(time(session.session.startTime))\
                \(session.state.keepGoingAt.map { " and was continued at \(time($0))" } ?? ""); \
                the question is sent after 12 h.
                """,
                holds ? "Continue the session, or end it." : "Wait until 12 h have passed."
            )
        case .questionNotSent:
            return holds
                ? ("The question was not sent yet.", "The question.")
                : ("The question was already sent.", "Continue the session: the question is sent again after 12 h.")
        default:
            return nil
        }
    }
}
