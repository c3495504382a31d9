import Foundation
import Store
import Support
import Testing
import TrackerCore

@Suite(.serialized) struct KillTests {
    /// SIGKILL for the gateway at random times in 200 polls, against an emulator with `--store`, with a drink before
    /// each poll. Every drink is in the store exactly once. `WATERH_KILL_SEED=n` repeats the times as far as the
    /// machine allows.
    @Test(.timeLimit(.minutes(10)), arguments: [("retail", 200), ("draft", 50)])
    func `every drink is stored once when the gateway is killed`(_ profile: String, polls: Int) async throws {
        let seed =
            ProcessInfo.processInfo.environment["WATERH_KILL_SEED"].flatMap(UInt64.init)
            ?? UInt64.random(in: 0..<1_000_000)
        print("kill test (\(profile)): WATERH_KILL_SEED=\(seed)")
        var random = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        let pair = try await Pair(["--profile", profile, "--store", folder.url("bottle.json").path])
        let killer = try #require(Program(system: "timeout"), "coreutils' timeout is needed")
        // Measures the duration of a poll, so that the kills cover all of it under changing load.
        try await pair.sip(1)
        let clock = ContinuousClock()
        var whole = try await clock.measure { _ = try await pair.poll() }
        var killed = 0
        for round in 0..<polls {
            try await pair.sip(2 + round)
            let after = whole * Double.random(in: 0.05...1.1, using: &random)
            let seconds = String(
                format: "%.4f", Double(after.components.attoseconds) / 1e18 + Double(after.components.seconds))
            let begun = clock.now
            let result = try await killer.run(
                ["-s", "KILL", seconds, Program("waterh-gateway").path] + pair.pollArguments)
            if result.exitCode != 0 { killed += 1 }
            whole = result.exitCode == 0 ? clock.now - begun : whole * 1.01
        }
        var last = try await pair.poll()
        for _ in 0..<5 where last.object["complete"] as? Bool != true || last.object["received"] as? Int != 0 {
            last = try await pair.poll()
        }
        #expect(last.exitCode == 0)
        #expect(last.object["received"] as? Int == 0, "the bottle is empty")
        let drinks = try TrackerStore(path: pair.store).drinks(
            from: Instant(seconds: 0), through: Instant(seconds: 4_000_000_000))
        #expect(drinks.map(\.ml).sorted() == Array(1...(polls + 1)))
        print("kill test (\(profile)): \(killed) of \(polls) polls killed, \(drinks.count) drinks, each once")
        #expect(killed > polls / 10, "the kills struck nothing")
    }

    /// A service that is stopped while it starts must not open its sockets after it has closed them.
    @Test(.timeLimit(.minutes(5)))
    func `a service stopped during its start ends`() async throws {
        let pair = try await Pair(["--profile", "retail"])
        let killer = try #require(Program(system: "timeout"), "coreutils' timeout is needed")
        for round in 0..<30 {
            let seconds = String(format: "%.3f", 0.02 + 0.01 * Double(round))
            let result = try await killer.run(
                ["--preserve-status", "-s", "TERM", "-k", "20", seconds, Program("waterh-gateway").path, "run"]
                    + pair.pollArguments.dropFirst().filter { $0 != "--json" })
            // Before the program handles signals, a signal ends it with the default action.
            #expect(result.exitCode != 137 && result.exitCode != 9, "after \(seconds) s: \(result.error)")
        }
    }
}
