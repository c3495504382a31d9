import Foundation
import Store
import Support
import Testing
import TrackerCore
import TrackerService

@testable import HomeAssistant

/// What brokers keep of a day that is not published there any more, with real brokers.
@Suite("What was left at a broker", .timeLimit(.minutes(3))) struct LeavingsTests {
    /// A day that is published, with a bottle.
    private func published(_ broker: Broker, isInFile: Bool = false) async throws -> OutletRig {
        let rig = try OutletRig(broker, isInFile: isInFile)
        try rig.store.adoptBottle("A4:C1:38:01:02:03")
        _ = try rig.desk().logDrink(.ml(333))
        rig.start()
        try await rig.connected()
        #expect(await event { try? rig.store.keptTopics(of: "mqtt").count >= 6 ? true : nil } == true)
        return rig
    }

    private func isEmpty(_ broker: Broker) async throws -> Bool {
        try await event(within: 60) { try await broker.kept().isEmpty ? true : nil } == true
    }

    /// The settings went with the purge, and with them the broker's address: everything that it kept stayed there.
    @Test(arguments: ["broker away", "no service"]) func whatIsPurgedIsTakenBackAsSoonAsTheBrokerCanBeReached(
        _ what: String
    ) async throws {
        let broker = try await Broker()
        var rig = try await published(broker)
        if what == "no service" {
            await rig.stop()
        } else {
            try await broker.stop()
            _ = await event { await rig.sink.canShow() ? nil : true }
        }
        _ = try await rig.desk().purge()
        #expect(try rig.desk().leftBehind() >= 6)
        if what == "no service" {
            rig = try OutletRig(broker, [("mqtt.url", "")], store: rig.store)
            rig.start()
        } else {
            try await broker.start()
        }
        #expect(try await isEmpty(broker), "\(rig.words.withLock { $0 })")
        #expect(await event { (try? rig.desk().leftBehind()) == 0 ? true : nil } == true)
        #expect(
            await event {
                rig.words.withLock { $0.contains { if case .takenBack = $0 { true } else { false } } } ? true : nil
            } == true)
        await rig.stop()
    }

    /// The address stands in a file and outlives the purge: who is published there now keeps what is theirs.
    @Test func whatIsPurgedUnderAServiceWhoseBrokerIsAwayMakesRoomForTheNext() async throws {
        let broker = try await Broker()
        let rig = try await published(broker, isInFile: true)
        let before = try #require(try rig.store.identity(of: "mqtt")).id
        try await broker.stop()
        _ = await event { await rig.sink.canShow() ? nil : true }
        _ = try await rig.desk().purge()
        _ = try rig.desk().logDrink(.ml(77))
        try await broker.start()
        #expect(
            await event(within: 60) { (try? rig.desk().leftBehind()) == 0 ? true : nil } == true,
            "\(rig.words.withLock { $0 })")
        let after = try #require(try rig.store.identity(of: "mqtt")).id
        let isNew = try await event(within: 60) {
            let all = try await broker.kept()
            return all.contains { $0.contains("waterh_\(after)/config {") }
                && all.contains { $0.hasPrefix("1 h/state {") && $0.contains("\"dailyTotalMl\":77") }
                && !all.contains { $0.contains(before) || $0.contains("a4c138010203") } ? true : nil
        }
        #expect(isNew == true)
        await rig.stop()
    }

    /// The purge came while the day was looked at: the bottle's device went by that look, and once more as something
    /// that was left. Home Assistant complains of a device that it does not know.
    @Test func whatGoesInTheMomentOfThePurgeGoesOnce() async throws {
        let broker = try await Broker()
        let rig = try await published(broker, isInFile: true)
        let ear = try await broker.listen("#", more: ["-R"])
        let store = rig.store
        rig.whileItLooks.withLock { $0 = { try? store.purge() } }
        await rig.outlet.poke()
        try await rig.connected(2)
        #expect(
            await event(within: 60) { (try? rig.desk().leftBehind()) == 0 ? true : nil } == true,
            "\(rig.words.withLock { $0 })")
        #expect(
            !rig.words.withLock { $0.contains { if case .takenBack = $0 { true } else { false } } },
            "\(rig.words.withLock { $0 })")
        #expect(ear.payloads(at: "h/bottle/a4c138010203").count { $0.isEmpty } == 1, "\(ear.output)")
        await rig.stop()
    }

    /// The old broker kept the day of the moment in which the settings began to name another one.
    @Test(arguments: ["old broker away", "no service"]) func whatABrokerKeepsThatIsNotNamedAnyMoreIsTakenBack(
        _ what: String
    ) async throws {
        let (old, new) = (try await Broker(), try await Broker())
        var rig = try await published(old)
        if what == "no service" {
            await rig.stop()
        } else {
            try await old.stop()
            _ = await event { await rig.sink.canShow() ? nil : true }
        }
        if what == "no service" {
            rig = try OutletRig(new, store: rig.store)
            rig.start()
        } else {
            _ = try rig.desk().set([(name: "mqtt.url", text: new.url)])
            try await rig.connected(2)
            try await old.start()
        }
        #expect(try await isEmpty(old), "\(rig.words.withLock { $0 })")
        #expect(try await event(within: 60) { try await new.kept().count >= 6 ? true : nil } == true)
        await rig.stop()
    }

    /// One broker, called by another name: nothing of what is published there is taken away.
    @Test func aBrokerUnderAnotherNameKeepsWhatItHas() async throws {
        let broker = try await Broker()
        var rig = try await published(broker)
        await rig.stop()
        let all = Set(try await broker.kept().compactMap { $0.split(separator: " ").dropFirst().first })
        rig = try OutletRig(broker, [("mqtt.url", "mqtt://localhost:\(broker.port)")], store: rig.store)
        let ear = try await broker.listen("#", more: ["-R"])
        rig.start()
        try await rig.connected()
        #expect(
            await event(within: 60) { (try? rig.desk().leftBehind()) == 0 ? true : nil } == true,
            "\(rig.words.withLock { $0 })")
        let isThere = try await event(within: 60) {
            let now = try await broker.kept()
            return now.contains("1 h/availability online")
                && Set(now.compactMap { $0.split(separator: " ").dropFirst().first }) == all ? true : nil
        }
        #expect(isThere == true, "\(ear.output)")
        await rig.stop()
    }

    /// An adversary's finding: a clock that was a year fast for 20 seconds gave up for ever what the old broker still
    /// kept.
    @Test func aClockThatIsFastForAWhileGivesNothingUp() async throws {
        let (old, new) = (try await Broker(), try await Broker())
        let rig = try await published(old)
        try await old.stop()
        _ = await event { await rig.sink.canShow() ? nil : true }
        _ = try rig.desk().set([(name: "mqtt.url", text: new.url)])
        try await rig.connected(2)
        func isTried() -> Bool {
            rig.words.withLock {
                $0.contains { if case .stays(let words) = $0 { words.contains("tried again") } else { false } }
            }
        }
        #expect(await event(within: 60) { isTried() ? true : nil } == true, "\(rig.words.withLock { $0 })")
        let before = try #require(try rig.store.leavings().first).tried
        rig.lead.withLock { $0 = 365 * 86_400 }
        // It was tried again meanwhile, and that much the store has noted.
        #expect(
            await event(within: 60) { ((try? rig.store.leavings().first?.tried) ?? 0) > before ? true : nil } == true)
        rig.lead.withLock { $0 = 0 }
        #expect(try rig.desk().leftBehind() >= 6)
        try await old.start()
        #expect(try await isEmpty(old), "\(rig.words.withLock { $0 })")
        await rig.stop()
    }

    /// What is given up after 30 days of trying, however the clocks went.
    @Test func afterThirtyDaysOfTryingItIsGivenUp() async throws {
        let broker = try await Broker()
        let rig = try await published(broker)
        try await broker.stop()
        _ = await event { await rig.sink.canShow() ? nil : true }
        _ = try await rig.desk().purge()
        for one in try rig.store.leavings() { try rig.store.noteTried(one, seconds: 30 * 86_400) }
        #expect(await event(within: 60) { (try? rig.desk().leftBehind()) == 0 ? true : nil } == true)
        #expect(
            rig.words.withLock {
                $0.contains {
                    if case .stays(let words) = $0 { words.contains("30 days: what it keeps") } else { false }
                }
            }, "\(rig.words.withLock { $0 })")
        await rig.stop()
    }
}
