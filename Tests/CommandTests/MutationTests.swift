import Support
import Testing

@Suite struct MutationTests {
    @Test func `every mutation applies to the sources`() async throws {
        let python = try #require(Program(system: "python3"))
        let script = Program.repository + "/Tests/Mutations/mutations.py"
        let result = try await python.run([script, Program.repository, "--check"], directory: Program.repository)
        #expect(result.exitCode == 0, "\(result.output)")
    }
}
