import Testing

@testable import TrackerCore

/// A6: the events of one bottle, step by step; and travel (T-20) with the core's own totals.
enum IngestStoryTests {
    static let table: [Vector] =
        [
            Vector("A6-S2") { try keys() }, Vector("T-22") { try travel() },
        ] + worldZones.map { zone in Vector("A6-S1/\(zone)") { try story(zone) } }

    private static func record(_ wall: String, _ ml: Int, bottle: String = "b1", zone: String = "UTC") throws -> Drink {
        let zone = try Zone(zone)
        let wall = try #require(WallTime(wall))
        let received = try local("2026-02-03 18:00", zone.id)
        let resolution = RecordResolver(zone: zone).resolve(wall, hasYear: false, received: received)
        return Drink(
            key: Drink.bottleKey(bottle: bottle, wall: try #require(resolution.wall).description, amountMl: ml),
            at: try #require(resolution.instant), calendar: DayCalendar(zone: zone), ml: ml, source: .bottle,
            updatedAt: received)
    }

    /// One step per minute from 18:00 on; every minute to the next day's boundary is evaluated.
    private static func story(_ zone: String) throws {
        var world = try World(zone: zone)
        try world.settings.set("hydration.goalMl", to: "1600")
        func record(_ wall: String, _ ml: Int) throws -> Drink { try Self.record(wall, ml, zone: zone) }
        let first = [try record("2026-02-03T16:00:00", 100), try record("2026-02-03T17:00:00", 200)]
        let third = try record("2026-02-03T17:30:00", 50)
        let yesterday = try record("2026-02-02T16:00:00", 100)
        let steps: [(change: (inout World, Instant) -> Void, total: Int, rows: Int, last: Drink)] = [
            ({ world, _ in world.ledger.ingest(first) }, 300, 2, first[1]),
            ({ world, _ in world.ledger.ingest(first) }, 300, 2, first[1]),
            ({ world, _ in world.ledger.ingest([third]) }, 350, 3, third),
            ({ world, _ in world.ledger.ingest([yesterday, first[1]]) }, 350, 3, third),
            ({ world, _ in world.ledger.ingest((first + [third]).reversed()) }, 350, 3, third),
            (
                { world, now in
                    world.ledger.delete(first[1].key, at: now)
                    world.ledger.ingest(first + [third])
                }, 150, 2, third
            ),
        ]
        let start = try world.moment("2026-02-03 18:00")
        let boundary = try world.moment("2026-02-04 04:00")
        world.run(
            from: start, to: boundary,
            before: { world, now in
                let step = Int(start.seconds(to: now) / 60)
                if step < steps.count { steps[step].change(&world, now) }
            },
            after: { _, now, evaluation in
                let pace = evaluation.snapshot.pace
                if now == boundary {
                    #expect(pace.dailyTotalMl == 0 && pace.lastDrinkTime == nil && evaluation.snapshot.drinkCount == 0)
                } else {
                    let step = steps[min(Int(start.seconds(to: now) / 60), steps.count - 1)]
                    #expect(pace.dailyTotalMl == step.total && evaluation.snapshot.drinkCount == step.rows, "at \(now)")
                    #expect(pace.lastDrinkTime == step.last.at, "at \(now)")
                }
            })
        try #expect(world.ledger.intake(on: day("2026-02-02")).totalMl == 100)
    }

    private static func keys() throws {
        let one = try record("2026-02-03T16:00:00", 100)
        var ledger = DrinkLedger()
        // Twice in one response: one drink. Another amount in the same second, or another bottle: another drink.
        ledger.ingest([
            one, one, try record("2026-02-03T16:00:00", 101), try record("2026-02-03T16:00:00", 100, bottle: "b2"),
        ])
        #expect(ledger.drinks.count == 3)
        // 0 ml is stored and does not count.
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
