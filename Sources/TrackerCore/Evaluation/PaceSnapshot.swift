/// The pace payload (tracker spec B7): the state of the day. `shouldNotify` is `false` in every retained or
/// polled copy; only the one-shot topic carries a notification.
package struct PaceSnapshot: Hashable, Sendable {
    package static let schema = 1

    /// The day of the total: `2026-06-15`.
    package var dayKey: LocalDay
    package var timestamp: Instant
    package var dailyTotalMl: Int
    /// The current goal; 0 counts as the default.
    package var dailyGoalMl: Int
    package var lastDrinkTime: Instant?
    package var expectedMl: Int
    package var urgency: Urgency
    package var displayUrgency: Urgency
    /// The deficit in millilitres, at least 0; 0 once the goal is met.
    package var deficitMl: Int
    /// Expected minus total intake in millilitres; negative means ahead.
    package var paceBalanceMl: Int
    /// The total divided by the goal, 0…1.
    package var progress: Double
    /// The total in whole percent of the goal; can exceed 100.
    package var percent: Int
    package var isGoalAchieved: Bool
    /// The status: `350ml to catch up`, `On track ✓` or `Goal reached! 🎉`.
    package var statusText: String
    /// The notification; `nil` outside the one-shot topic.
    private var notification: TrackerNotification?

    package init(now: Instant, intake: DayIntake, settings: Settings, calendar: DayCalendar) {
        let goal = settings.goalMl > 0 ? settings.goalMl : Settings().goalMl
        let window = Pace.Window(now: now, calendar: calendar, wake: settings.wake, sleep: settings.sleep)
        expectedMl =
            switch settings.paceMode {
            case .continuous: Pace.expected(goalMl: goal, now: now, window: window)
            case .wholeHours:
                Pace.calculateExpectedIntake(
                    goalMl: goal, at: calendar.timeOfDay(at: now), start: settings.wake, end: settings.sleep)
            }
        timestamp = now
        dayKey = intake.day
        dailyTotalMl = intake.totalMl
        dailyGoalMl = goal
        lastDrinkTime = intake.lastDrink
        paceBalanceMl = expectedMl.saturatingSubtract(intake.totalMl)
        deficitMl = Pace.deficit(expectedMl: expectedMl, totalMl: intake.totalMl, goalMl: goal)
        urgency = Urgency(deficitMl: deficitMl, goalMl: goal, thresholdPercent: settings.effectiveThresholdPercent)
        displayUrgency = Urgency.displayed(urgency, deficitMl: deficitMl)
        progress = GoalProgress.share(totalMl: intake.totalMl, goalMl: goal)
        percent = GoalProgress.percent(totalMl: intake.totalMl, goalMl: goal)
        isGoalAchieved = intake.totalMl >= goal
        statusText = StatusText.short(
            deficitMl: deficitMl, totalMl: intake.totalMl, goalMl: goal, in: settings.amountUnits)
    }

    /// This payload with a notification, for the one-shot topic only.
    package func withNotification(_ notification: TrackerNotification) -> PaceSnapshot {
        var copy = self
        copy.notification = notification
        return copy
    }
}

extension PaceSnapshot: Encodable {
    /// Times are epoch seconds; missing values are `null`.
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "schema": Self.schema, "dayKey": dayKey, "timestamp": timestamp.wholeSeconds, "dailyTotalMl": dailyTotalMl,
            "dailyGoalMl": dailyGoalMl, "lastDrinkTime": lastDrinkTime?.wholeSeconds, "expectedMl": expectedMl,
            "urgency": urgency, "displayUrgency": displayUrgency, "deficitMl": deficitMl,
            "paceBalanceMl": paceBalanceMl, "progress": progress, "percent": percent, "isGoalAchieved": isGoalAchieved,
            "statusText": statusText, "shouldNotify": notification != nil,
            "notificationType": notification?.kind.payloadType ?? "", "notificationTitle": notification?.title,
            "notificationBody": notification?.body, "notificationId": notification?.notificationId,
        ])
    }
}
