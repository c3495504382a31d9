import Dispatch
import Foundation
import Support
import Testing

@Suite struct ProgramTests {
    @Test func `every product prints its usage`() async throws {
        for name in ["waterh-emulator", "waterh-gateway", "waterh-replay", "waterh-tracker"] {
            let result = try await Program(name).run(["--help"])
            #expect(result.exitCode == 0)
            #expect(result.output.contains("USAGE: \(name)"))
        }
    }

    /// Dispatch threads block signals. A child process must not inherit that mask.
    @Test func `a program started from a dispatch thread receives SIGTERM`() async throws {
        let sleep = try #require(Program(system: "sleep"))
        let running = try await withCheckedThrowingContinuation { started in
            DispatchQueue(label: "starter").async { started.resume(with: Result { try sleep.start(["60"]) }) }
        }
        running.send(signal: SIGTERM)
        let result = try await running.finish(limit: 10)
        #expect(result.signalled && result.exitCode == SIGTERM)
    }

    /// A parent process that blocks SIGTERM passes its mask on.
    @Test func `a command started with SIGTERM blocked ends on it`() async throws {
        let environment = try #require(Program(system: "env"))
        let folder = try TemporaryFolder()
        let running = try environment.start([
            "--block-signal=TERM", Program("waterh-emulator").path, "run", "--link", "unix:" + folder.file("b"),
            "--control", "unix:" + folder.file("c"),
        ])
        _ = try await running.line { $0.hasPrefix("ready ") }
        running.send(signal: SIGTERM)
        let result = try await running.finish(limit: 20)
        #expect(!result.signalled && result.exitCode == 0)
    }

    @Test func `a hanging program is killed`() async throws {
        let sleep = try #require(Program(system: "sleep"))
        await #expect(throws: Program.TookTooLong.self) { try await sleep.run(["60"], limit: 0.2) }
    }
}
