import GatewaySupport
import Simulation
import Testing
import TrackerCore

@Suite struct BrokenJournalTests {
    @Test(arguments: [17, 40] as [UInt64]) func `a journal that loses drinks breaks an invariant`(seed: UInt64) throws {
        let scenario = Scenario(seed: seed)
        let world = try Campaign.play(scenario, makeJournal: { MemoryJournal(loses: { $0.amountMl > 250 }) })
        #expect(world.violations.contains { $0.code == .acknowledgedUnstored })
    }
}
