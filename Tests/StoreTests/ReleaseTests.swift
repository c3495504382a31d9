import Support
import Testing
import TrackerCore

@testable import Store

/// A bottle that goes: it was given away, or is broken.
@Suite struct ReleaseTests {
    private let old = "A4:C1:38:00:00:01"
    private let new = "A4:C1:38:00:00:02"

    @Test func aBottleThatIsReleasedIsNobodysAndItsHistoryStays() throws {
        let store = try TrackerStore(inMemory: "UTC")
        try store.adopt(BottleNames(old, alias: "kitchen"))
        _ = try store.adoptBottle(new)
        #expect(try store.releaseBottle("kitchen"))
        let bottles = try store.bottles()
        #expect(bottles.filter(\.isOwn).map(\.name) == [new] && bottles.count == 2)
        #expect(try !store.releaseBottle(old), "it was not the store's any more")
        // Who has it back has its history, too.
        #expect(try store.adoptBottle(old) && store.bottles().filter(\.isOwn).count == 2 && store.bottles().count == 2)
    }

    /// Without a bottle a store takes the next one that answers, the one that was released first of all.
    @Test func theOnlyOneStaysUntilAnotherIsThere() throws {
        let store = try TrackerStore(inMemory: "UTC")
        _ = try store.adoptBottle(old)
        for (name, code) in [(old, "onlyBottle"), (new, "unknownBottle")] {
            let refusal = #expect(throws: Refusal.self) { try store.releaseBottle(name) }
            #expect(refusal?.code == code)
        }
        _ = try store.adoptBottle(new)
        #expect(try store.releaseBottle(old))
    }
}
