import GatewaySupport

/// Many runs from many seeds, side by side.
public struct Campaign: Sendable {
    /// What came of all runs together.
    public struct Outcome: Sendable {
        public var seeds: UInt64 = 0
        public var polls = 0
        /// Records dropped that the air had swallowed in every reading: what no gateway can tell.
        public var swallowed = 0
        /// Broken promises, each with its seed; the first of them.
        public var violations: [String] = []
        /// The lowest seed that broke one.
        public var failed: UInt64?

        mutating func add(_ other: Outcome) {
            seeds += other.seeds
            polls += other.polls
            swallowed += other.swallowed
            violations += other.violations
            if let seed = other.failed { failed = min(failed ?? seed, seed) }
        }
    }

    public var seeds: Range<UInt64>
    public var workers: Int

    public init(seeds: Range<UInt64>, workers: Int) {
        self.seeds = seeds
        self.workers = max(1, workers)
    }

    /// Runs all seeds; `progress` hears of the outcome so far now and then.
    public func run(progress: @escaping @Sendable (Outcome) -> Void = { _ in }) async throws -> Outcome {
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

    /// One seed. `isTracing` prints everything that passes.
    public static func run(seed: UInt64, isTracing: Bool = false) throws -> Outcome {
        let scenario = Scenario(seed: seed)
        let world = try play(scenario, trace: isTracing ? { print($0) } : nil)
        if isTracing {
            print(scenario)
            for report in world.reports { print(report) }
        }
        return Outcome(
            seeds: 1, polls: world.reports.count, swallowed: world.swallowedForGood.count,
            violations: world.violations.map { "seed \(seed): \($0)" },
            failed: world.violations.isEmpty ? nil : seed)
    }

    /// One day, with journals in memory.
    /// - Parameter spoiled: what a test makes of the journal of the house, to break a promise on purpose.
    public static func play(
        _ scenario: Scenario, trace: ((String) -> Void)? = nil,
        spoiled: @escaping (MemoryJournal) -> any ScenarioJournal = { $0 }
    ) throws -> World {
        var world = try World(scenario) { spoiled(MemoryJournal()) }
        world.trace = trace
        world.run()
        return world
    }

    /// The day of a seed that breaks a promise, with the fewest steps that still do, so that the same promise breaks;
    /// `nil` where it keeps all.
    public static func shrunk(seed: UInt64, spoiled: @escaping (MemoryJournal) -> any ScenarioJournal = { $0 }) throws
        -> Scenario?
    {
        try ScenarioShrinker { try play($0, spoiled: spoiled).violations }.shrunk(Scenario(seed: seed))
    }
}

extension MemoryJournal: ScenarioJournal {
    /// A broker is told by the store alone.
    public func openOutlet() throws -> (any ScenarioOutlet)? { nil }
}
