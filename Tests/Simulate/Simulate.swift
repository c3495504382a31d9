import Foundation
import Simulation

/// `simulate [SEEDS] [--from SEED]`: the simulation without the test's frame, for long runs in a release build.
/// `simulate --seed SEED` replays one and prints everything that passes.
@main enum Simulate {
    static func main() async throws {
        var count: UInt64 = 100_000
        var from: UInt64 = 0
        var words = CommandLine.arguments.dropFirst()
        while let word = words.popFirst() {
            if word == "--from", let seed = words.popFirst().flatMap(UInt64.init) {
                from = seed
            } else if word == "--seed", let seed = words.popFirst().flatMap(UInt64.init) {
                let violations = try Campaign.run(seed: seed, isTracing: true).violations
                for violation in violations { say(violation) }
                exit(violations.isEmpty ? 0 : 1)
            } else if let seeds = UInt64(word), seeds > 0 {
                count = seeds
            } else {
                FileHandle.standardError.write(Data("usage: simulate [SEEDS] [--from SEED] | --seed SEED\n".utf8))
                exit(2)
            }
        }
        guard !from.addingReportingOverflow(count).overflow else {
            FileHandle.standardError.write(Data("simulate: there are no \(count) seeds from \(from) on\n".utf8))
            exit(2)
        }
        let start = ContinuousClock.now
        let campaign = Campaign(seeds: from..<(from + count), workers: ProcessInfo.processInfo.activeProcessorCount)
        let outcome = try await campaign.run { sofar in
            if sofar.seeds % 50_000 == 0 { say("\(sofar.seeds) seeds, \(sofar.violations.count) violations, \(start.duration(to: .now))") }
        }
        for violation in outcome.violations.prefix(100) { say(violation) }
        say(
            "simulation: seeds \(from) to \(from + count - 1), \(outcome.polls) polls, \(outcome.violations.count) violations, "
                + "\(outcome.swallowed) records lost on the air in every reading, \(start.duration(to: .now))")
        exit(outcome.violations.isEmpty ? 0 : 1)
    }

    private static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}
