/// The data of the second screen (tracker spec A12): today's state, whether a drink is due, and the countdown. The
/// countdown is `null` if there is none, so that the watch shows no old one (K-A17).
package struct CompanionSnapshot: Hashable, Sendable, Encodable {
    package var state: HydrationState
    package var isAlerting: Bool
    /// Seconds until the next drink is due, at least 0.
    package var timeUntilNext: Double?

    init(intake: DayIntake, settings: Settings, nextDrink: NextDrink) {
        let hours = settings.intervalHours
        state = HydrationState(
            dailyGoalMl: settings.goalMl, glassSizeMl: settings.glassMl, totalMl: intake.totalMl,
            lastDrink: intake.lastDrink, wake: hours.wake, sleep: hours.sleep,
            history: intake.drinks.map { .init(at: $0.at, ml: $0.ml) })
        isAlerting = nextDrink.isAlerting
        timeUntilNext = nextDrink.secondsLeft.map { max(0, $0) }
    }

    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "state": state, "isAlerting": isAlerting, "timeUntilNext": timeUntilNext,
        ])
    }
}

/// The state of the day in the form of the original requirements (tracker spec A3).
package struct HydrationState: Hashable, Sendable, Encodable {
    package var dailyGoalMl: Int
    package var glassSizeMl: Int
    package var totalMl: Int
    package var lastDrink: Instant?
    package var wake: TimeOfDay
    package var sleep: TimeOfDay
    /// The drinks, oldest first.
    package var history: [Entry]

    package struct Entry: Hashable, Sendable, Encodable {
        package var at: Instant
        package var ml: Int

        package func encode(to encoder: any Encoder) throws {
            try encoder.encode([
                "at": at.wholeSeconds, "ml": ml,
            ])
        }
    }

    /// Times of day are `HH:mm`, instants are epoch seconds, missing values are `null`.
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "dailyGoalMl": dailyGoalMl, "glassSizeMl": glassSizeMl, "totalMl": totalMl,
            "lastDrink": lastDrink?.wholeSeconds, "wake": wake.description, "sleep": sleep.description,
            "history": history,
        ])
    }
}
