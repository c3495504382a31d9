import Foundation
import Simulation
import Synchronization

/// `simulate [SEEDS] [--from SEED]`: the simulation without the test runner, for long runs in a release build.
/// `simulate --seed SEED` replays one seed and prints every event.
@main enum Simulate {
    static func main() async throws {
        var count: UInt64 = 100_000
        var from: UInt64 = 0
        var replayedSeed: UInt64?
        var arguments = CommandLine.arguments.dropFirst()
        while let argument = arguments.popFirst() {
            if argument == "--from", let seed = arguments.popFirst().flatMap(UInt64.init) {
                from = seed
            } else if argument == "--seed", let seed = arguments.popFirst().flatMap(UInt64.init) {
                replayedSeed = seed
            } else if let seeds = UInt64(argument), seeds > 0 {
                count = seeds
            } else {
                FileHandle.standardError.write(Data("usage: simulate [SEEDS] [--from SEED] | --seed SEED\n".utf8))
                exit(2)
            }
        }
        if let replayedSeed {
            let outcome = try Campaign.run(seed: replayedSeed, isTracing: true)
            for violation in outcome.violations { printLine(violation) }
            exit(outcome.violations.isEmpty ? 0 : 1)
        }
        guard !from.addingReportingOverflow(count).overflow else {
            FileHandle.standardError.write(Data("simulate: there are no \(count) seeds from \(from) on\n".utf8))
            exit(2)
        }
        let start = ContinuousClock.now
        let campaign = Campaign(seeds: from..<(from + count), workers: ProcessInfo.processInfo.activeProcessorCount)
        let printed = Mutex(0)
        let outcome = try await campaign.run { partial in
            // Printed at once: a run of a million seeds takes an hour.
            let new = printed.withLock { printed in
                defer { printed = partial.violations.count }
                return partial.violations[
                    min(printed, printedViolationLimit)..<min(partial.violations.count, printedViolationLimit)]
            }
            for violation in new { printLine(violation) }
            if partial.seeds % 50_000 == 0 {
                printLine("\(partial.seeds) seeds, \(partial.violations.count) violations, \(start.duration(to: .now))")
            }
        }
        printLine(
            """
            simulation: seeds \(from) to \(from + count - 1), \(outcome.polls) polls, \(outcome.violations.count) \
            violations, \(outcome.undetectablyLost) records lost on the air in every reading, \
            \(start.duration(to: .now))
            """)
        exit(outcome.violations.isEmpty ? 0 : 1)
    }

    /// The number of broken invariants that are printed.
    private static let printedViolationLimit = 100

    private static func printLine(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}
