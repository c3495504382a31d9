import Testing
import TrackerSupport

@testable import TrackerCore

/// B9: the checks that the core can show. The specification's page of checks lists the tests of the others.
enum CheckVectors {
    static let table: [Vector] = [
        Vector("B9-01") {
            let pace = try paceWith(0, at: "14:00")
            #expect(pace.deficitMl == 1167 && pace.urgency == .overdue)
        },
        Vector("B9-02") {
            let pace = try paceWith(800, at: "14:00")
            #expect(pace.statusText == "350ml to catch up")
            #expect(StatusText.long(deficitMl: pace.deficitMl, totalMl: 800, goalMl: 2500) == "350 ml behind target")
        },
        Vector("B9-03") {
            let behind = try paceWith(800, at: "14:00")
            try #expect(paceWith(800 + behind.deficitMl, at: "14:00").statusText == "On track ✓")
        },
        Vector("B9-04") {
            var world = try World()
            world.evaluate(at: try world.moment("2026-06-15 23:00"))
            #expect(world.sent(.pace).isEmpty)
        },
        Vector("B9-05") {
            for (limit, count) in [(true, 0), (false, 1)] {
                var world = try World()
                world.settings.dailyLimit = limit
                var state = EngineDay(dayKey: try day("2026-06-15"))
                state.remindersSent = 8
                world.engineDay = state
                world.evaluate(at: try world.moment("2026-06-15 10:00"))
                #expect(world.sent(.pace).count == count)
            }
        },
        Vector("B9-06") {
            var world = try World()
            let now = try world.moment("2026-06-15 10:00")
            world.evaluate(at: now)
            #expect(world.sink.shown["hydration-reminder"] != nil)
            world.drink(2500, at: now)
            let evaluation = world.evaluate(at: now)
            #expect(evaluation.snapshot.pace.statusText == "Goal reached! 🎉")
            #expect(world.sink.shown["hydration-reminder"] == nil && world.sink.shown["hydration-goal-reached"] != nil)
        },
        Vector("B9-11") {
            #expect(try ["14:00", "14:01", "14:02"].map { try paceWith(0, at: $0).deficitMl } == [1167, 1169, 1172])
            var last = try paceWith(0, at: "12:00").deficitMl
            for minutes in stride(from: 2, to: 120, by: 2) {
                let deficit = try paceWith(0, at: "\(12 + minutes / 60):\(padded(minutes % 60, 2))").deficitMl
                #expect((5...6).contains(deficit - last))
                last = deficit
            }
        },
        Vector("B9-13") {
            var world = try World()
            let now = try world.moment("2026-06-15 10:00")
            world.drink(2500, at: now)
            let decisions = world.evaluate(at: now).decisions
            #expect(decisions.map(\.title) == ["Goal Reached! 💧"])
            #expect(decisions.map(\.body) == ["Good job! You've hit your daily hydration goal."])
        },
        Vector("B9-14") {
            var world = try World()
            let now = try world.moment("2026-06-15 10:00")
            for minute in 0..<5 {
                world.drink(2500, at: now.advanced(seconds: Double(minute) * 60))
                world.evaluate(at: now.advanced(seconds: Double(minute) * 60))
            }
            #expect(world.sent(.goal).count == 1)
        },
        Vector("B9-15") {
            // One decision, two sinks, one of them rejecting: delivered once to each, counted once.
            let world = try World()
            let now = try world.moment("2026-06-15 10:00")
            var evaluation = Tracker.evaluate(world.facts(at: now), now: now)
            let sinks = [MemorySink(), MemorySink { _ in false }, MemorySink()]
            evaluation.deliver(to: sinks)
            #expect(sinks.map(\.delivered.count) == [1, 0, 1] && sinks[1].offered.count == 1)
            #expect(sinks[0].delivered == sinks[2].delivered && evaluation.engineDay.remindersSent == 1)
        },
        Vector("B9-16") {
            let world = try World()
            let now = try world.moment("2026-06-15 10:00")
            #expect(Tracker.evaluate(world.facts(at: now), now: now).decisions.map(\.haptic) == ["notification"])
        },
        Vector("B9-17") { #expect(AmountUnits.ml.deficit(73) == "50ml") },
        Vector("B9-18") {
            #expect(StatusText.short(deficitMl: 24, totalMl: 0, goalMl: 2500) == "On track ✓")
            #expect(StatusText.short(deficitMl: 25, totalMl: 0, goalMl: 2500) == "50ml to catch up")
        },
        Vector("B9-19") {
            for (deficit, count) in [(49, 0), (50, 1)] {
                var world = try World()
                let now = try world.moment("2026-06-15 10:00")
                world.drink(500 - deficit, at: now.advanced(seconds: -60))
                #expect(world.evaluate(at: now).snapshot.pace.deficitMl == deficit)
                #expect(world.sent(.pace).count == count)
            }
        },
    ]

    private static func paceWith(_ total: Int, at wall: String) throws -> PaceSnapshot {
        let zone = try Zone("Europe/Berlin")
        let now = try local("2026-06-15 \(wall)")
        let today = DayCalendar(zone: zone).day(of: now)
        let facts = TrackerFacts(zone: zone, days: [today: DayIntake(day: today, totalMl: total, count: 1)])
        return Tracker.evaluate(facts, now: now).snapshot.pace
    }
}
