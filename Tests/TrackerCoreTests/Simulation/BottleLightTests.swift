import Testing
import TrackerCore

@Suite struct BottleLightTests {
    /// Wall times at which the light changes.
    private func day(_ changes: [(String, String)], drinks: [(String, Int)] = []) throws -> [String] {
        var settings = Settings()
        try settings.set(changes.map { (name: $0.0, text: $0.1) })
        let zone = try Zone("Europe/Berlin")
        let calendar = DayCalendar(zone: zone, boundaryHour: 4)
        let date = try #require(LocalDay("2026-06-15"))
        func at(_ wall: String) throws -> Instant { calendar.instant(on: date, at: try #require(TimeOfDay(wall))) }
        let all = try drinks.map {
            Drink(
                key: $0.0, at: try at($0.0), calendar: calendar, ml: $0.1, source: .init(rawValue: "cli"),
                updatedAt: try at($0.0))
        }
        var (seen, last) = ([String](), BottleLight.off)
        for minute in 0..<(24 * 60) {
            let time = try #require(TimeOfDay(hour: minute / 60, minute: minute % 60))
            let now = calendar.instant(on: date, at: time)
            var facts = TrackerFacts(settings: settings, zone: zone, drinks: all.filter { $0.at <= now })
            facts.engineDay = nil
            let light = Tracker.evaluate(facts, now: now).light(by: settings.bottle)
            if light != last { seen.append("\(time) \(light)") }
            last = light
        }
        return seen
    }

    @Test func `the light by pace is gentle, then strong, then off at the goal`() throws {
        #expect(
            try day([("bottle.light", "true")], drinks: [("10:30", 300), ("15:00", 2200)]) == [
                "07:18 gentle", "10:00 strong", "10:30 gentle", "11:48 strong", "15:00 off",
            ])
    }

    @Test func `the light is off in quiet hours and before they begin`() throws {
        #expect(try day([("bottle.light", "true")]) == ["07:18 gentle", "10:00 strong", "21:55 off"])
        #expect(try day([("bottle.light", "true"), ("schedule.sleep", "20:00")]).last == "19:55 off")
    }

    @Test(
        arguments: [
            ([("reminders.engine", "interval")], ["08:10 gentle", "08:40 strong", "21:55 off"]),
            ([("reminders.engine", "adaptive")], ["09:00 gentle", "21:55 off"]),
            ([("reminders.enabled", "false")], []),
            ([("bottle.light", "false")], []),
        ] as [([(String, String)], [String])]) func `the light follows the selected engine`(
            changes: [(String, String)], light: [String]
        ) throws
    {
        #expect(try day([("bottle.light", "true")] + changes) == light)
    }
}
