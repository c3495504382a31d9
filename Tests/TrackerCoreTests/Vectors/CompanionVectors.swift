import Testing

@testable import TrackerCore

/// A3: the progress and the countdown. A5: when the next drink is due.
enum CompanionVectors {
    static let table: [Vector] = states + edges + dues + nuuk

    private static let states = Vector.numbered(
        "A3",
        [
            (600, 1600, 0.375, 37, "3/8"), (199, 1600, 0.124375, 12, "0/8"), (800, 1600, 0.5, 50, "4/8"),
            (2000, 1600, 1, 100, "10/8"), (1600, 1700, 0.941176, 94, "8/9"), (1700, 1700, 1, 100, "9/9"),
            (2499, 2500, 0.9996, 99, "12/13"), (2500, 2500, 1, 100, "13/13"), (2600, 2500, 1, 100, "13/13"),
        ] as [(Int, Int, Double, Int, String)]
    ) { total, goal, share, percent, label in
        #expect(abs(GoalProgress.share(totalMl: total, goalMl: goal) - share) < 0.000_000_5)
        #expect(GoalProgress.percent(totalMl: total, goalMl: goal) == percent)
        #expect(GlassLabel(totalMl: total, goalMl: goal, glassMl: 200).description == label)
    }

    private static let edges: [Vector] = [
        Vector("A3-E1") {
            #expect(GoalProgress.share(totalMl: 0, goalMl: 0) == 0)
            #expect(GoalProgress.share(totalMl: 9, goalMl: -5) == 0)
            #expect(GoalProgress.share(totalMl: -100, goalMl: 1600) == 0)
        },
        Vector("A3-E2") {
            let texts = [-25.714, 0, 7.5, 5142.86, 36_000].map(Countdown.text)
            #expect(texts == ["00:00", "00:00", "00:07", "85:42", "600:00"])
        },
    ]

    private static let dues: [Vector] =
        ([
            ("A5-01", 0, nil, "08:00:00", "counting", "09:30:00", 5400),
            ("A5-02", 0, nil, "09:29:59", "counting", "09:30:00", 1),
            ("A5-03", 0, nil, "09:30:00", "alerting", "09:30:00", 0),
            ("A5-04", 200, "09:40:00", "09:40:00", "counting", "11:08:34", 5314.286),
            ("A5-05", 200, "09:40:00", "11:08:00", "counting", "11:08:34", 34.286),
            ("A5-06", 200, "09:40:00", "11:09:00", "alerting", "11:08:34", -25.714),
            ("A5-07", 400, "10:00:00", "10:00:00", "counting", "11:40:00", 6000),
            ("A5-08", 16, "09:00:00", "09:00:00", "counting", "10:22:30", 4950),
            ("A5-09", 200, "07:00:00", "08:00:00", "counting", "09:42:51", 6171.429),
            ("A5-10", 200, "12:30:00", "12:00:00", "counting", "13:08:34", 4114.286),
            ("A5-11", 1599, "10:00:00", "10:00:00", "counting", "19:30:00", 34200),
            ("A5-12", 1599, "10:00:00", "19:30:00", "alerting", "19:30:00", 0),
            ("A5-13", 1599, "19:45:00", "19:50:00", "counting", "20:00:00", 600),
            ("A5-14", 1600, "15:00:00", "16:00:00", "goalReached", nil, nil),
            ("A5-15", 0, nil, "07:59:59", "outsideHours", nil, nil),
            ("A5-16", 0, nil, "20:00:00", "outsideHours", nil, nil),
        ] as [(String, Int, String?, String, String, String?, Double?)]).map {
            id, total, last, now, phase, due, seconds in
            Vector(id) {
                let next = NextDrink(
                    now: try local("2026-06-15 \(now)"), wake: try local("2026-06-15 08:00"),
                    sleep: try local("2026-06-15 20:00"), totalMl: total, goalMl: 1600, glassMl: 200,
                    lastDrink: try last.map { try local("2026-06-15 \($0)") })
                #expect(next.phase.rawValue == phase)
                let zone = try Zone("Europe/Berlin")
                #expect(next.due.map { String(zone.wall(at: $0).description.suffix(8)) } == due)
                #expect((next.secondsLeft == nil) == (seconds == nil))
                if let left = next.secondsLeft, let seconds { #expect(abs(left - seconds) < 0.0005) }
            }
        }

    /// Clocks change at 23:00 within the drinking hours of America/Nuuk.
    private static let nuuk = Vector.numbered(
        "A5-N",
        [
            ("2026-06-15", 2.0, 900, "2026-06-16T00:30:00"), ("2026-03-28", 1.5, 675, "2026-03-29T01:00:00"),
            ("2026-10-24", 2.0, 900, "2026-10-25T00:30:00"),
        ] as [(String, Double, Double, String)]
    ) { date, hoursLeft, seconds, end in
        let calendar = DayCalendar(zone: try Zone("America/Nuuk"))
        let now = calendar.instant(on: try day(date), at: try time("21:30"))
        let sleep = calendar.instant(on: try day(date), at: try time("23:30"))
        #expect(now.seconds(to: sleep) == hoursLeft * 3600)
        let next = NextDrink(
            now: now, wake: calendar.instant(on: try day(date), at: try time("08:00")), sleep: sleep, totalMl: 0,
            goalMl: 1600, glassMl: 200, lastDrink: now)
        #expect(next.secondsLeft == seconds)
        let expected = try at(end)
        #expect(sleep == expected)
    }
}
