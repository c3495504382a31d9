import Foundation
import GatewaySupport
import Support
import Testing
import TrackerCore

@testable import Store

extension TrackerStore {
    func importSamples(_ samples: [HealthSample], exportedAt: Instant? = nil, _ context: WriteContext) throws
        -> ImportOutcome
    {
        try importSamples(context) { add in
            try samples.forEach(add)
            return exportedAt
        }
    }
}

@Suite final class JournalTests: StoreFixture {
    @Test func `records are counted by verdict`() throws {
        let waiting = entry(verdict: .quarantined(reason: "implausibleTimestamp"))
        let impossible = entry(second: 20, verdict: .quarantined(reason: "impossibleDate"), hasWall: false)
        let flagged = entry(second: 30, verdict: .notADrink(reason: "flag"))
        #expect(
            try store.append([entry(ml: 17), waiting, impossible, impossible, flagged]) == [
                .stored, .stored, .stored, .waiting, .stored,
            ])
        #expect(try store.journalCounts() == JournalCounts(drinks: 1, notDrinks: 1, quarantined: 2))
        #expect(try store.append([entry()]) == [.promoted])
        #expect(try store.journalCounts() == JournalCounts(drinks: 2, notDrinks: 1, quarantined: 1))
    }

    /// Records do not adopt a bottle, because they can come from a capture. An answer of the bottle or the user does.
    @Test func `a user can adopt a recorded bottle`() throws {
        _ = try store.append([entry("b1")])
        #expect(try store.bottles().map(\.isOwn) == [false])
        #expect(try store.adoptBottle("b1"))
        #expect(try store.bottles().map(\.isOwn) == [true])
        #expect(try !store.adoptBottle("b1"))
        #expect(try store.adoptBottle("b2", as: "b1"))
    }

    @Test func `the end of a poll is stored`() throws {
        #expect(try store.storedState(of: BottleNames("b1")).lastCompletePoll == nil)
        try store.finishPoll(
            PollRecord(
                bottle: "b1", name: "WaterH", model: "boost", batteryPercent: 97, clockDriftSeconds: -3,
                endedAt: Instant(seconds: 10), complete: true))
        try store.finishPoll(PollRecord(bottle: "b1", endedAt: Instant(seconds: 20), complete: false))
        #expect(try store.storedState(of: BottleNames("b1")).lastCompletePoll == Instant(seconds: 10))
        let bottle = try #require(try store.bottles().first)
        #expect(bottle.batteryPercent == 97 && bottle.model == "boost" && bottle.lastPoll == Instant(seconds: 20))
    }

    @Test func `a renamed bottle keeps its history`() throws {
        _ = try store.append([entry("b1"), entry("b2")])
        try store.changeSettings([("bottle.alias", "kitchen")], ofBottle: "b1")
        #expect(
            try store.append([entry("kitchen"), entry("b1"), entry("kitchen", ml: 20)])
                == [.duplicate, .duplicate, .stored])
        #expect(try store.bottles().map(\.name) == ["kitchen", "b2"])
        #expect(throws: Refusal.self) { try store.changeSettings([("bottle.alias", "b2")], ofBottle: "kitchen") }
        #expect(throws: Refusal.self) { try store.changeSettings([("bottle.alias", "b3")], ofBottle: "unknown") }
    }

    @Test func `undecodable bytes are kept, counted and limited`() throws {
        let store = try TrackerStore(inMemory: nil)
        try store.quarantine(bottle: "b1", bytes: [1, 2], reason: "short", received: Instant(seconds: 1))
        try store.quarantine(bottle: "b1", bytes: [1, 2], reason: "short", received: Instant(seconds: 2))
        let kept = try #require(try store.quarantinedBytes().first)
        #expect(kept.bytes == Data([1, 2]) && kept.times == 2 && kept.received == Instant(seconds: 2))
        let long = [UInt8](repeating: 7, count: TrackerStore.quarantineByteLimit + 5)
        try store.quarantine(bottle: "b1", bytes: long, reason: "long", received: Instant(seconds: 3))
        let cut = try #require(try store.quarantinedBytes().first)
        #expect(cut.length == long.count && cut.bytes.count == TrackerStore.quarantineByteLimit)
        for number in 0..<TrackerStore.quarantineRowLimit {
            try store.quarantine(
                bottle: "b2", bytes: [UInt8(number >> 8), UInt8(number & 255)], reason: "r",
                received: Instant(seconds: 4))
        }
        #expect(try store.quarantinedBytes().count == TrackerStore.quarantineRowLimit)
        let counts = try store.quarantineCounts()
        #expect(counts.received == TrackerStore.quarantineRowLimit + 3 && counts.evicted == 2)
    }
}
