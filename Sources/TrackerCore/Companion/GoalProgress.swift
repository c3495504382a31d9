/// The progress towards the goal.
package enum GoalProgress {
    /// Total / goal, 0…1. A goal of 0 or less gives 0 (K-A18); a negative total counts as 0.
    package static func share(totalMl: Int, goalMl: Int) -> Double {
        goalMl > 0 ? min(1, Double(max(0, totalMl)) / Double(goalMl)) : 0
    }

    /// The progress in whole percent, rounded down: 100 only if the goal is met, and 0 without a goal.
    package static func percent(totalMl: Int, goalMl: Int) -> Int {
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
