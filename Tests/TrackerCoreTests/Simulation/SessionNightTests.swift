import Testing

@testable import TrackerCore

/// E3 and E4 as whole nights, minute by minute; X1's scenarios.
enum SessionNightTests {
    static let table: [Vector] = abandoned + forgotten + silence + grids + perDrink + warnings + bottleWaters

    private static func night(_ zone: String, _ start: String, _ changes: [(String, String)] = []) throws -> World {
        var world = try World(zone: zone, changes)
        world.session = WaterlineSession(id: "s", userID: "u", startTime: try world.moment(start))
        return world
    }

    // E3: more than twelve real hours.
    private static let abandoned: [Vector] = Vector.numbered(
        "E3-A",
        [
            ("Europe/Berlin", "2026-06-15 20:00", "2026-06-16T06:00:00", 12),
            ("Europe/Berlin", "2026-10-24 20:00", "2026-10-25T06:00:00", 12),
            ("Europe/Berlin", "2026-03-28 20:00", "2026-03-29T07:00:00", 12),
            ("UTC", "2026-06-15 20:00", "2026-06-16T08:00:00", 12),
        ] as [(String, String, String, Int)]
    ) { zone, start, limit, hours in
        var world = try night(zone, start)
        let limit = try at(limit)
        world.evaluate(at: limit)
        #expect(world.sent(.waterlineAbandoned).isEmpty)
        world.evaluate(at: limit.advanced(seconds: 1))
        #expect(
            world.sent(.waterlineAbandoned).map { String($0.dropFirst(6)) } == [
                "Your session has been running for \(hours) hours. End it?"
            ])
        world.waterline?.keepGoing(at: limit.advanced(seconds: 1))
        world.evaluate(at: limit.advanced(seconds: 1 + 12 * 3600))
        #expect(world.sent(.waterlineAbandoned).count == 1)
        world.evaluate(at: limit.advanced(seconds: 2 + 12 * 3600))
        #expect(world.sent(.waterlineAbandoned).count == 2)
        #expect(
            AbandonedSession.hours(
                start: try world.moment(start), keepGoingAt: nil,
                now: try world.moment(start).advanced(seconds: 15 * 3600 + 59 * 60)) == 15)
    }

    // E3: one prompt, at the first minute past twelve hours, whatever the zone.
    private static let forgotten: [Vector] = worldZones.map { zone in
        Vector("E3-N/\(zone)") {
            var world = try night(zone, "2026-06-15 20:00")
            try world.run(from: world.moment("2026-06-15 20:00"), to: world.moment("2026-06-16 10:00"))
            #expect(world.sent(.waterlineAbandoned) == ["08:01 Your session has been running for 12 hours. End it?"])
        }
    }

    // E4: no entries.
    private static let silence: [Vector] = worldZones.flatMap { zone in
        Vector.numbered("E4-I/\(zone)", [(10, 8), (15, 5), (20, 4), (30, 2), (45, 1), (60, 1)]) { interval, count in
            var world = try night(zone, "2026-06-15 21:00", [("waterline.intervalMinutes", "\(interval)")])
            let start = try world.moment("2026-06-15 21:00")
            try world.run(from: start, to: start.advanced(seconds: 5 * 3600))
            let expected = try (1...count).map { try time("21:00").minutes + $0 * interval }
            #expect(world.times(.waterlineTime) == expected.map { "\(padded($0 / 60, 2)):\(padded($0 % 60, 2))" })
            #expect(world.sent(.waterlineTime).allSatisfy { $0.hasSuffix("Time for water") })
        }
    }

    private static let grids: [Vector] =
        worldZones.map { zone in
            Vector("E4-G1/\(zone)") {
                var world = try night(zone, "2026-06-15 21:00")
                let logged = [try world.moment("2026-06-15 21:50"), try world.moment("2026-06-15 23:00")]
                try world.run(from: world.moment("2026-06-15 21:00"), to: world.moment("2026-06-16 04:00")) {
                    world, now in
                    if logged.contains(now) { world.log(.water, at: now) }
                }
                #expect(
                    world.times(.waterlineTime) == [
                        "21:20", "21:40", "22:00", "22:20", "22:40", "23:00", "23:20", "23:40", "00:00", "00:20",
                    ])
            }
        } + [
            Vector("E4-G2") {
                var world = try night("Europe/Berlin", "2026-10-25 00:30", [("waterline.intervalMinutes", "30")])
                let start = try world.moment("2026-10-25 00:30")
                try world.run(from: start, to: start.advanced(seconds: 3.5 * 3600)) { world, now in
                    if start.seconds(to: now).truncatingRemainder(dividingBy: 1500) == 0 { world.log(.water, at: now) }
                }
                #expect(world.times(.waterlineTime) == ["01:00", "01:30", "02:00", "02:30", "02:00", "02:30", "03:00"])
            },
            // A new interval restarts the grid at the change; switching on again sends no missed ones.
            Vector("E4-G3") {
                var world = try night("UTC", "2026-06-15 21:00")
                let change = try world.moment("2026-06-15 21:25")
                let off = try world.moment("2026-06-15 21:36")
                let on = try world.moment("2026-06-15 21:47")
                try world.run(from: world.moment("2026-06-15 21:00"), to: world.moment("2026-06-15 22:00")) {
                    world, now in
                    if now == change { try world.settings.set("waterline.intervalMinutes", to: "10") }
                    if now == off { try world.settings.set("waterline.timeReminders", to: "false") }
                    if now == on { try world.settings.set("waterline.timeReminders", to: "true") }
                }
                #expect(world.times(.waterlineTime) == ["21:20", "21:35", "21:55"])
            },
        ]

    private static func sent(_ logs: String, _ kind: NotificationKind, _ changes: [(String, String)]) throws -> [Int] {
        var world = try night("UTC", "2026-06-15 21:00", changes)
        var found: [Int] = []
        for (index, entry) in entries(logs, start: try world.moment("2026-06-15 21:00"), minutes: 1).enumerated() {
            world.logs.append(entry)
            let before = world.sent(kind).count
            world.evaluate(at: entry.timestamp)
            if world.sent(kind).count > before { found.append(index + 1) }
        }
        return found
    }

    private static let perDrink = Vector.numbered(
        "E4-D", [(1, "A A W A", [1, 2, 4]), (2, "A A A W A", [2, 3]), (3, "A A W A A", [])] as [(Int, String, [Int])]
    ) { rule, logs, fired in
        try #expect(sent(logs, .waterlinePerDrink, [("waterline.waterEveryNDrinks", "\(rule)")]) == fired)
    }

    private static let warnings =
        Vector.numbered(
            "E4-W",
            [
                ("A A", [2]), ("A A A", [2]), ("A A W A", [2, 4]), ("A A W W A", [2]), ("2.0", [1]),
                ("0.6 0.7 0.7", [3]),
            ] as [(String, [Int])]
        ) { logs, fired in
            try #expect(sent(logs, .waterlineWarning, []) == fired)
        } + [
            // A lower threshold changes only the colour.
            Vector("E4-W07") {
                var world = try night("UTC", "2026-06-15 21:00", [("waterline.warningThreshold", "3")])
                world.logs = entries("A A", start: try world.moment("2026-06-15 21:00"))
                let now = try world.moment("2026-06-15 21:30")
                world.evaluate(at: now)
                try world.settings.set("waterline.warningThreshold", to: "2")
                let evaluation = world.evaluate(at: now)
                #expect(world.sent(.waterlineWarning).isEmpty)
                #expect(evaluation.snapshot.waterline?.state.isWarning == true)
            },
            // Several entries between two evaluations do not hide a crossing; deleting a water is one too.
            Vector("E4-W08") {
                var world = try night("UTC", "2026-06-15 21:00")
                world.logs = entries("A A W A", start: try world.moment("2026-06-15 21:00"))
                let now = try world.moment("2026-06-15 21:50")
                world.evaluate(at: now)
                #expect(world.sent(.waterlineWarning).count == 1)
                world.logs = entries("A A W A W", start: try world.moment("2026-06-15 21:00"))
                world.evaluate(at: now)
                world.logs.remove(at: 2)
                world.evaluate(at: now)
                #expect(world.sent(.waterlineWarning).count == 2)
            },
        ]

    private static let bottleWaters: [Vector] = worldZones.flatMap { zone in
        [
            Vector("X1-S1/\(zone)") {
                for (mode, value, since, adherence) in [
                    ("accumulate", 0.0, 0, 100), ("off", 1, 1, 0), ("perSip", -1, 0, 100),
                ] {
                    var world = try waterWorld(zone, mode)
                    world.sips = try waterSips(world)
                    let evaluation = world.evaluate(at: try world.moment("2026-06-15 21:20"))
                    let shown = evaluation.snapshot.waterline
                    #expect(shown?.state.value == value && shown?.state.sinceWater == since)
                    #expect(shown?.adherencePercent == adherence)
                    #expect(world.sent(.waterlinePerDrink).count == 1)
                }
            },
            Vector("X1-S2/\(zone)") {
                var world = try waterWorld(zone, "accumulate")
                let second = try world.moment("2026-06-15 21:25")
                world.log(.alcohol, at: second)
                let before = world.evaluate(at: second).snapshot.waterline
                #expect(before?.state.value == 2 && world.sent(.waterlineWarning).count == 1)
                world.sips = try waterSips(world)
                let after = world.evaluate(at: try world.moment("2026-06-15 21:30")).snapshot.waterline
                #expect(
                    after?.state.value == 1 && after?.state.sinceWater == 1 && after?.state.isWarning == false
                        && after?.adherencePercent == 50)
                #expect(world.sent(.waterlineWarning).count == 1)
                // The same drinks before the start or after the end change nothing.
                world.sips = world.sips.map { Sip(key: $0.key, at: $0.at.advanced(seconds: -1800), ml: $0.ml) }
                #expect(world.evaluate(at: try world.moment("2026-06-15 21:30")).snapshot.waterline?.state.value == 2)
                var ended = try #require(world.session)
                ended.end(at: try world.moment("2026-06-15 21:31"), logs: world.logs, settings: world.settings)
                let late = try waterSips(world).map { Sip(key: $0.key, at: $0.at.advanced(seconds: 1800), ml: $0.ml) }
                #expect(
                    BottleWater(sips: late, session: ended, now: second, mode: .accumulate, defaultWaterOz: 8).logs
                        .isEmpty)
            },
        ]
    }

    private static func waterWorld(_ zone: String, _ mode: String) throws -> World {
        var world = try night(zone, "2026-06-15 21:00", [("waterline.bottleWater", mode)])
        let first = try world.moment("2026-06-15 21:10")
        world.log(.alcohol, at: first)
        world.evaluate(at: first)
        return world
    }

    private static func waterSips(_ world: World) throws -> [Sip] {
        [
            Sip(key: "a", at: try world.moment("2026-06-15 21:12"), ml: 120),
            Sip(key: "b", at: try world.moment("2026-06-15 21:20"), ml: 117),
        ]
    }
}
