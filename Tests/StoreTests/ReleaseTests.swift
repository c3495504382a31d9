import Support
import Testing
import TrackerCore

@testable import Store

@Suite struct ReleaseTests {
    private let old = "A4:C1:38:00:00:01"
    private let new = "A4:C1:38:00:00:02"

    @Test func `a released bottle keeps its history, and an unknown one is rejected`() throws {
        let store = try TrackerStore(inMemory: "UTC")
        try store.adopt(BottleNames(old, alias: "kitchen"))
        _ = try store.adoptBottle(new)
        #expect(try store.releaseBottle("kitchen"))
        let bottles = try store.bottles()
        #expect(bottles.filter(\.isOwn).map(\.name) == [new] && bottles.count == 2)
        #expect(try !store.releaseBottle(old), "the store no longer owned it")
        let refusal = #expect(throws: Refusal.self) { try store.releaseBottle("A4:C1:38:00:00:03") }
        #expect(refusal?.code == "unknownBottle")
        // A bottle that is adopted again has its history.
        #expect(try store.adoptBottle(old) && store.bottles().filter(\.isOwn).count == 2 && store.bottles().count == 2)
    }

    @Test func `data about bottles in range is kept until a bottle is adopted`() throws {
        let store = try TrackerStore(inMemory: "UTC")
        let (first, later) = (Instant(seconds: 1_000_000), Instant(seconds: 2_000_000))
        try store.recordInRange([old], at: first)
        try store.recordInRange([old, new], at: later)
        try store.hideInRange(new)
        var notes = try store.inRangeBottles()
        #expect(notes.since == [old: first, new: later] && notes.hidden == [new] && !notes.isNotified)
        try store.recordInRangeNotified()
        #expect(try store.inRangeBottles().isNotified)
        _ = try store.adoptBottle(old)
        notes = try store.inRangeBottles()
        #expect(notes == InRangeBottles())
    }
}
