/// A day of the history: its total, and the goal at its end.
package struct DayRecord: Hashable, Sendable, Codable {
    package var day: LocalDay
    package var totalMl: Int
    package var goalMl: Int

    /// Whether the total reached a goal above 0.
    package var isMet: Bool { goalMl > 0 && totalMl >= goalMl }

    /// The colour in the calendar.
    package enum Class: String, Hashable, Sendable, Codable, CaseIterable {
        /// The goal was met (green).
        case met
        /// A drink was logged (light blue).
        case partial
        /// No drink (grey).
        case none
    }

    package var dayClass: Class { isMet ? .met : totalMl > 0 ? .partial : .none }
}

/// The goals over time: raising today's goal does not change earlier days (tracker spec D3).
package struct GoalHistory: Sendable {
    private let changes: [(day: LocalDay, goalMl: Int)]
    private let fallbackMl: Int

    /// - Parameters:
    ///   - goals: the goal at the end of each known day.
    ///   - current: the goal if none is known.
    package init(goals: [LocalDay: Int], current: Int) {
        changes = goals.map { ($0.key, $0.value) }.sorted { $0.day < $1.day }
        fallbackMl = current
    }

    /// The day's goal, else that of the nearest earlier day, else the earliest known one, else the current one.
    package func goal(on day: LocalDay) -> Int {
        var low = 0
        var high = changes.count
        while low < high {
            let middle = (low + high) / 2
            if changes[middle].day <= day { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? changes[low - 1].goalMl : changes.first?.goalMl ?? fallbackMl
    }
}

/// Streaks, weeks and months (tracker spec D3). Days are dates, so that a week has seven days whatever the clock does.
package struct History: Sendable {
    private let totals: [LocalDay: Int]
    private let goals: GoalHistory

    package init(totals: [LocalDay: Int], goals: GoalHistory) {
        self.totals = totals
        self.goals = goals
    }

    /// The record of any day; a day without drinks has total 0.
    package subscript(day: LocalDay) -> DayRecord {
        DayRecord(day: day, totalMl: totals[day] ?? 0, goalMl: goals.goal(on: day))
    }

    /// Consecutive days that met their goal, ending today, or yesterday if today has not met it yet.
    package func streak(today: LocalDay) -> Int {
        var day = self[today].isMet ? today : today.adding(days: -1)
        var length = 0
        while self[day].isMet {
            length += 1
            let before = day.adding(days: -1)
            guard before < day else { break }
            day = before
        }
        return length
    }

    package static func week(containing day: LocalDay, firstDay: WeekStart) -> [LocalDay] {
        let first = day.adding(days: -((day.weekday - firstDay.weekday + 7) % 7))
        return (0..<7).map(first.adding(days:))
    }

    /// The bars of the week; `nil` for future days.
    package func bars(week: [LocalDay], today: LocalDay) -> [DayRecord?] { week.map { $0 > today ? nil : self[$0] } }

    /// All days of a month; `nil` for future days. Empty for an invalid month.
    package func calendar(year: Int, month: Int, today: LocalDay) -> [(day: LocalDay, record: DayRecord?)] {
        let length = LocalDay.length(ofMonth: month, year: year)
        guard length > 0 else { return [] }
        return (1...length).compactMap { LocalDay(year: year, month: month, day: $0) }.map {
            ($0, $0 > today ? nil : self[$0])
        }
    }
}
