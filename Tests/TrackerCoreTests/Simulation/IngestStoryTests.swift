import Testing

@testable import TrackerCore

/// A6: the story of one bottle, step by step; and travel (T-20) with the core's own totals.
@Suite struct IngestStoryTests {
    static let table: [Vector] = [
        Vector("A6-S1") { try story() }, Vector("A6-S2") { try keys() }, Vector("T-22") { try travel() },
    ]

    @Test(arguments: table) func vector(_ vector: Vector) throws { try vector.check() }

    private static func record(_ wall: String, _ ml: Int, bottle: String = "b1") throws -> Drink {
        let wall = try #require(WallTime(wall))
        let fields = RecordFields(
            year: nil, month: wall.month, day: wall.day, hour: wall.hour, minute: wall.minute, second: wall.second)
        let received = try at("2026-02-03T18:00:00")
        let resolution = RecordResolver(zone: .utc).resolve(fields, received: received)
        return Drink(
            key: Drink.bottleKey(bottle: bottle, wall: try #require(resolution.wall), amountMl: ml),
            at: try #require(resolution.instant), calendar: DayCalendar(zone: .utc), ml: ml, source: .bottle, updatedAt: received)
    }

    private static func story() throws {
        let now = try at("2026-02-03T18:00:00")
        var ledger = DrinkLedger()
        func today(_ ledger: DrinkLedger, _ moment: Instant? = nil) throws -> DayIntake {
            let facts = TrackerFacts(zone: .utc, drinks: Array(ledger.drinks.values))
            return facts.today(at: moment ?? now)
        }
        let first = [try record("2026-02-03T16:00:00", 100), try record("2026-02-03T17:00:00", 200)]
        for _ in 0..<2 {
            ledger.ingest(first)
            let intake = try today(ledger)
            try #expect(intake.totalMl == 300 && intake.count == 2 && intake.lastDrink == at("2026-02-03T17:00:00"))
        }
        let third = [try record("2026-02-03T17:30:00", 50)]
        ledger.ingest(third)
        try #expect(today(ledger).totalMl == 350)
        ledger.ingest([try record("2026-02-02T16:00:00", 100), first[1]])
        try #expect(today(ledger).totalMl == 350)
        try #expect(ledger.intake(on: day("2026-02-02")).totalMl == 100)
        ledger.ingest((first + third).reversed())
        try #expect(today(ledger).totalMl == 350 && today(ledger).lastDrink == at("2026-02-03T17:30:00"))
        ledger.delete(first[1].key, at: now)
        ledger.ingest(first + third)
        try #expect(today(ledger).totalMl == 150)
        try #expect(today(ledger, at("2026-02-04T03:59:59")).totalMl == 150)
        let next = try today(ledger, at("2026-02-04T04:00:00"))
        #expect(next.totalMl == 0 && next.lastDrink == nil && next.drinks.isEmpty)
    }

    private static func keys() throws {
        let one = try record("2026-02-03T16:00:00", 100)
        var ledger = DrinkLedger()
        // Twice in one response: one drink. Another amount in the same second, or another bottle: another drink.
        ledger.ingest([one, one, try record("2026-02-03T16:00:00", 101), try record("2026-02-03T16:00:00", 100, bottle: "b2")])
        #expect(ledger.drinks.count == 3)
        // 0 ml is kept and does not count.
        ledger.ingest([try record("2026-02-03T17:00:00", 0)])
        let intake = ledger.intake(on: try day("2026-02-03"))
        #expect(ledger.drinks.count == 4)
        try #expect(intake.count == 3 && intake.totalMl == 301 && intake.lastDrink == at("2026-02-03T16:00:00"))
    }

    private static func travel() throws {
        let drunk = try at("2026-06-02T03:30:00")
        let home = DayCalendar(zone: try Zone("America/New_York"))
        let drink = Drink(key: "k", at: drunk, calendar: home, ml: 300, source: .cli, updatedAt: drunk)
        let away = TrackerFacts(zone: try Zone("Europe/Berlin"), drinks: [drink])
        let now = try at("2026-06-02T03:31:00")
        #expect(away.calendar.day(of: now).description == "2026-06-02")
        #expect(away.today(at: now).totalMl == 0)
        #expect(drink.localDay.description == "2026-06-01")
    }
}
