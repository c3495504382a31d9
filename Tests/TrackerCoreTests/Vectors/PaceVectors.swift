import Testing
import TrackerCore

/// B1: expected intake. B2: urgency. B3: rounding and texts. A7: poll interval.
@Suite struct PaceVectors {
    static let table: [Vector] = expected + windows + urgencies + rounding + litres + examples + polls

    @Test(arguments: table) func vector(_ vector: Vector) throws { try vector.check() }

    private static let expected = Vector.numbered(
        "B1",
        [
            ("00:00:00", 0, 0, 0, 0), ("06:59:59", 0, 0, 0, 0), ("07:00:00", 0, 0, 0, 0), ("07:18:00", 0, 50, 0, 32),
            ("08:00:00", 166, 167, 106, 107), ("10:00:00", 500, 500, 320, 320), ("13:59:59", 1000, 1167, 640, 747),
            ("14:00:00", 1166, 1167, 746, 747), ("14:30:00", 1166, 1250, 746, 800), ("16:24:00", 1500, 1567, 960, 1003),
            ("21:59:59", 2333, 2500, 1493, 1600), ("22:00:00", 2500, 2500, 1600, 1600),
            ("23:59:59", 2500, 2500, 1600, 1600),
        ] as [(String, Int, Int, Int, Int)]
    ) { wall, whole2500, continuous2500, whole1600, continuous1600 in
        try #expect(pace(2500, "2026-06-15 \(wall)") == [whole2500, continuous2500])
        try #expect(pace(1600, "2026-06-15 \(wall)") == [whole1600, continuous1600])
    }

    /// Other goals, the days on which clocks change, and a window that the change cuts.
    private static let windows = Vector.numbered(
        "B1-W",
        [
            (2000, "2026-06-15 14:00:00", "Europe/Berlin", "22:00", 933, 933),
            (3000, "2026-06-15 14:00:00", "Europe/Berlin", "22:00", 1400, 1400),
            (2500, "2026-03-29 14:00:00", "Europe/Berlin", "22:00", 1166, 1167),
            (2500, "2026-10-25 14:00:00", "Europe/Berlin", "22:00", 1166, 1167),
            (2500, "2026-03-28 14:00:00", "America/Nuuk", "23:30", 1060, 1094),
            (2500, "2026-10-24 14:00:00", "America/Nuuk", "23:30", 1060, 1061),
        ] as [(Int, String, String, String, Int, Int)]
    ) { goal, wall, zone, sleep, whole, continuous in
        try #expect(pace(goal, wall, zone, sleep: sleep) == [whole, continuous])
    }

    /// Both readings of the pace, whole hours first.
    private static func pace(_ goal: Int, _ wall: String, _ zone: String = "Europe/Berlin", sleep: String = "22:00")
        throws -> [Int]
    {
        let calendar = DayCalendar(zone: try Zone(zone))
        let now = try local(wall, zone)
        let window = Pace.Window(now: now, calendar: calendar, wake: try time("07:00"), sleep: try time(sleep))
        return [
            Pace.calculateExpectedIntake(goalMl: goal, at: calendar.timeOfDay(at: now), end: try time(sleep)),
            Pace.expected(goalMl: goal, now: now, window: window),
        ]
    }

    private static let urgencies = Vector.numbered(
        "B2",
        [
            (2500, 20, 500), (2500, 5, 125), (1600, 20, 320), (3200, 20, 640), (1000, 5, 50), (2499, 20, 500),
        ] as [(Int, Int, Int)]
    ) { goal, percent, firstRed in
        for deficit in 0...(firstRed + 50) {
            let urgency = Urgency(deficitMl: deficit, goalMl: goal, thresholdPercent: percent)
            #expect(
                urgency == (deficit == 0 ? .onTrack : deficit < firstRed ? .attention : .overdue), "deficit \(deficit)")
        }
    }

    private static let rounding = Vector.numbered(
        "B3",
        [
            (0...24, 0, "On track ✓", false), (25...49, 50, "50ml to catch up", false),
            (50...74, 50, "50ml to catch up", true),
            (75...124, 100, "100ml to catch up", true), (125...174, 150, "150ml to catch up", true),
            (925...974, 950, "950ml to catch up", true), (975...1024, 1000, "1.0L to catch up", true),
            (1025...1074, 1050, "1.1L to catch up", true), (1225...1274, 1250, "1.2L to catch up", true),
            (1325...1374, 1350, "1.4L to catch up", true), (1825...1874, 1850, "1.9L to catch up", true),
        ] as [(ClosedRange<Int>, Int, String, Bool)]
    ) { deficits, rounded, text, reminds in
        for deficit in deficits {
            #expect(Amounts.roundToNearest50(deficit) == rounded)
            #expect(StatusText.short(deficitMl: deficit, totalMl: 0, goalMl: 2500) == text)
            #expect((deficit >= 50) == reminds)
        }
    }

    private static let litres = Vector.numbered(
        "B3-L",
        [
            (0, "0.0L"), (49, "0.0L"), (50, "0.1L"), (800, "0.8L"), (1200, "1.2L"), (1234, "1.2L"), (1250, "1.2L"),
            (1350, "1.4L"), (1450, "1.4L"), (2250, "2.2L"), (2450, "2.5L"), (2500, "2.5L"),
        ]
    ) { ml, text in
        #expect(Amounts.litres(ml) == text)
    }

    private static let examples: [Vector] = [
        Vector("B2-E") {
            let expected = try pace(2500, "2026-06-15 14:00:00")
            for (expected, deficit) in zip(expected, [366, 367]) {
                #expect(Pace.balance(expectedMl: expected, totalMl: 800) == deficit)
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

    private static let polls = Vector.numbered(
        "A7",
        [
            (-1, 60), (0, 60), (0.001, 120), (299.999, 120), (300, 300), (599.999, 300), (600, 600), (1200, 600),
            (nil, 600),
        ] as [(Double?, Double)]
    ) { due, poll in
        #expect(PollInterval.calculatePollInterval(secondsToDue: due) == poll)
    }
}
