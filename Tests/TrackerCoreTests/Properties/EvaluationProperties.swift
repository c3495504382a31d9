import Support
import Testing
import TrackerSupport

@testable import TrackerCore

@Suite struct EvaluationProperties {
    private func world(_ seed: Int, _ random: inout SeededGenerator) throws -> World {
        let zones = worldZones + ["America/Havana", "Antarctica/Troll", "Africa/Casablanca", "Asia/Kathmandu"]
        var world = try World(zone: zones[seed % zones.count])
        let choices: [(String, [String])] = [
            ("reminders.engine", ["pace", "interval", "adaptive", "all"]), ("pace.mode", ["continuous", "wholeHours"]),
            ("reminders.backOnTrack", ["true", "false"]), ("reminders.dailyLimit", ["true", "false"]),
            ("reminders.maxPerDay", ["2", "8"]),
            ("reminders.enabled", ["true", "true", "false"]), ("hydration.goalMl", ["1600", "2500", "5000"]),
            ("schedule.interval.sleep", ["unset", "20:00"]), ("day.boundaryHour", ["0", "4"]),
            ("waterline.bottleWater", ["accumulate", "perSip", "off"]),
            ("waterline.intervalMinutes", ["10", "20", "60"]), ("waterline.waterEveryNDrinks", ["1", "3"]),
            ("waterline.discreet", ["true", "false"]),
        ]
        for (name, values) in choices { try world.settings.set(name, to: values.randomElement(using: &random) ?? "") }
        return world
    }

    /// Days with 23 and 25 hours among them. `World.evaluate` evaluates twice and compares.
    @Test(arguments: 1...48) func `a repeated evaluation changes nothing`(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var world = try world(seed, &random)
        let dates = ["2026-03-28", "2026-10-24", "2026-06-15", "2026-04-04"]
        var now = try world.moment("\(dates[seed % 4]) 05:00")
        let end = now.advanced(seconds: 2 * 86_400)
        var counts: [LocalDay: Int] = [:]
        while now < end {
            now = now.advanced(seconds: Double(Int.random(in: 1...2400, using: &random)))
            switch Int.random(in: 0..<10, using: &random) {
            case 0, 1: world.drink(Int.random(in: 10...400, using: &random), at: now)
            case 2 where world.session == nil:
                world.session = WaterlineSession(id: "s\(seed)", userID: "u", startTime: now)
            case 3 where world.session != nil: world.log(Bool.random(using: &random) ? .alcohol : .water, at: now)
            case 5:
                world.sips.append(
                    Sip(key: "sip\(world.sips.count)", at: now, ml: Int.random(in: 16...200, using: &random)))
            case 6: world.sink.isAvailable.toggle()
            case 7:
                world.drinks.indices.randomElement(using: &random).map { world.drinks[$0].isDeleted = true }
            default: break
            }
            let evaluation = world.evaluate(at: now)
            #expect(evaluation.nextChange > now, "seed \(seed)")
            #expect(evaluation.decisions.count { $0.kind.id == "hydration-reminder" } <= 1, "seed \(seed)")
            counts[evaluation.engineDay.dayKey] = evaluation.engineDay.remindersSent
        }
        if world.settings.dailyLimit {
            #expect(counts.values.allSatisfy { $0 <= world.settings.maxPerDay }, "seed \(seed)")
        }
        let ids = world.sink.delivered.map(\.notificationId)
        #expect(Set(ids).count == ids.count, "seed \(seed): an id was delivered twice")
    }
}
