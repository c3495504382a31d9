import Foundation
import Store
import Testing
import TrackerCore
import TrackerService
import TrackerSupport

@Suite struct TrackerAPITests {
    let fixture: TrackerFixture

    init() throws { fixture = try TrackerFixture() }

    @Test func `drinks are logged, changed, deleted and undone with the new state`() throws {
        let logged = try fixture.tracker("10:00").logDrink(.ml(250))
        #expect(logged.drink.ml == 250 && logged.state.pace.dailyTotalMl == 250)
        let tracker = try fixture.tracker("11:00")
        let changed = try tracker.edit("d1", EntryChange(ml: 300)).asDrink()
        #expect(changed.drink.number == 2 && changed.state.pace.dailyTotalMl == 300)
        _ = try tracker.logDrink(.cup, at: tracker.moment("10:30"))
        let gone = try tracker.delete("d2").asDrink()
        #expect(gone.drink.ml == 300 && gone.state.drinkCount == 1)
        #expect(try tracker.undo().undone == "deletion of 300 ml")
        #expect(try tracker.day(tracker.today()).drinks.count == 2)
        let reset = try tracker.resetToday()
        #expect(reset.deleted.count == 2 && reset.state.pace.dailyTotalMl == 0)
    }

    @Test func `an edited drink stays on its day`() throws {
        let tracker = try fixture.tracker("12:00")
        _ = try tracker.logDrink(.ml(250), at: tracker.moment("2026-06-13T23:50"))
        for (number, (typed, day, instant)) in [
            ("23:40", "2026-06-13", "2026-06-13T21:40:00Z"), ("00:10", "2026-06-13", "2026-06-13T22:10:00Z"),
            ("9:05", "2026-06-13", "2026-06-13T07:05:00Z"), ("2026-06-14T09:05", "2026-06-14", "2026-06-14T07:05:00Z"),
        ].enumerated() {
            let moved = try tracker.edit("d\(number + 1)", EntryChange(timeText: typed)).asDrink().drink
            #expect(moved.localDay.description == day && moved.at.description == instant, "\(typed)")
        }
    }

    @Test(arguments: [("250", 250), ("cup", 250), ("quick2", 250)])
    func `an amount is a number, the cup or a quick amount`(text: String, ml: Int) throws {
        let settings = try fixture.store.settings()
        #expect(try Amount(text)?.millilitres(settings) == ml)
    }

    @Test func `a session starts, logs, ends and is sealed`() throws {
        _ = try fixture.tracker("19:00").setUp([], notifications: "skipped")
        #expect(try fixture.tracker("20:00").startSession().started)
        #expect(try !fixture.tracker("20:01").startSession().started)
        let beer = try fixture.tracker("20:10").drink(preset: "beer")
        #expect(beer.log.presetID != nil && beer.session.logs.count == 1)
        let long = try fixture.tracker("20:30").drink(type: .beer, sizeOz: 24, abv: 5)
        #expect(long.log.standardDrinkEstimate == 2 && long.log.presetID == nil)
        _ = try fixture.tracker("20:40").water()
        let edited = try fixture.tracker("20:45").edit("w1", EntryChange(estimate: 1.5)).asSession()
        #expect(edited.logs.first?.standardDrinkEstimate == 1.5)
        let ended = try fixture.tracker("23:00").endSession()
        #expect(!ended.session.isActive && ended.session.computedSummary?.drinks == 2)
        #expect(try fixture.tracker("23:01").sealLastSession().session.sealed)
        #expect(try fixture.tracker("23:02").sessions().sessions.count == 1)
    }

