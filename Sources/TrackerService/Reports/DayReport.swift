import TrackerCore

/// One day of the history.
public struct DayReport: Hashable, Sendable, Encodable {
    /// The day.
    public let day: LocalDay
    /// `nil` for days to come.
    public let record: DayRecord?

    /// A day, with its record where there is one.
    public init(_ day: LocalDay, _ record: DayRecord?) {
        self.day = day
        self.record = record
    }

    enum CodingKeys: String, CodingKey { case day, totalMl, goalMl, `class` }

    public func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode(day.description, forKey: .day)
        try keys.encode(record?.totalMl, forKey: .totalMl)
        try keys.encode(record?.goalMl, forKey: .goalMl)
        // met, partial, none.
        try keys.encode(record?.dayClass.rawValue, forKey: .class)
    }
}

/// A day with its drinks, oldest first.
public struct DayDrinksReport: Hashable, Sendable, Encodable {
    /// The day.
    public let day: DayReport
    /// Its drinks, oldest first.
    public let drinks: [DrinkReport]
}

/// The bars of a week.
public struct WeekReport: Hashable, Sendable, Encodable {
    /// Seven days, in order.
    public let days: [DayReport]
    /// Their sum.
    public let totalMl: Int
    /// Days in a row that met their goal (tracker law D3).
    public let streak: Int
}

/// A month's calendar.
public struct MonthReport: Hashable, Sendable, Encodable {
    /// `2026-06`.
    public let month: String
    /// The month's days, in order.
    public let days: [DayReport]
    /// Those of them that met their goal.
    public let metDays: Int
}

/// Days in a row that met their goal.
public struct StreakReport: Hashable, Sendable, Encodable {
    /// Days in a row that met their goal (tracker law D3).
    public let streak: Int
    /// The record of today.
    public let record: DayRecord

    enum CodingKeys: String, CodingKey { case streak, today, todayClass }

    public func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode(streak, forKey: .streak)
        try keys.encode(record.day.description, forKey: .today)
        try keys.encode(record.dayClass.rawValue, forKey: .todayClass)
    }
}
