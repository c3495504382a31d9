import Support
import Testing

/// The harness of wrong clocks (`Tests/System/README.md`) on these programs, with a seed and with known failure cases.
@Suite struct WrongClocksTests {
    @Test(arguments: [["1", "--from", "1"], ["--story", "all"]])
    func `every drink has its day or is quarantined with wrong clocks`(arguments: [String]) async throws {
        let python = try #require(Program(system: "python3"))
        let result = try await python.run(
            [Program.repository + "/Tests/System/clocks.py", Program.products] + arguments,
            environment: ["PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "utf-8"])
        #expect(result.exitCode == 0 && result.output.contains("clocks: 0 bad of "), "\(result.output) \(result.error)")
    }
}
