import GatewaySupport
import Simulation
import Testing
import TrackerCore

@Suite struct BrokenJournalTests {
    /// Confirms every drink of more than 250 ml without storing it.
    private final class LossyJournal: ScenarioJournal {
        let base: MemoryJournal
        init(_ base: MemoryJournal) { self.base = base }

        var entries: [JournalEntry] { base.entries }
        func holds(_ raw: [UInt8]) -> Bool { base.holds(raw) }
        func append(_ entries: [JournalEntry]) throws -> [JournalOutcome] {
            var outcomes = try base.append(entries.filter { $0.amountMl <= 250 })
            return entries.map { $0.amountMl <= 250 ? outcomes.removeFirst() : .stored }
        }
        func storedState(of names: BottleNames) throws -> StoredBottleState { try base.storedState(of: names) }
        func adopt(_ names: BottleNames) throws { try base.adopt(names) }
        func reviewableRecords(of bottle: String, reading: String, after id: Int64, limit: Int) throws
            -> [ReviewableRecord]
        {
            try base.reviewableRecords(of: bottle, reading: reading, after: id, limit: limit)
        }
        func finishPoll(_ report: PollRecord) throws { try base.finishPoll(report) }
        func quarantine(bottle: String, bytes: [UInt8], reason: String, received: Instant) throws {
            try base.quarantine(bottle: bottle, bytes: bytes, reason: reason, received: received)
        }
    }

    @Test(arguments: [17, 40] as [UInt64]) func `a journal that loses drinks breaks an invariant`(seed: UInt64) throws {
        let world = try Campaign.play(Scenario(seed: seed), wrapJournal: LossyJournal.init)
        #expect(world.violations.contains { $0.code == .acknowledgedUnstored })
    }
}
