/// The data of the second screen (tracker spec A12): the state of system A, whether it alerts, and the countdown. The
/// countdown is `null` if there is none, so that the watch shows no old one (K-A17).
package struct CompanionSnapshot: Hashable, Sendable, Codable {
    package var state: HydrationState
    package var isAlerting: Bool
    /// Seconds until the next drink is due, at least 0.
    package var timeUntilNext: Double?

    package init(state: HydrationState, nextDrink: NextDrink) {
        self.state = state
        isAlerting = nextDrink.isAlerting
        timeUntilNext = nextDrink.secondsLeft.map { max(0, $0) }
    }

    package init(now: Instant, intake: DayIntake, settings: Settings, nextDrink: NextDrink) {
        let hours = settings.intervalHours
        self.init(
            state: HydrationState(
                dailyGoalMl: settings.goalMl, glassSizeMl: settings.glassMl, totalMl: intake.totalMl,
                lastDrink: intake.lastDrink,
                wake: hours.wake, sleep: hours.sleep, history: intake.drinks.map { .init(at: $0.at, ml: $0.ml) }),
            nextDrink: nextDrink)
    }

    enum CodingKeys: String, CodingKey { case state, isAlerting, timeUntilNext }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(state, forKey: .state)
        try container.encode(isAlerting, forKey: .isAlerting)
        try container.encode(timeUntilNext, forKey: .timeUntilNext)
    }
}

extension HydrationState {
    enum CodingKeys: String, CodingKey { case dailyGoalMl, glassSizeMl, totalMl, lastDrink, wake, sleep, history }

    /// Times of day are `HH:mm`, instants are epoch seconds, missing values are `null`.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(dailyGoalMl, forKey: .dailyGoalMl)
        try container.encode(glassSizeMl, forKey: .glassSizeMl)
        try container.encode(totalMl, forKey: .totalMl)
        try container.encode(lastDrink?.wholeSeconds, forKey: .lastDrink)
        try container.encode(wake, forKey: .wake)
        try container.encode(sleep, forKey: .sleep)
        try container.encode(history, forKey: .history)
    }

    /// Missing fields have the type's defaults.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func value<Value: Decodable>(_ key: CodingKeys, _ type: Value.Type) -> Value? {
            try? container.decodeIfPresent(type, forKey: key)
        }
        let defaults = HydrationState()
        let lastDrink = value(.lastDrink, Int64.self).flatMap { $0.magnitude < 1 << 40 ? Instant(seconds: $0) : nil }
        self.init(
            dailyGoalMl: value(.dailyGoalMl, Int.self) ?? defaults.dailyGoalMl,
            glassSizeMl: value(.glassSizeMl, Int.self) ?? defaults.glassSizeMl,
            totalMl: value(.totalMl, Int.self) ?? 0, lastDrink: lastDrink,
            wake: value(.wake, TimeOfDay.self) ?? defaults.wake, sleep: value(.sleep, TimeOfDay.self) ?? defaults.sleep,
            history: value(.history, [Entry].self) ?? [])
    }
}

extension HydrationState.Entry {
    enum CodingKeys: String, CodingKey { case at, ml }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(at.wholeSeconds, forKey: .at)
        try container.encode(ml, forKey: .ml)
    }

    /// `at` in seconds since 1970.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let seconds = try container.decode(Int64.self, forKey: .at)
        guard seconds.magnitude < 1 << 40 else {
            throw DecodingError.dataCorruptedError(
                forKey: .at, in: container, debugDescription: "\(seconds) is no time")
        }
        self.init(at: Instant(seconds: seconds), ml: try container.decode(Int.self, forKey: .ml))
    }
}
