import Foundation
import Simulation
import Testing

/// Runs a few seeds, or as many as `WATERH_SIM_SEEDS`. `hardware/bench simulate` runs thousands in a release build, and
/// replays one.
@Suite struct SimulationTests {
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
}
