import Foundation
import GatewaySupport
import Simulation
import Testing
import TrackerCore

@Suite struct SimulationTests {
    /// Runs a few seeds, or as many as `WATERH_SIM_SEEDS`. `hardware/bench simulate` runs thousands in a release build,
    /// and replays one.
    @Test func `simulated polls keep the guarantees for every seed`() async throws {
        let count = ProcessInfo.processInfo.environment["WATERH_SIM_SEEDS"].flatMap(UInt64.init) ?? 50
        let outcome = try await Campaign(seeds: 0..<count, workers: ProcessInfo.processInfo.activeProcessorCount).run()
        for violation in outcome.violations {
            Issue.record("\(violation)\n  replay: hardware/bench simulate --seed SEED")
        }
        #expect(outcome.seeds == count)
        // Rare: the same loss in each of several readings.
        #expect(
            outcome.undetectablyLost <= max(2, Int(count) / 250),
            "\(outcome.undetectablyLost) records were lost on the air in every reading")
    }

    @Test(arguments: [17, 40] as [UInt64]) func `a journal that loses drinks breaks an invariant`(seed: UInt64) throws {
        let scenario = Scenario(seed: seed)
        let world = try Campaign.play(scenario, makeJournal: { MemoryJournal(loses: { $0.amountMl > 250 }) })
        #expect(world.violations.contains { $0.code == .acknowledgedUnstored })
    }
}
