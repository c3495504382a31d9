import Testing
import TrackerCore

/// Section 2: the day of an instant (T), and the lengths and starts of days (T-D).
@Suite struct DayVectors {
    static let table: [Vector] = days + travel + lengths

    @Test(arguments: table) func vector(_ vector: Vector) throws { try vector.check() }

    private static let days: [Vector] =
        ([
            ("T-01", "Europe/Berlin", "2026-02-03T02:59:59", "03:59:59", "2026-02-02", "2026-02-03"),
            ("T-02", "Europe/Berlin", "2026-02-03T03:00:00", "04:00:00", "2026-02-03", "2026-02-03"),
            ("T-03", "Europe/Berlin", "2026-03-29T01:59:59", "03:59:59", "2026-03-28", "2026-03-29"),
            ("T-04", "Europe/Berlin", "2026-03-29T02:00:00", "04:00:00", "2026-03-29", "2026-03-29"),
            ("T-05", "Europe/Berlin", "2026-10-25T00:30:00", "02:30:00", "2026-10-24", "2026-10-25"),
            ("T-06", "Europe/Berlin", "2026-10-25T01:30:00", "02:30:00", "2026-10-24", "2026-10-25"),
            ("T-07", "Europe/Berlin", "2026-10-25T02:59:59", "03:59:59", "2026-10-24", "2026-10-25"),
            ("T-08", "Europe/Berlin", "2026-10-25T03:00:00", "04:00:00", "2026-10-25", "2026-10-25"),
            ("T-09", "America/New_York", "2026-03-08T08:00:00", "04:00:00", "2026-03-08", "2026-03-08"),
            ("T-10", "America/New_York", "2026-11-01T08:59:59", "03:59:59", "2026-10-31", "2026-11-01"),
        ] as [(String, String, String, String, String, String)]).map { id, zone, instant, wall, four, midnight in
            Vector(id) {
                let zone = try Zone(zone)
                let instant = try at(instant)
                #expect(zone.wall(at: instant).description.hasSuffix(wall))
                #expect(DayCalendar(zone: zone, boundaryHour: 4).day(of: instant).description == four)
                #expect(DayCalendar(zone: zone, boundaryHour: 0).day(of: instant).description == midnight)
            }
        }

    private static let travel: [Vector] = [
        Vector("T-20") {
            let drunk = try at("2026-06-02T03:30:00")
            let home = DayCalendar(zone: try Zone("America/New_York"))
            let away = DayCalendar(zone: try Zone("Europe/Berlin"))
            #expect(home.day(of: drunk).description == "2026-06-01")
            try #expect(away.day(of: at("2026-06-02T03:31:00")).description == "2026-06-02")
        },
        Vector("T-21") {
            let drinks = [("00:30", 100), ("01:30", 150), ("02:30", 50), ("03:00", 200)]
            let zone = try Zone("Europe/Berlin")
            for (boundary, expected) in [(4, ["2026-10-24": 300, "2026-10-25": 200]), (0, ["2026-10-25": 500])] {
                var totals: [String: Int] = [:]
                for (time, ml) in drinks {
                    let day = DayCalendar(zone: zone, boundaryHour: boundary).day(of: try at("2026-10-25T\(time):00"))
                    totals[day.description, default: 0] += ml
                }
                #expect(totals == expected)
            }
        },
    ]

    private static let lengths = Vector.numbered(
        "T-D",
        [
            ("Europe/Berlin", "2026-06-15", 24, "2026-06-15T02:00", 24, "2026-06-14T22:00"),
            ("Europe/Berlin", "2026-03-28", 23, "2026-03-28T03:00", 24, "2026-03-27T23:00"),
            ("Europe/Berlin", "2026-03-29", 24, "2026-03-29T02:00", 23, "2026-03-28T23:00"),
            ("Europe/Berlin", "2026-10-24", 25, "2026-10-24T02:00", 24, "2026-10-23T22:00"),
            ("Europe/Berlin", "2026-10-25", 24, "2026-10-25T03:00", 25, "2026-10-24T22:00"),
            ("America/New_York", "2026-10-31", 25, "2026-10-31T08:00", 24, "2026-10-31T04:00"),
            ("Australia/Lord_Howe", "2026-04-04", 24.5, "2026-04-03T17:00", 24, "2026-04-03T13:00"),
            ("America/Havana", "2026-03-08", 24, "2026-03-08T08:00", 23, "2026-03-08T05:00"),
        ] as [(String, String, Double, String, Double, String)]
    ) { zone, date, hours, start, midnightHours, midnightStart in
        let zone = try Zone(zone)
        let four = DayCalendar(zone: zone, boundaryHour: 4)
        let midnight = DayCalendar(zone: zone, boundaryHour: 0)
        try #expect(four.start(of: day(date)) == (at(start)))
        let next = try day(date).adding(days: 1)
        try #expect(four.start(of: day(date)).seconds(to: four.start(of: next)) == hours * 3600)
        try #expect(midnight.start(of: day(date)) == (at(midnightStart)))
        try #expect(midnight.start(of: day(date)).seconds(to: midnight.start(of: next)) == midnightHours * 3600)
    }
}
