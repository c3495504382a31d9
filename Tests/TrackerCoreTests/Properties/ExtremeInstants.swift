import Support
import Testing
import TrackerSupport

@testable import TrackerCore

/// No instant, day or duration from a file or a server may trap. Calls every public function with a time, with the
/// limits of the types, the limits of the calendar, and random values between.
@Suite struct ExtremeInstants {
    static let limits: [Int64] = [
        .min, .min + 1, .min + 999, .max, .max - 1, .max - 999, .min / 1000, .max / 1000, 0, -1, 1,
        253_402_300_799_999, 4_417_977_600_000,
    ]
    static let edges =
        limits
        + [
            "0000-01-01T00:00:00Z", "-0001-12-31T23:59:59Z", "9999-12-31T23:59:59Z", "+10000-01-01T00:00:00Z",
            "1969-12-31T23:59:59Z", "2110-01-01T00:00:00Z",
        ]
        .compactMap { Instant(iso: $0)?.milliseconds }

    private static func instants(_ random: inout SeededGenerator) -> [Instant] {
        (edges
            + (0..<6).map { _ in
                Int64.random(in: .min ... .max, using: &random) >> Int64.random(in: 0...62, using: &random)
            })
            .map(Instant.init(milliseconds:))
    }

    private static let zones = ["UTC", "Europe/Berlin", "America/Nuuk", "Pacific/Kiritimati", "Pacific/Pago_Pago"]

    @Test func `the list of extreme instants is complete`() { #expect(Self.edges.count == 19) }

    @Test(arguments: 1...24) func `extreme instants survive a text round trip`(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let zone = try Zone(Self.zones[seed % Self.zones.count])
        let calendar = DayCalendar(zone: zone, boundaryHour: seed % 7)
        let instants = Self.instants(&random)
        for instant in instants {
            #expect(Instant(iso: instant.description) == instant, "seed \(seed): \(instant)")
            let wall = zone.wall(at: instant)
            #expect(WallTime(wall.description) == wall, "seed \(seed): \(wall)")
            #expect(wall.timeText.count == 8)
            let day = calendar.day(of: instant)
            #expect(LocalDay(day.description) == day, "seed \(seed): \(day)")
            #expect(calendar.date(of: instant) >= day)
            _ = (calendar.start(of: day), calendar.timeOfDay(at: instant), zone.offsetSeconds(at: instant))
            _ = (
                day.adding(days: .max), day.adding(days: .min), day.weekday,
                History.week(containing: day, firstDay: .sunday)
            )
            _ = (zone.moments(of: wall), calendar.instant(on: day, at: TimeOfDay(hour: 23)))
            for seconds in [Double.nan, .infinity, -.infinity, 1e300, -1e300, .leastNonzeroMagnitude, 1e15] {
                _ = instant.advanced(seconds: seconds)
            }
            _ = Instant(seconds: instant.milliseconds)
            for other in instants { evaluatePair(instant, other, seed) }
        }
        for days in [Int.min, .min + 1, .max, .max - 1] { _ = LocalDay(daysSince1970: days).description }
    }

    private func evaluatePair(_ now: Instant, _ other: Instant, _ seed: Int) {
        let amount = seed.isMultiple(of: 2) ? Int.max : 2500
        #expect(now.seconds(to: other).isFinite)
        let window = Pace.Window(start: min(now, other), end: max(now, other))
        #expect((0...amount).contains(Pace.expected(goalMl: amount, now: now, window: window)))
        let next = NextDrink(
            now: now, wake: window.start, sleep: window.end, totalMl: -amount, goalMl: amount, glassMl: 1,
            lastDrink: other)
        #expect(next.secondsLeft?.isFinite != false)
        for hours in [0.5, 1e300, .nan, .leastNonzeroMagnitude] {
            let adaptive = AdaptiveReminder(start: window.start, end: window.end, intervalHours: hours)
            _ = (
                adaptive.latestTime(at: now, lastDrink: other), adaptive.nextTime(after: now, lastDrink: other),
                adaptive.hoursLeft(at: now), adaptive.displayedPace(remainingMl: amount, at: now)
            )
        }
        for interval in [1, Int64.max] {
            let grid = TimeGrid(start: other, interval: interval)
            _ = (grid.point(at: now), grid.nextPoint(after: now))
        }
        _ = (RelativeAge.text(from: now, to: other), AbandonedSession.hours(start: now, keepGoingAt: nil, now: other))
        _ = WriteStamp.wins(WriteStamp(updatedAt: now, device: "a"), over: WriteStamp(updatedAt: other, device: "b"))
    }

    @Test(arguments: 1...8) func `evaluations at extreme instants do not trap`(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let zone = try Zone(Self.zones[seed % Self.zones.count])
        var settings = Settings()
        try settings.set("reminders.engine", to: ["pace", "interval", "adaptive", "all"][seed % 4])
        try settings.set("waterline.bottleWater", to: ["perSip", "accumulate"][seed % 2])
        let instants = Self.instants(&random)
        for now in instants {
            for then in instants {
                var facts = TrackerFacts(
                    settings: settings, zone: zone,
                    drinks: [
                        Drink(
                            key: "d", at: then, calendar: DayCalendar(zone: zone), ml: seed % 2 == 0 ? .max : 100,
                            source: .bottle, updatedAt: then)
                    ])
                let session = WaterlineSession(id: "s", userID: "u", startTime: then)
                facts.waterline = WaterlineFacts(
                    session: session,
                    logs: [
                        LogEntry(
                            id: "l", sessionID: "s", timestamp: now, kind: .alcohol, standardDrinkEstimate: 1e300,
                            source: .cli, updatedAt: then, seq: .max)
                    ],
                    sips: [Sip(key: "x", at: then, ml: .max), Sip(key: "y", at: now, ml: .max)])
                var evaluation = Tracker.evaluate(facts, now: now)
                evaluation.deliver(to: [MemorySink()])
                _ = (evaluation.snapshot.companion, evaluation.snapshot.headline, evaluation.nextChange)
                _ = PollSchedule(facts, now: now)
                var ended = session
                ended.end(at: now, logs: facts.waterline?.logs ?? [], settings: settings)
                _ = (ended.computedSummary?.durationText, ended.elapsed(at: now))
            }
        }
    }

    @Test(arguments: 1...8) func `records received at extreme instants do not trap`(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let resolver = RecordResolver(
            zone: try Zone(Self.zones[seed % Self.zones.count]), maxAgeDays: seed % 2 == 0 ? .max : 180)
        for received in Self.instants(&random) {
            for year in [nil, 0, 2026, Int.max, Int.min] {
                let wall = WallTime(year: year ?? 2000, month: 2, day: 29, hour: 23, minute: 59, second: 59)
                _ = resolver.resolve(
                    wall, hasYear: year != nil, received: received,
                    evidence: .init(previous: received, lastPollWithoutIt: received))
            }
        }
    }

    @Test func `instants outside the supported range are rejected`() throws {
        #expect(Instant(iso: "1970-01-01T00:00:00Z")?.isSupported == true)
        #expect(Instant(iso: "2109-12-31T23:59:59.999Z")?.isSupported == true)
        for text in [
            "0000-01-01T00:00:00Z", "1969-12-31T23:59:59.999Z", "2110-01-01T00:00:00Z", "9999-12-31T00:00:00Z",
            "+10000-01-01T00:00:00Z",
        ] {
            let instant = try #require(Instant(iso: text))
            let refusal = #expect(throws: UnsupportedInstant.self) { try instant.checked() }
            #expect(refusal?.description.hasPrefix("invalid time \(text)") == true, "the text has the correct year")
        }
    }
}
