package import GatewaySupport

/// A run of many random scenarios, one per seed, on several threads.
package struct Campaign: Sendable {
    package struct Outcome: Sendable {
        package var seeds: UInt64 = 0
        package var polls = 0
        /// Dropped records that were lost on the air in every reading. No gateway can detect such a loss.
        package var undetectablyLost = 0
        /// The first broken invariants, each with its seed.
        package var violations: [String] = []

        mutating func add(_ other: Outcome) {
            seeds += other.seeds
            polls += other.polls
            undetectablyLost += other.undetectablyLost
            violations += other.violations
        }
    }

    package var seeds: Range<UInt64>
    package var workers: Int

    package init(seeds: Range<UInt64>, workers: Int) {
        self.seeds = seeds
        self.workers = max(1, workers)
    }

    /// Runs all seeds. `progress` receives intermediate results.
    package func run(progress: @escaping @Sendable (Outcome) -> Void = { _ in }) async throws -> Outcome {
        let part: UInt64 = 500
        var next = seeds.lowerBound
        return try await withThrowingTaskGroup(of: Outcome.self) { group in
            func start(_ group: inout ThrowingTaskGroup<Outcome, any Error>) {
                guard next < seeds.upperBound else { return }
                let range = next..<min(next + part, seeds.upperBound)
                next = range.upperBound
                group.addTask { try Self.run(range) }
            }
            for _ in 0..<workers { start(&group) }
            var total = Outcome()
            while let outcome = try await group.next() {
                total.add(outcome)
                progress(total)
                start(&group)
            }
            return total
        }
    }

    private static func run(_ range: Range<UInt64>) throws -> Outcome {
        var outcome = Outcome()
        for seed in range { outcome.add(try run(seed: seed)) }
        return outcome
    }

    /// Runs one seed. `isTracing` prints every event.
    package static func run(seed: UInt64, isTracing: Bool = false) throws -> Outcome {
        let scenario = Scenario(seed: seed)
        let world = try play(scenario, trace: isTracing ? { print($0) } : nil)
        if isTracing {
            print(scenario)
            for report in world.reports { print(report) }
        }
        return Outcome(
            seeds: 1, polls: world.reports.count, undetectablyLost: world.undetectablyLost.count,
            violations: world.violations.map { "seed \(seed): \($0)" })
    }

    /// Runs one day with journals in memory.
    package static func play(
        _ scenario: Scenario, trace: ((String) -> Void)? = nil,
        makeJournal: @escaping () -> MemoryJournal = { MemoryJournal() }
    ) throws -> World {
        var world = try World(scenario, makeJournal: makeJournal)
        world.trace = trace
        world.run()
        return world
    }
}

extension MemoryJournal: ScenarioJournal {}
