import Testing

@testable import TrackerCore

/// B4's scenarios as whole days, minute by minute.
enum PaceDayTests {
    static let table: [Vector] = worldZones.flatMap { zone in
        [
            Vector("B4-S1/\(zone)") { try nothingDrunk(zone) },
            Vector("B4-S2/\(zone)") { try aDayOfDrinks(zone) },
            Vector("B4-S3/\(zone)") { try theCap(zone) },
            Vector("B4-S4/\(zone)") { try quietHours(zone) },
        ]
    }

    private static func amber(_ wall: String, _ amount: String) -> String {
        "\(wall) Time to hydrate! You're \(amount) behind pace."
    }
    private static func red(_ wall: String, _ amount: String) -> String {
        "\(wall) You're falling behind! Drink \(amount) to catch up."
    }
    private static let goal = "Good job! You've hit your daily hydration goal."
    private static let recovery = "Nice work - you're back on pace."

    private static func day(_ zone: String, wholeHours: Bool, drinks: [(String, Int)] = []) throws -> World {
        var world = try World(
            zone: zone, [("reminders.backOnTrack", "true"), ("pace.mode", wholeHours ? "wholeHours" : "continuous")])
        try world.runDay(drinks)
        return world
    }

    private static func nothingDrunk(_ zone: String) throws {
        let continuous = try day(zone, wholeHours: false)
        #expect(continuous.sent(.pace, .goal, .recovery) == [amber("07:18", "50ml"), red("10:00", "500ml")])
        #expect(continuous.engineDay?.remindersSent == 2)
        let whole = try day(zone, wholeHours: true)
        #expect(whole.sent(.pace, .goal, .recovery) == [amber("08:00", "150ml"), red("10:00", "500ml")])
    }

    private static func aDayOfDrinks(_ zone: String) throws {
        let drinks = [("10:05", 300), ("11:50", 600), ("15:00", 700), ("19:00", 500), ("20:00", 400)]
        let continuous = try day(zone, wholeHours: false, drinks: drinks)
        #expect(
            continuous.sent(.pace, .goal, .recovery) == [
                amber("07:18", "50ml"), red("10:00", "500ml"), red("11:48", "500ml"), "11:50 \(recovery)",
                amber("12:42", "50ml"), "15:00 \(recovery)", amber("16:54", "50ml"), "19:00 \(recovery)",
                amber("19:54", "50ml"), "20:00 \(goal)",
            ])
        #expect(continuous.engineDay?.remindersSent == 6)
        let whole = try day(zone, wholeHours: true, drinks: drinks)
        #expect(
            whole.sent(.pace, .goal, .recovery) == [
                amber("08:00", "150ml"), red("10:00", "500ml"), "11:50 \(recovery)", amber("13:00", "100ml"),
                "15:00 \(recovery)", amber("17:00", "50ml"), "19:00 \(recovery)", "20:00 \(goal)",
            ])
    }

    private static func theCap(_ zone: String) throws {
        let expected = ["07:06", "10:00", "10:06", "13:00", "13:06", "16:00", "16:06", "19:00"]
        for limit in [true, false] {
            var world = try World(zone: zone)
            world.settings.goalMl = 8000
            world.settings.dailyLimit = limit
            try world.run(
                from: world.moment("2026-06-15 04:00"), to: world.moment("2026-06-15 21:59"),
                after: { world, now, evaluation in
                    if evaluation.decisions.contains(where: { $0.acceptance == .pace(.overdue) }) {
                        world.drink(
                            evaluation.snapshot.pace.expectedMl - evaluation.snapshot.pace.dailyTotalMl, at: now)
                        // B8: an evaluation follows a log entry. It is on pace, so amber is armed again.
                        world.evaluate(at: now)
                    }
                })
            let times = world.times(.pace)
            #expect(Array(times.prefix(8)) == expected)
            #expect(limit ? times.count == 8 : times.dropFirst(8).first == "19:06")
        }
    }

    private static func quietHours(_ zone: String) throws {
        for (evaluated, expected) in [("2026-06-15 21:59", 1), ("2026-06-15 22:00", 0)] {
            var world = try World(zone: zone, [("reminders.backOnTrack", "true")])
            var state = EngineDay(dayKey: try TrackerCoreTests.day("2026-06-15"))
            state.lastNotified = .attention
            world.engineDay = state
            world.evaluate(at: try world.moment(evaluated))
            #expect(world.sent(.pace).count == expected)
            // At midnight the clock alone brings it on pace: cleared without a notification.
            world.evaluate(at: try world.moment("2026-06-16 00:00"))
            #expect(world.engineDay?.lastNotified == nil)
            #expect(world.sent(.recovery).isEmpty)
        }
    }
}
