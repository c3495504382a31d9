import Foundation
import Synchronization
import Testing

/// Thousands of runs from thousands of seeds. `WATERH_SIM_SEEDS=20000` runs more, `WATERH_SIM_SEED=17` runs one.
@Suite struct SimulationTests {
    static let environment = ProcessInfo.processInfo.environment
    static let count = environment["WATERH_SIM_SEEDS"].flatMap(UInt64.init) ?? 2000
    static let single = environment["WATERH_SIM_SEED"].flatMap(UInt64.init)

    @Test func everySeedKeepsThePromises() async throws {
        let seeds = Self.single.map { [$0] } ?? Array(0..<Self.count)
        let start = ContinuousClock.now
        let workers = min(seeds.count, ProcessInfo.processInfo.activeProcessorCount)
        let polls = try await withThrowingTaskGroup(of: Int.self) { group in
            for worker in 0..<workers {
                group.addTask {
                    var polls = 0
                    for index in stride(from: worker, to: seeds.count, by: workers) { polls += try Self.run(seeds[index]) }
                    return polls
                }
            }
            return try await group.reduce(0, +)
        }
        print("simulation: \(seeds.count) seeds, \(polls) polls, \(start.duration(to: .now))")
    }

    /// Runs one seed and returns how many polls it had.
    private static func run(_ seed: UInt64) throws -> Int {
        let scenario = Scenario(seed: seed)
        var world = try World(scenario)
        world.isTracing = single != nil
        world.run()
        for violation in world.violations {
            Issue.record("seed \(seed): \(violation)\n  replay: WATERH_SIM_SEED=\(seed) swift test --filter SimulationTests")
        }
        if single != nil {
            print(scenario)
            for report in world.reports { print(report) }
        }
        return world.reports.count
    }
}
