import Foundation
import Simulation
import Testing

/// Runs hundreds of seeds. `WATERH_SIM_SEEDS=20000` runs more, `WATERH_SIM_FROM=5000` others, `WATERH_SIM_SEED=17` one
/// with all events. For millions: `hardware/bench simulate`.
@Suite struct SimulationTests {
    static let environment = ProcessInfo.processInfo.environment
    static func number(_ name: String) -> UInt64? { environment[name].flatMap(UInt64.init) }

    @Test func `every seed keeps the guarantees`() async throws {
        if let single = Self.number("WATERH_SIM_SEED") {
            for violation in try Campaign.run(seed: single, isTracing: true).violations { Issue.record("\(violation)") }
            return
        }
        let from = Self.number("WATERH_SIM_FROM") ?? 0
        let count = Self.number("WATERH_SIM_SEEDS") ?? 500
        let start = ContinuousClock.now
        let outcome = try await Campaign(
            seeds: from..<(from + count), workers: ProcessInfo.processInfo.activeProcessorCount
        ).run()
        for violation in outcome.violations {
            Issue.record("\(violation)\n  replay: WATERH_SIM_SEED=… swift test --filter SimulationTests")
        }
        #expect(outcome.seeds == count)
        // Rare: the same loss in each of several readings.
        #expect(
            outcome.undetectablyLost <= Int(count) / 250,
            "\(outcome.undetectablyLost) records were lost on the air in every reading")
        print(
            """
            simulation: \(outcome.seeds) seeds, \(outcome.polls) polls, \(outcome.undetectablyLost) lost on the air in \
            every reading, \(start.duration(to: .now))
            """
        )
    }
}
