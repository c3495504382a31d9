/// The payload of system B (tracker spec B7): the state of the day. `shouldNotify` is `false` in every retained or
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
    /// The status: `350ml to catch up`, or its replacement.
    package var statusText: String
    /// The notification; `nil` outside the one-shot topic.
    package var notification: Notice?

    package struct Notice: Hashable, Sendable {
        /// The kind, by the name of system B.
        package var type: String
        package var title: String
        package var body: String
        /// The notification id, equal in every repetition.
        package var id: String

        package init(type: String, title: String, body: String, id: String) {
            self.type = type
            self.title = title
            self.body = body
            self.id = id
        }

        package init(_ notification: TrackerNotification) {
            self.init(
                type: notification.kind.payloadType, title: notification.title, body: notification.body,
                id: notification.notificationId)
        }
    }

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
        paceBalanceMl = Pace.balance(expectedMl: expectedMl, totalMl: intake.totalMl)
        deficitMl = Pace.deficit(expectedMl: expectedMl, totalMl: intake.totalMl, goalMl: goal)
        urgency = Urgency(deficitMl: deficitMl, goalMl: goal, thresholdPercent: settings.effectiveThresholdPercent)
        displayUrgency = Urgency.displayed(urgency, deficitMl: deficitMl)
        progress = HydrationState(dailyGoalMl: goal, totalMl: intake.totalMl).progress
        percent = Percent.of(totalMl: intake.totalMl, goalMl: goal)
        isGoalAchieved = intake.totalMl >= goal
        statusText = StatusText.short(
            deficitMl: deficitMl, totalMl: intake.totalMl, goalMl: goal, in: settings.amountUnits)
    }

    /// This payload with a notification, for the one-shot topic only.
    package func notifying(_ notification: TrackerNotification) -> PaceSnapshot {
        var copy = self
        copy.notification = Notice(notification)
        return copy
    }

    /// Whether only the time differs, so that there is nothing to publish.
    package func says(theSameAs other: PaceSnapshot) -> Bool {
        var copy = other
        copy.timestamp = timestamp
        return self == copy
    }
}

extension PaceSnapshot: Codable {
    enum CodingKeys: String, CodingKey {
        case schema, dayKey, timestamp, dailyTotalMl, dailyGoalMl, lastDrinkTime, expectedMl, urgency, displayUrgency,
            deficitMl
        case paceBalanceMl, progress, percent, isGoalAchieved, statusText
        case shouldNotify, notificationType, notificationTitle, notificationBody, notificationId
    }

    /// Times are epoch seconds; missing values are `null`.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.schema, forKey: .schema)
        try container.encode(dayKey, forKey: .dayKey)
        try container.encode(timestamp.wholeSeconds, forKey: .timestamp)
        try container.encode(dailyTotalMl, forKey: .dailyTotalMl)
        try container.encode(dailyGoalMl, forKey: .dailyGoalMl)
        try container.encode(lastDrinkTime?.wholeSeconds, forKey: .lastDrinkTime)
        try container.encode(expectedMl, forKey: .expectedMl)
        try container.encode(urgency, forKey: .urgency)
        try container.encode(displayUrgency, forKey: .displayUrgency)
        try container.encode(deficitMl, forKey: .deficitMl)
        try container.encode(paceBalanceMl, forKey: .paceBalanceMl)
        try container.encode(progress, forKey: .progress)
        try container.encode(percent, forKey: .percent)
        try container.encode(isGoalAchieved, forKey: .isGoalAchieved)
        try container.encode(statusText, forKey: .statusText)
        try container.encode(notification != nil, forKey: .shouldNotify)
        try container.encode(notification?.type ?? "", forKey: .notificationType)
        try container.encode(notification?.title, forKey: .notificationTitle)
        try container.encode(notification?.body, forKey: .notificationBody)
        try container.encode(notification?.id, forKey: .notificationId)
    }

    /// Missing, null or invalid fields have defaults, and unknown fields are ignored. A goal of 0 or less becomes 2500.
    /// Only `dailyTotalMl` is required.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func value<Value: Decodable>(_ key: CodingKeys, _ type: Value.Type) -> Value? {
            try? container.decodeIfPresent(type, forKey: key)
        }
        dailyTotalMl = try container.decode(Int.self, forKey: .dailyTotalMl)
        let goal = value(.dailyGoalMl, Int.self) ?? 0
        dailyGoalMl = goal > 0 ? goal : Settings().goalMl
        timestamp = Self.instant(value(.timestamp, Double.self)) ?? Instant(seconds: 0)
        lastDrinkTime = Self.instant(value(.lastDrinkTime, Double.self))
        dayKey = value(.dayKey, LocalDay.self) ?? DayCalendar(zone: .utc, boundaryHour: 0).day(of: timestamp)
        deficitMl = max(0, value(.deficitMl, Int.self) ?? 0)
        paceBalanceMl = value(.paceBalanceMl, Int.self) ?? deficitMl
        expectedMl = value(.expectedMl, Int.self) ?? dailyTotalMl.addingReportingOverflow(paceBalanceMl).partialValue
        urgency = value(.urgency, Urgency.self) ?? .onTrack
        displayUrgency =
            value(.displayUrgency, Urgency.self) ?? Urgency.displayed(urgency, deficitMl: min(deficitMl, 1_000_000))
        progress = HydrationState(dailyGoalMl: dailyGoalMl, totalMl: dailyTotalMl).progress
        isGoalAchieved = dailyTotalMl >= dailyGoalMl
        percent = value(.percent, Int.self) ?? Int(progress * 100)
        statusText =
            value(.statusText, String.self)
            ?? StatusText.short(deficitMl: min(deficitMl, 1_000_000), totalMl: dailyTotalMl, goalMl: dailyGoalMl)
        guard value(.shouldNotify, Bool.self) == true else { return }
        notification = Notice(
            type: value(.notificationType, String.self) ?? "", title: value(.notificationTitle, String.self) ?? "",
            body: value(.notificationBody, String.self) ?? "", id: value(.notificationId, String.self) ?? "")
    }

    private static func instant(_ seconds: Double?) -> Instant? {
        guard let seconds, seconds.isFinite, seconds.magnitude < 1e12 else { return nil }
        return Instant(milliseconds: Int64((seconds * 1000).rounded()))
    }
}
