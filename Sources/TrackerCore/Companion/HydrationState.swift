/// The state of the original countdown app, with its arithmetic and names (tracker spec A3, A4). `GlassLabel`,
/// `Percent` and `NextDrink` correct it.
package struct HydrationState: Hashable, Sendable, Encodable {
    /// The default of the original app. The product's goal of 2500 ml is a setting (K-X1).
    package var dailyGoalMl = 1600
    package var glassSizeMl = 200
    package var totalMl = 0
    package var lastDrink: Instant?
    package var wake = TimeOfDay(hour: 8)
    package var sleep = TimeOfDay(hour: 20)
    /// The drinks, oldest first.
    package var history: [Entry] = []

    package struct Entry: Hashable, Sendable, Encodable {
        package var at: Instant
        package var ml: Int
    }

    /// Total / goal, 0…1. A goal of 0 or less gives 0 (K-A18); a negative total counts as 0.
    package var progress: Double {
        dailyGoalMl > 0 ? min(1, Double(max(0, totalMl)) / Double(dailyGoalMl)) : 0
    }

    /// The number of whole glasses; can exceed the goal.
    package var glassesConsumed: Int { glassSizeMl > 0 ? max(0, totalMl) / glassSizeMl : 0 }

    /// The number of whole glasses in the goal, rounded down: 1700 ml with 200 ml glasses gives 8.
    package var glassesGoal: Int { glassSizeMl > 0 ? max(0, dailyGoalMl) / glassSizeMl : 0 }

    /// The number of remaining glasses, rounded up.
    package var glassesLeft: Int {
        glassSizeMl > 0 ? ceilDivide(max(0, dailyGoalMl.saturatingSubtract(totalMl)), glassSizeMl) : 0
    }

    /// Seconds to the next drink by the original arithmetic over minutes of the day; `nil` outside the drinking hours
    /// and without remaining glasses. The countdown restarts at every call and never reaches 0 (K-A5); see `NextDrink`.
    package func timeUntilNextDrink(from now: TimeOfDay) -> Double? {
        guard now >= wake, now < sleep, glassesLeft > 0 else { return nil }
        return Double(sleep.minutes - now.minutes) / Double(glassesLeft) * 60
    }
}

/// The progress in whole percent, rounded down: 100 only if the goal is met.
package enum Percent {
    /// The progress in percent: at most 100, and 0 without a goal.
    package static func of(totalMl: Int, goalMl: Int) -> Int {
        guard goalMl > 0 else { return 0 }
        return totalMl >= goalMl ? 100 : Int(Int128(100) * Int128(max(0, totalMl)) / Int128(goalMl))
    }
}

/// The label `consumed/goal` of the progress ring: n/n exactly if the goal is met (K-A7).
package struct GlassLabel: Hashable, Sendable, CustomStringConvertible {
    /// The number of whole glasses drunk; at least `goal` if the goal is met.
    package var consumed: Int
    /// The number of glasses in the goal, rounded up.
    package var goal: Int

    /// Computes the label from amounts in millilitres.
    /// - Parameter glassMl: the size of a glass; less than 1 ml counts as 1 ml.
    package init(totalMl: Int, goalMl: Int, glassMl: Int) {
        let glass = max(1, glassMl)
        goal = ceilDivide(max(0, goalMl), glass)
        let drunk = max(0, totalMl) / glass
        consumed = totalMl >= goalMl ? max(drunk, goal) : drunk
    }

    package var description: String { "\(consumed)/\(goal)" }
}

/// A countdown as `mm:ss`: whole seconds, minutes not wrapped at 60, `00:00` at the end.
package enum Countdown {
    /// The countdown as text.
    /// - Parameter seconds: negative values and NaN count as 0.
    package static func text(_ seconds: Double) -> String {
        let whole = seconds.isFinite ? Int(min(max(0, seconds), 1e9)) : 0
        return "\(padded(whole / 60, 2)):\(padded(whole % 60, 2))"
    }

    /// The countdown rounded up to whole minutes: `27 min`, `2 h 27 min`.
    package static func inMinutes(_ seconds: Double) -> String {
        let minutes = Int(saturating: (max(0, seconds) / 60).rounded(.up))
        return minutes < 60 ? "\(minutes) min" : "\(minutes / 60) h \(minutes % 60) min"
    }
}

func ceilDivide(_ value: Int, _ by: Int) -> Int { value / by + (value % by > 0 ? 1 : 0) }

extension TimeOfDay: Codable {
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
