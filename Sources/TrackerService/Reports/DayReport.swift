import TrackerCore

/// One day of the history.
package struct DayReport: Hashable, Sendable, Encodable {
    /// The day.
    package let day: LocalDay
    /// `nil` for days to come.
    package let record: DayRecord?

    /// A day, with its record where there is one.
    package init(_ day: LocalDay, _ record: DayRecord?) {
        self.day = day
        self.record = record
    }

    enum CodingKeys: String, CodingKey { case day, totalMl, goalMl, `class` }

    package func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode(day.description, forKey: .day)
        try keys.encode(record?.totalMl, forKey: .totalMl)
        try keys.encode(record?.goalMl, forKey: .goalMl)
        // met, partial, none.
        try keys.encode(record?.dayClass.rawValue, forKey: .class)
    }
}

/// A day with its drinks, oldest first.
package struct DayDrinksReport: Hashable, Sendable, Encodable {
    /// The day.
    package let day: DayReport
    /// Its drinks, oldest first.
    package let drinks: [DrinkReport]
}

/// The bars of a week.
package struct WeekReport: Hashable, Sendable, Encodable {
    /// Seven days, in order.
    package let days: [DayReport]
    /// Their sum.
    package let totalMl: Int
    /// Days in a row that met their goal (tracker law D3).
    package let streak: Int
}

/// A month's calendar.
package struct MonthReport: Hashable, Sendable, Encodable {
    /// `2026-06`.
    package let month: String
    /// The month's days, in order.
    package let days: [DayReport]
    /// Those of them that met their goal.
    package let metDays: Int
}

/// Days in a row that met their goal.
package struct StreakReport: Hashable, Sendable, Encodable {
    /// Days in a row that met their goal (tracker law D3).
    package let streak: Int
    /// The record of today.
    package let record: DayRecord

    enum CodingKeys: String, CodingKey { case streak, today, todayClass }

    package func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode(streak, forKey: .streak)
        try keys.encode(record.day.description, forKey: .today)
        try keys.encode(record.dayClass.rawValue, forKey: .todayClass)
    }
}
