import Foundation
import Support
import Testing

/// The patches of Tests/Mutations, which `hardware/bench mutations` runs: they must not rot.
@Suite struct MutationTests {
    static let folder = Program.repository + "/Tests/Mutations"
    static let patches = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { $0.hasSuffix(".patch") }.sorted()

    @Test func thereAreSome() { #expect(Self.patches.count >= 15) }

    @Test(arguments: patches) func aMutationStillApplies(_ patch: String) async throws {
        let git = try #require(Program(system: "git"), "this test needs git")
        let result = try await git.run(["apply", "--check", Self.folder + "/" + patch], directory: Program.repository)
        #expect(result.exitCode == 0, "write it anew for the code as it is now: \(result.error)")
    }

    @Test(arguments: patches) func aMutationSaysWhatItBreaksAndWhoNotices(_ patch: String) throws {
        let text = try String(contentsOfFile: Self.folder + "/" + patch, encoding: .utf8)
        let head = text.components(separatedBy: "\n--- ")[0].split(separator: "\n")
        #expect(head.contains { $0.hasPrefix("name: ") } && head.contains { $0.hasPrefix("caught by: ") })
    }
}
