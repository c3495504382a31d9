import Testing
import TrackerCore

/// B1: expected intake. B2: urgency. B3: rounding and texts. A7: poll interval.
enum PaceVectors {
    static var table: [Vector] {
        get throws { try expected() + urgencies() + rounding() + litres() + examples + polls() }
    }

    private struct Expected: Decodable, Identifiable, Sendable {
        struct Result: Decodable, Sendable { let goalMl: Int, wholeHoursMl: Int, continuousMl: Int }
        let id: String, local: String, zone: String, wake: String, sleep: String
        let results: [Result]
    }

    private static func expected() throws -> [Vector] {
        try Vector.published("expectedIntake") { (row: Expected) in
            for result in row.results {
                let found = try pace(result.goalMl, row.local, row.zone, wake: row.wake, sleep: row.sleep)
                #expect(found == [result.wholeHoursMl, result.continuousMl])
            }
        }
    }

    /// Both readings of the pace, whole hours first.
    private static func pace(
        _ goal: Int, _ wall: String, _ zone: String = "Europe/Berlin", wake: String = "07:00", sleep: String = "22:00"
    ) throws -> [Int] {
        let calendar = DayCalendar(zone: try Zone(zone))
        let now = try local(wall, zone)
        let window = Pace.Window(now: now, calendar: calendar, wake: try time(wake), sleep: try time(sleep))
        return [
            Pace.calculateExpectedIntake(goalMl: goal, at: calendar.timeOfDay(at: now), end: try time(sleep)),
            Pace.expected(goalMl: goal, now: now, window: window),
        ]
    }

    private struct UrgencyRow: Decodable, Identifiable, Sendable {
        let id: String, goalMl: Int, thresholdPercent: Int, overdueFromMl: Int
    }

    private static func urgencies() throws -> [Vector] {
        try Vector.published("urgency") { (row: UrgencyRow) in
            for deficit in 0...(row.overdueFromMl + 50) {
                let urgency = Urgency(deficitMl: deficit, goalMl: row.goalMl, thresholdPercent: row.thresholdPercent)
                let expected: Urgency = deficit == 0 ? .onTrack : deficit < row.overdueFromMl ? .attention : .overdue
                #expect(urgency == expected, "deficit \(deficit)")
            }
        }
    }

    private struct Rounding: Decodable, Identifiable, Sendable {
        let id: String, fromMl: Int, throughMl: Int, roundedMl: Int, text: String, reminds: Bool
    }

    private static func rounding() throws -> [Vector] {
        try Vector.published("rounding") { (row: Rounding) in
            for deficit in row.fromMl...row.throughMl {
                #expect(Amounts.roundToNearest50(deficit) == row.roundedMl)
                #expect(StatusText.short(deficitMl: deficit, totalMl: 0, goalMl: 2500) == row.text)
                #expect((deficit >= 50) == row.reminds)
            }
        }
    }

    private struct Litres: Decodable, Identifiable, Sendable { let id: String, ml: Int, text: String }

    private static func litres() throws -> [Vector] {
        try Vector.published("litres") { (row: Litres) in #expect(AmountUnits.ml.short(row.ml) == row.text) }
    }

    private static let examples: [Vector] = [
        Vector("B2-E") {
            let expected = try pace(2500, "2026-06-15 14:00:00")
            for (expected, deficit) in zip(expected, [366, 367]) {
                #expect(Pace.deficit(expectedMl: expected, totalMl: 800, goalMl: 2500) == deficit)
                #expect(Urgency(deficitMl: deficit, goalMl: 2500) == .attention)
                #expect(StatusText.short(deficitMl: deficit, totalMl: 800, goalMl: 2500) == "350ml to catch up")
            }
        },
        Vector("B3-E") {
            #expect([23, 49, 73, 127, 366, 367, -99].map(Amounts.roundToNearest50) == [0, 50, 50, 150, 350, 350, 0])
            #expect(Urgency.displayed(.attention, deficitMl: 24) == .onTrack)
            #expect(Urgency.displayed(.attention, deficitMl: 25) == .attention)
        },
    ]

    private struct Interval: Decodable, Identifiable, Sendable {
        let id: String, secondsToReminder: Double?, intervalSeconds: Double
    }

    private static func polls() throws -> [Vector] {
        try Vector.published("pollIntervals") { (row: Interval) in
            #expect(PollSchedule.calculatePollInterval(secondsToDue: row.secondsToReminder) == row.intervalSeconds)
        }
    }
}