    @Test func `settings are changed all or none`() throws {
        let tracker = try fixture.tracker()
        let setUp = try tracker.setUp([("hydration.goalMl", "2000")], notifications: "skipped")
        #expect(setUp.isFirst && setUp.presets?.count == 5)
        let set = try tracker.set([("hydration.glassMl", "250"), ("waterline.defaultPreset", "shot")])
        #expect(set.lines.map(\.name) == ["hydration.glassMl", "waterline.defaultPreset"])
        #expect(set.lines[1].value.text == setUp.presets?.first { $0.name == "Shot" }?.id)
        #expect(throws: SettingRefusal.self) {
            try tracker.set([("hydration.glassMl", "300"), ("hydration.goalMl", "9000")])
        }
        #expect(
            try TrackerAPI.json(tracker.setting("hydration.glassMl")) == #"{"hydration.glassMl":250}"#, "all or none")
        #expect(try tracker.settings().lines.count == Settings.catalogue.count)
    }

    @Test func `the history reports days, weeks, months and the streak`() throws {
        _ = try fixture.tracker("2026-06-14T12:00").logDrink(.ml(2000))
        _ = try fixture.tracker("2026-06-14T13:00").logDrink(.ml(600))
        let tracker = try fixture.tracker()
        let yesterday = try tracker.day(DayText.day("yesterday", today: tracker.today()))
        #expect(yesterday.drinks.count == 2 && yesterday.day.record?.isMet == true)
        let week = try tracker.week(of: DayText.dayOfWeek("1", today: tracker.today()))
        #expect(week.days.first?.day == LocalDay("2026-06-08") && week.totalMl == 2600 && week.streak == 1)
        let month = try tracker.month(of: DayText.month("2026-06"))
        #expect(month.month == "2026-06" && month.days.count == 30 && month.metDays == 1)
        #expect(
            try TrackerAPI.json(month.days[29]) == #"{"class":null,"day":"2026-06-30","goalMl":null,"totalMl":null}"#)
        #expect(try TrackerAPI.json(tracker.streak()) == #"{"streak":1,"today":"2026-06-15","todayClass":"none"}"#)
    }

    /// D3: a week with a change of clocks has seven days, and each drink is on its own day. So has a month.
    @Test(arguments: [
        ("Europe/Berlin", "2026-03-23", "2026-03-28T23:30"), ("Europe/Berlin", "2026-03-23", "2026-03-29T03:59"),
        ("Europe/Berlin", "2026-10-19", "2026-10-25T02:30"), ("America/New_York", "2026-03-02", "2026-03-08T04:30"),
        ("America/Nuuk", "2026-03-23", "2026-03-28T22:30"), ("Australia/Lord_Howe", "2026-03-30", "2026-04-05T01:45"),
        ("America/Havana", "2026-03-02", "2026-03-08T05:00"),
    ])
    func `a week with a clock change has seven days`(zone: String, monday: String, drink: String) throws {
        let store = try TrackerStore(inMemory: zone)
        let zone = try Zone(zone)
        func tracker(_ wall: String) throws -> TrackerAPI {
            try TrackerAPI(
                store, now: TimeText.parse(wall, now: nil, zone: zone), zone: ZoneChoice(named: zone.id, machine: .utc),
                source: "cli")
        }
        _ = try tracker(drink).logDrink(.ml(300))
        let (first, later) = (try #require(LocalDay(monday)), try tracker("2026-12-01T12:00"))
        let week = try later.week(of: first.adding(days: 3))
        #expect(week.days.map(\.day) == (0..<7).map { first.adding(days: $0) } && week.totalMl == 300)
        // A day starts at 04:00.
        let time = drink.suffix(5)
        let day = try #require(LocalDay(String(drink.prefix(10)))).adding(days: time < "04:00" ? -1 : 0)
        #expect(week.days.filter { $0.record?.totalMl == 300 }.map(\.day) == [day])
        let month = try later.month(of: first)
        #expect(month.days.map(\.day.day) == Array(1...month.days.count))
    }

    /// US-021: the summary is stored, also without an entry, and no notification of the session follows.
    @Test(arguments: [0, 3])
    func `an ended session sends no notification`(drinks: Int) async throws {
        _ = try fixture.tracker("20:00").startSession()
        for number in 0..<drinks { _ = try fixture.tracker("20:0\(number + 1)").drink() }
        let sink = MemorySink()
        try await fixture.tracker("20:10").deliver([sink])
        #expect(sink.shown["waterline-live"] != nil)
        #expect(sink.shown.keys.contains { ["waterline-per-drink", "waterline-warning"].contains($0) } == (drinks > 0))
        let summary = try fixture.tracker("20:15").endSession().session.computedSummary
        #expect(summary?.drinks == drinks && summary?.durationSeconds == 900)
        let before = sink.delivered.count
        for minute in stride(from: 15, to: 14 * 60, by: 45) {
            let (hour, rest) = (20 + minute / 60, minute % 60)
            let wall =
                "2026-06-\(hour < 24 ? 15 : 16)T\(hour % 24 < 10 ? "0" : "")\(hour % 24):\(rest < 10 ? "0" : "")\(rest)"
            try await fixture.tracker(wall).deliver([sink])
            #expect(!sink.shown.keys.contains { $0.hasPrefix("waterline") }, "\(wall)")
        }
        #expect(!sink.delivered.dropFirst(before).contains { $0.kind.id.hasPrefix("waterline") })
    }

    @Test func `a preset's estimate follows size and strength, and tokens are stored as hashes`() throws {
        let tracker = try fixture.tracker()
        let added = try tracker.addPreset("Stout", PresetValues(type: .beer, sizeOz: 12, abv: 5))
        #expect(added.standardDrinkEstimate == 1)
        #expect(try tracker.editPreset("stout", PresetValues(sizeOz: 24)).standardDrinkEstimate == 2)
        #expect(try tracker.editPreset("stout", PresetValues(name: "Porter")).standardDrinkEstimate == 2)
        #expect(try tracker.deletePreset("PORTER").name == "Porter" && tracker.presets().presets.isEmpty)
        let token = try tracker.makeToken(label: "phone", scope: .log)
        #expect(
            try tracker.authenticate(token.token)?.scope == "log"
                && !TrackerAPI.json(tracker.tokens()).contains(token.token))
        #expect(try TrackerAPI.json(tracker.tokens()).contains(#""scope":"log""#))
        #expect(try tracker.revokeTokens(String(token.id.prefix(4))).revoked == 1)
        #expect(try tracker.authenticate(token.token) == nil)
    }

    /// B8: a drink re-arms reminders at its commit, without a check in between, whichever interface stores it.
    /// K-B11: the return to pace is notified later, once.
    @Test func `every change runs the tasks after a commit`() async throws {
        _ = try fixture.tracker("07:00").set([("reminders.backOnTrack", "true")])
        func delivered(_ wall: String) async throws -> [NotificationKind] {
            let sink = MemorySink()
            try await fixture.tracker(wall).deliver([sink])
            return sink.kinds
        }
        #expect(try await delivered("07:18") == [.pace])
        _ = try fixture.tracker("08:00", source: "http").logDrink(.ml(167))
        #expect(try await delivered("08:00") == [.recovery], "the drink allows another reminder when it is stored")
        #expect(try await delivered("08:01") == [])
        #expect(try await delivered("08:18") == [.pace], "amber again, 50 ml behind")
    }
}
