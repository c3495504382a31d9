import Testing

@testable import TrackerCore

/// D1: greeting. D2: the adaptive reminder. D3: streak, calendar.
enum AdaptiveVectors {
    static var table: [Vector] { get throws { try greetings() + paces + firings + streaks } }

    private struct GreetingRow: Decodable, Identifiable, Sendable { let id: String, time: String, text: String }

    private static func greetings() throws -> [Vector] {
        try Vector.published("greetings") { (row: GreetingRow) in
            try #expect(Greeting.text(at: time(row.time)) == row.text)
        }
    }

    /// All reminder times after the last drink.
    private static func firings(_ reminder: AdaptiveReminder, _ lastDrink: Instant?) -> [Instant] {
        var found: [Instant] = []
        var point = max(reminder.start, lastDrink ?? reminder.start)
        while let next = reminder.nextTime(after: point, lastDrink: lastDrink) {
            found.append(next)
            point = next
        }
        return found
    }

    private static func reminder() throws -> AdaptiveReminder {
        AdaptiveReminder(start: try local("2026-06-15 08:00"), end: try local("2026-06-15 22:00"), intervalHours: 2)
    }

    private static let paces = Vector.numbered(
        "D2",
        [
            (1300, "16:00", 6, 200), (1000, "14:00", 8, 190), (1000, "14:30", 8, 190), (0, "08:00", 14, 180),
            (2000, "21:30", 1, 500), (2499, "21:59", 1, 10), (2500, "15:00", 7, nil),
        ] as [(Int, String, Int, Int?)]
    ) { total, wall, hours, shown in
        let now = try local("2026-06-15 \(wall)")
        let reminder = try reminder()
        #expect(reminder.hoursLeft(at: now) == hours)
        #expect(reminder.displayedPace(remainingMl: 2500 - total, at: now) == shown)
    }

    private static let firings = Vector.numbered(
        "D2-F",
        [
            (nil, ["10:00", "12:00", "14:00", "16:00", "18:00", "20:00"]),
            ("2026-06-14 21:00", ["10:00", "12:00", "14:00", "16:00", "18:00", "20:00"]),
            ("2026-06-15 07:30", ["10:00", "12:00", "14:00", "16:00", "18:00", "20:00"]),
            ("2026-06-15 10:30", ["12:30", "14:30", "16:30", "18:30", "20:30"]), ("2026-06-15 19:59", ["21:59"]),
            ("2026-06-15 20:00", []),
        ] as [(String?, [String])]
    ) { last, expected in
        let reminder = try reminder()
        let lastDrink = try last.map { try local($0) }
        let expected = try expected.map { try local("2026-06-15 \($0)") }
        #expect(Self.firings(reminder, lastDrink) == expected)
        // Evaluated minute by minute, the latest reminder time changes at exactly those minutes.
        var seen: [Instant] = []
        var now = try local("2026-06-15 08:00")
        while now < reminder.end {
            if let time = reminder.latestTime(at: now, lastDrink: lastDrink.map { min($0, now) }), time != seen.last {
                seen.append(time)
                #expect(time == now)
            }
            now = now.advanced(seconds: 60)
        }
        if lastDrink.map({ $0 <= reminder.start }) ?? true { #expect(seen == expected) }
    }

    private static let streaks = Vector.numbered(
        "D3",
        [
            ([], 0, "none"), ([(2500, 2500)], 1, "met"),
            ([(500, 2500), (2500, 2500), (2600, 2500), (100, 2500)], 2, "partial"),
            ([nil, (2500, 2500)], 1, "none"), ([nil, nil, (2500, 2500)], 0, "none"),
            ([(1600, 1600), (1700, 1600), (2000, 2500)], 2, "met"),
            (Array(repeating: (2500, 2500), count: 7), 7, "met"),
        ] as [([(Int, Int)?], Int, String)]
    ) { days, streak, todayClass in
        let today = try day("2026-06-15")
        var totals: [LocalDay: Int] = [:]
        var goals: [LocalDay: Int] = [:]
        for (back, entry) in days.enumerated() {
            guard let entry else { continue }
            totals[today.adding(days: -back)] = entry.0
            goals[today.adding(days: -back)] = entry.1
        }
        let history = History(totals: totals, goals: GoalHistory(goals: goals, current: 2500))
        #expect(history.streak(today: today) == streak)
        #expect(history[today].dayClass.rawValue == todayClass)
    }
}
