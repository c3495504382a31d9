import Foundation
import GatewaySupport
import GRDB
import Support
import Testing
import TrackerCore
import TrackerSupport

@testable import Store

@Suite final class DecisionTests: StoreFixture {
    private func berlin(_ instant: Instant) throws -> WriteContext {
        context(at: instant, zone: try Zone("Europe/Berlin"))
    }

    /// B4-S2 minute by minute, with a new process before every evaluation.
    @Test func `scenario B4-S2 has the same result with a restart at every tick`() throws {
        let start = try #require(Instant(iso: "2026-06-15T04:00:00+02:00"))
        try TrackerStore(path: scratch.store).changeSettings([("reminders.backOnTrack", "true")], berlin(start))
        let drinks = ["10:05": 300, "11:50": 600, "15:00": 700, "19:00": 500, "20:00": 400]
        var delivered: [String] = []
        // A new process at random and at each hour: opening the store dominates the time of the test.
        var store = try TrackerStore(path: scratch.store)
        for minute in 0..<(24 * 60) {
            let context = try berlin(start.advanced(seconds: Double(minute * 60)))
            let time = String(context.zone.wall(at: context.now).description.dropFirst(11).prefix(5))
            if minute % 20 == 0 { store = try TrackerStore(path: scratch.store) }
            if let ml = drinks[time] { _ = try store.logDrink(ml: ml, context) }
            let sink = MemorySink()
            _ = try store.evaluate(context, sinks: [sink])
            delivered += sink.delivered.map { "\(time) \($0.kind.rawValue)" }
        }
        #expect(
            delivered == [
                "07:18 pace", "10:00 pace", "11:48 pace", "11:50 recovery", "12:42 pace", "15:00 recovery",
                "16:54 pace", "19:00 recovery", "19:54 pace", "20:00 goal",
            ])
        #expect(try store.notifications().count == 10)
        #expect(Set(try store.notifications().map(\.id)).count == 10)
    }

    @Test func `a repeated evaluation changes nothing`() throws {
        let noon = try berlin(try #require(Instant(iso: "2026-06-15T12:00:00+02:00")))
        _ = try store.startSession(noon)
        _ = try store.evaluate(noon, sinks: [MemorySink()])
        let before = try store.preview(noon).snapshot
        let changes = try store.dataVersion()
        for _ in 0..<3 { #expect(try store.evaluate(noon, sinks: [MemorySink()]).decisions.isEmpty) }
        #expect(try store.dataVersion() == changes)
        #expect(try store.preview(noon).snapshot == before)
    }

    /// D3: each day keeps the goal that it ended with. A streak survives a raised goal.
    @Test func `each day keeps its goal`() throws {
        let days = try (10...14).map { try #require(LocalDay("2026-06-\($0)")) }
        func noon(_ day: LocalDay) throws -> WriteContext {
            try berlin(try #require(Instant(iso: "\(day)T12:00:00+02:00")))
        }
        for day in days.prefix(3) {
            let context = try noon(day)
            _ = try store.logDrink(ml: 1300, context)
            _ = try store.logDrink(ml: 1300, context)
        }
        try store.changeSettings([("hydration.goalMl", "3000")], noon(days[3]))
        try store.changeSettings([("hydration.goalMl", "2800")], noon(days[3]))
        _ = try store.logDrink(ml: 2000, noon(days[3]))
        let history = try store.history(from: days[0], through: days[4])
        #expect(days.map { history[$0].goalMl } == [2500, 2500, 2500, 2800, 2800])
        #expect(days.map { history[$0].dayClass } == [.met, .met, .met, .partial, .none])
        #expect(try store.streak(today: days[3]) == 3 && store.streak(today: days[4]) == 0)
    }

    @Test func `valid settings are stored, and others are rejected with the rule`() throws {
        let context = try berlin(Instant(seconds: 1_780_000_000))
        try store.changeSettings([("schedule.wake", "06:30"), ("day.zone", "America/Nuuk")], context)
        let refusal = #expect(throws: SettingRefusal.self) {
            try store.changeSettings([("hydration.glassMl", "300"), ("hydration.goalMl", "100")], context)
        }
        #expect(refusal?.description.contains("500 to 5000") == true)
        let again = try TrackerStore(path: scratch.store).settings()
        #expect(
            again.wake == TimeOfDay("06:30") && again.dayZone == "America/Nuuk" && again.glassMl == 200, "all or none")
        try store.database.write { try $0.execute(sql: "INSERT INTO setting VALUES ('hydration.goalMl', '7')") }
        let (settings, invalid) = try store.validatedSettings()
        #expect(settings.goalMl == 2500 && invalid.map(\.name) == ["hydration.goalMl"])
    }

    @Test func `an alias can be removed`() throws {
        try store.adopt(BottleNames("A4:C1:38:00:00:01"))
        try store.changeSettings([("bottle.alias", "mine")], berlin(sampleInstant))
        try store.changeSettings([("bottle.alias", "unset")], berlin(sampleInstant))
        #expect(try store.bottles().map(\.name) == ["A4:C1:38:00:00:01"])
        #expect(try store.append([entry("A4:C1:38:00:00:01"), entry("mine")]) == [.stored, .duplicate])
        try store.changeSettings([("bottle.alias", "mine")], berlin(sampleInstant))
        #expect(try store.bottles().map(\.name) == ["mine"])
        // An alias of one bottle is not removed with the store's setting.
        try store.changeSettings([("bottle.alias", "kitchen")], ofBottle: "mine")
        try store.changeSettings([("bottle.alias", "unset")], berlin(sampleInstant))
        #expect(try store.bottles().map(\.name) == ["kitchen"])
    }
}

extension TrackerStore {
    /// Evaluates, delivers the decisions to channels in memory, and stores the results.
    func evaluate(_ context: WriteContext, sinks: [MemorySink]) throws -> Evaluation {
        let delivery = try beginDelivery(context)
        for id in delivery.evaluation.idsToClose { sinks.forEach { $0.close(id: id) } }
        for group in delivery.groups {
            let names = sinks.filter { $0.deliver(group.shown) }.map(\.name)
            try finish(group, of: delivery, acceptedBy: names, context)
        }
        return delivery.evaluation
    }
}
