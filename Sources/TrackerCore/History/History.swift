/// One day as history shows it: its total, and the goal that was in force at its end.
package struct DayRecord: Hashable, Sendable, Codable {
    /// The day.
    package var day: LocalDay
    /// Sum of its drinks.
    package var totalMl: Int
    /// The goal at its end.
    package var goalMl: Int

    package init(day: LocalDay, totalMl: Int, goalMl: Int) {
        self.day = day
        self.totalMl = totalMl
        self.goalMl = goalMl
    }

    /// Total at or above a goal that is one.
    package var isMet: Bool { goalMl > 0 && totalMl >= goalMl }

    /// The calendar's colour.
    package enum Class: String, Hashable, Sendable, Codable, CaseIterable {
        /// Green: the goal was met.
        case met
        /// Light blue: something was drunk.
        case partial
        /// Grey.
        case none
    }

    /// The day's colour in the calendar.
    package var dayClass: Class { isMet ? .met : totalMl > 0 ? .partial : .none }
}

/// Which goal held on which day: raising it today does not rewrite yesterday (tracker spec D3).
package struct GoalHistory: Hashable, Sendable {
    private let changes: [(day: LocalDay, goalMl: Int)]
    private let fallbackMl: Int

    /// `goals`: the goal at the end of the days that have one. `current` holds where none is known.
    package init(goals: [LocalDay: Int], current: Int) {
        changes = goals.map { ($0.key, $0.value) }.sorted { $0.day < $1.day }
        fallbackMl = current
    }

    /// The day's own goal, else that of the nearest earlier day, else of the earliest known, else the current one.
    package func goal(on day: LocalDay) -> Int {
        var low = 0
        var high = changes.count
        while low < high {
            let middle = (low + high) / 2
            if changes[middle].day <= day { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? changes[low - 1].goalMl : changes.first?.goalMl ?? fallbackMl
    }

    package static func == (left: GoalHistory, right: GoalHistory) -> Bool {
        left.fallbackMl == right.fallbackMl && left.changes.elementsEqual(right.changes, by: ==)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(fallbackMl)
        for change in changes {
            hasher.combine(change.day)
            hasher.combine(change.goalMl)
        }
    }
}

/// Days in a row, weeks and months (tracker spec D3). Dates are counted as dates, so that weeks have seven bars
/// whatever the clocks do.
package struct History: Hashable, Sendable {
    private let totals: [LocalDay: Int]
    private let goals: GoalHistory

    /// From each day's total and the goals over time.
    package init(totals: [LocalDay: Int], goals: GoalHistory) {
        self.totals = totals
        self.goals = goals
    }

    /// The record of any day; one without drinks has total 0.
    package subscript(day: LocalDay) -> DayRecord {
        DayRecord(day: day, totalMl: totals[day] ?? 0, goalMl: goals.goal(on: day))
    }

    /// Consecutive days that met their goal, ending today, or yesterday while today is unfinished.
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

    /// The seven days of the week that contains a day.
    package static func week(containing day: LocalDay, firstDay: WeekStart) -> [LocalDay] {
        let first = day.adding(days: -((day.weekday - firstDay.weekday + 7) % 7))
        return (0..<7).map(first.adding(days:))
    }

    /// The week's bars; `nil` for days that have not come yet.
    package func bars(week: [LocalDay], today: LocalDay) -> [DayRecord?] { week.map { $0 > today ? nil : self[$0] } }

    /// All days of a month; `nil` for those that have not come yet. Empty for a month that does not exist.
    package func calendar(year: Int, month: Int, today: LocalDay) -> [(day: LocalDay, record: DayRecord?)] {
        let length = LocalDay.length(ofMonth: month, year: year)
        guard length > 0 else { return [] }
        return (1...length).compactMap { LocalDay(year: year, month: month, day: $0) }.map {
            ($0, $0 > today ? nil : self[$0])
        }
    }
}
