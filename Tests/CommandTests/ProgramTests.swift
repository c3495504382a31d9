import Support
import Testing

@Suite struct ProgramTests {
    @Test func aProductRunsAndTellsItsUsage() async throws {
        for name in ["waterh-emulator", "waterh-gateway", "waterh-replay", "waterh-tracker"] {
            let result = try await Program(name).run(["--help"])
            #expect(result.exitCode == 0)
            #expect(result.output.contains("USAGE: \(name)"))
        }
    }

    @Test func aProgramThatHangsIsKilled() async throws {
        let sleep = try #require(Program(system: "sleep"))
        await #expect(throws: Program.TookTooLong.self) { try await sleep.run(["60"], limit: 0.2) }
    }
}
