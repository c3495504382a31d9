import Foundation
import Simulation
import Synchronization

/// `simulate [SEEDS] [--from SEED]`: the simulation without the test runner, for long runs in a release build.
/// `simulate --seed SEED` replays one seed and prints every event.
@main enum Simulate {
    static func main() async throws {
        var count: UInt64 = 100_000
        var from: UInt64 = 0
        var single: UInt64?
        var words = CommandLine.arguments.dropFirst()
        while let word = words.popFirst() {
            if word == "--from", let seed = words.popFirst().flatMap(UInt64.init) {
                from = seed
            } else if word == "--seed", let seed = words.popFirst().flatMap(UInt64.init) {
                single = seed
            } else if let seeds = UInt64(word), seeds > 0 {
                count = seeds
            } else {
                FileHandle.standardError.write(Data("usage: simulate [SEEDS] [--from SEED] | --seed SEED\n".utf8))
                exit(2)
            }
        }
        if let single {
            let outcome = try Campaign.run(seed: single, isTracing: true)
            for violation in outcome.violations { say(violation) }
            exit(outcome.violations.isEmpty ? 0 : 1)
        }
        guard !from.addingReportingOverflow(count).overflow else {
            FileHandle.standardError.write(Data("simulate: there are no \(count) seeds from \(from) on\n".utf8))
            exit(2)
        }
        let start = ContinuousClock.now
        let campaign = Campaign(seeds: from..<(from + count), workers: ProcessInfo.processInfo.activeProcessorCount)
        let printed = Mutex(0)
        let outcome = try await campaign.run { sofar in
            // Printed at once: a run of a million seeds takes an hour.
            let new = printed.withLock { printed in
                defer { printed = sofar.violations.count }
                return sofar.violations[min(printed, most)..<min(sofar.violations.count, most)]
            }
            for violation in new { say(violation) }
            if sofar.seeds % 50_000 == 0 {
                say("\(sofar.seeds) seeds, \(sofar.violations.count) violations, \(start.duration(to: .now))")
            }
        }
        say(
            """
            simulation: seeds \(from) to \(from + count - 1), \(outcome.polls) polls, \(outcome.violations.count) \
            violations, \(outcome.swallowed) records lost on the air in every reading, \(start.duration(to: .now))
            """)
        exit(outcome.violations.isEmpty ? 0 : 1)
    }

    /// The number of broken invariants that are printed.
    private static let most = 100

    private static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}
