import Testing
import TrackerCore

/// Section 2: the day of an instant (T), the lengths and starts of days (T-D), and the drinks of a day (A6).
enum DayVectors {
    static var table: [Vector] { get throws { try days() + travel + lengths() } }

    private struct Day: Decodable, Identifiable, Sendable {
        let id: String, zone: String, instant: String, localTime: String, dayFrom4: String, dayFromMidnight: String
    }

    private static func days() throws -> [Vector] {
        try Vector.published("days") { (row: Day) in
            let zone = try Zone(row.zone)
            let instant = try at(row.instant)
            #expect(zone.wall(at: instant).description.hasSuffix(row.localTime))
            #expect(DayCalendar(zone: zone, boundaryHour: 4).day(of: instant).description == row.dayFrom4)
            #expect(DayCalendar(zone: zone, boundaryHour: 0).day(of: instant).description == row.dayFromMidnight)
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
        Vector("T-22") {
            let drunk = try at("2026-06-02T03:30:00")
            let home = DayCalendar(zone: try Zone("America/New_York"))
            let drink = Drink(key: "k", at: drunk, calendar: home, ml: 300, source: .cli, updatedAt: drunk)
            let away = TrackerFacts(zone: try Zone("Europe/Berlin"), drinks: [drink])
            let now = try at("2026-06-02T03:31:00")
            #expect(away.calendar.day(of: now).description == "2026-06-02")
            #expect(away.today(at: now).totalMl == 0)
            #expect(drink.localDay.description == "2026-06-01")
        },
        Vector("A6-S2") {
            let keys = [("b1", 100), ("b1", 101), ("b2", 100), ("b1", 0)].map { bottle, ml in
                (Drink.bottleKey(bottle: bottle, wall: "2026-02-03T16:00:00", amountMl: ml), ml)
            }
            #expect(Set(keys.map(\.0)).count == 4)
            let at = try at("2026-02-03T16:00:00")
            let drinks = keys.map { key, ml in
                Drink(key: key, at: at, calendar: DayCalendar(zone: .utc), ml: ml, source: .bottle, updatedAt: at)
            }
            let intake = DayIntake(day: try day("2026-02-03"), folding: drinks)
            #expect(intake.count == 3 && intake.totalMl == 301 && intake.lastDrink == at)
        },
    ]

    private struct DayLength: Decodable, Identifiable, Sendable {
        let id: String, zone: String, day: String
        let hoursFrom4: Double, startFrom4: String, hoursFromMidnight: Double, startFromMidnight: String
    }

    private static func lengths() throws -> [Vector] {
        try Vector.published("dayLengths") { (row: DayLength) in
            let zone = try Zone(row.zone)
            let today = try day(row.day)
            for (hour, length, start) in [
                (4, row.hoursFrom4, try at(row.startFrom4)), (0, row.hoursFromMidnight, try at(row.startFromMidnight)),
            ] {
                let calendar = DayCalendar(zone: zone, boundaryHour: hour)
                let next = calendar.start(of: today.adding(days: 1))
                #expect(calendar.start(of: today) == start)
                #expect(calendar.start(of: today).seconds(to: next) == length * 3600)
            }
        }
    }
}
