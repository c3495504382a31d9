/// System A's value type with its own arithmetic, under its own names (tracker spec A3, A4). What the product shows
/// differs where this is wrong for it: see `GlassLabel`, `Percent` and `NextDrink`.
package struct HydrationState: Hashable, Sendable, Codable {
    /// What is to be drunk in a day.
    package var dailyGoalMl: Int
    /// What one glass of the halo holds.
    package var glassSizeMl: Int
    /// What was drunk today.
    package var totalMl: Int
    /// When the last drink of today was.
    package var lastDrink: Instant?
    /// Begin of the hours in which drinks are due.
    package var wake: TimeOfDay
    /// End of these hours.
    package var sleep: TimeOfDay
    /// Oldest first.
    package var history: [Entry]

    /// A drink in the list.
    package struct Entry: Hashable, Sendable, Codable {
        /// When it was.
        package var at: Instant
        /// How much it was.
        package var ml: Int

        package init(at: Instant, ml: Int) {
            self.at = at
            self.ml = ml
        }
    }

    /// The type's defaults; the product's goal of 2500 ml is a setting (K-X1).
    package init(
        dailyGoalMl: Int = 1600, glassSizeMl: Int = 200, totalMl: Int = 0, lastDrink: Instant? = nil,
        wake: TimeOfDay = TimeOfDay(hour: 8), sleep: TimeOfDay = TimeOfDay(hour: 20), history: [Entry] = []
    ) {
        self.dailyGoalMl = dailyGoalMl
        self.glassSizeMl = glassSizeMl
        self.totalMl = totalMl
        self.lastDrink = lastDrink
        self.wake = wake
        self.sleep = sleep
        self.history = history
    }

    /// 0…1. A goal of 0 or less is 0 (K-A18); a negative total counts as 0.
    package var progress: Double {
        dailyGoalMl > 0 ? min(1, Double(max(0, totalMl)) / Double(dailyGoalMl)) : 0
    }

    /// Whole glasses drunk, not capped at the goal.
    package var glassesConsumed: Int { glassSizeMl > 0 ? max(0, totalMl) / glassSizeMl : 0 }

    /// Whole glasses in the goal, rounded down: 1700 ml of 200 are 8 although a ninth is due.
    package var glassesGoal: Int { glassSizeMl > 0 ? max(0, dailyGoalMl) / glassSizeMl : 0 }

    /// Glasses left, rounded up.
    package var glassesLeft: Int {
        glassSizeMl > 0 ? ceilDivide(max(0, dailyGoalMl.saturatingSubtract(totalMl)), glassSizeMl) : 0
    }

    /// Seconds to the next drink by the founding spread over minutes of the day; `nil` before wake, from sleep on, and
    /// with no glasses left. It starts anew at every call and so never reaches 0 by itself (K-A5): see `NextDrink`.
    package func timeUntilNextDrink(from now: TimeOfDay) -> Double? {
        guard now >= wake, now < sleep, glassesLeft > 0 else { return nil }
        return Double(sleep.minutes - now.minutes) / Double(glassesLeft) * 60
    }
}

/// Progress in whole percent, rounded down: 100 only when the goal is met.
package enum Percent {
    /// 0 where there is no goal; more than 100 is not said.
    package static func of(totalMl: Int, goalMl: Int) -> Int {
        guard goalMl > 0 else { return 0 }
        return totalMl >= goalMl ? 100 : Int(Int128(100) * Int128(max(0, totalMl)) / Int128(goalMl))
    }
}

/// The halo's label `consumed/goal`: reads n/n exactly when the goal is met (K-A7).
package struct GlassLabel: Hashable, Sendable, CustomStringConvertible {
    /// Glasses drunk: whole ones, until the goal is met.
    package var consumed: Int
    /// Glasses of the goal, rounded up.
    package var goal: Int

    /// From millilitres; a glass of less than 1 ml counts as 1 ml.
    package init(totalMl: Int, goalMl: Int, glassMl: Int) {
        let glass = max(1, glassMl)
        goal = ceilDivide(max(0, goalMl), glass)
        let drunk = max(0, totalMl) / glass
        consumed = totalMl >= goalMl ? max(drunk, goal) : drunk
    }

    /// `3/8`.
    package var description: String { "\(consumed)/\(goal)" }
}

/// `mm:ss` of a countdown: whole seconds, minutes not wrapped at 60, `00:00` when it has run out.
package enum Countdown {
    /// - Parameter seconds: until then; less than 0 and what is no number are 0.
    package static func text(_ seconds: Double) -> String {
        let whole = seconds.isFinite ? Int(min(max(0, seconds), 1e9)) : 0
        return "\(padded(whole / 60, 2)):\(padded(whole % 60, 2))"
    }
}

func ceilDivide(_ value: Int, _ by: Int) -> Int { value / by + (value % by > 0 ? 1 : 0) }

extension TimeOfDay: Codable {
    /// From `HH:mm`.
    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let time = TimeOfDay(text) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "\"\(text)\" is not a time of the form HH:mm"))
        }
        self = time
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
