import Foundation
import Support
import Testing

/// The patches of Tests/Mutations, which `hardware/bench mutations` runs: they must not rot.
@Suite struct MutationTests {
    static let folder = Program.repository + "/Tests/Mutations"
    static let patches = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter {
        $0.hasSuffix(".patch")
    }.sorted()

    @Test func thereAreSome() { #expect(Self.patches.count >= 15) }

    @Test(arguments: patches) func aMutationStillApplies(_ patch: String) async throws {
        let git = try #require(Program(system: "git"), "this test needs git")
        let result = try await git.run(["apply", "--check", Self.folder + "/" + patch], directory: Program.repository)
        #expect(result.exitCode == 0, "write it anew for the code as it is now: \(result.error)")
    }

    /// What it breaks; who must notice, as a filter of `swift test` with the test target in it; and every word of the
    /// filter is the name of something there.
    @Test(arguments: patches) func aMutationSaysWhatItBreaksAndWhoNotices(_ patch: String) throws {
        let text = try String(contentsOfFile: Self.folder + "/" + patch, encoding: .utf8)
        let head = text.components(separatedBy: "\n--- ")[0].split(separator: "\n")
        #expect(head.contains { $0.hasPrefix("name: ") })
        let filter = try #require(
            head.first { $0.hasPrefix("caught by: ") }?.dropFirst("caught by: ".count),
            "it does not say who must notice")
        let targets = Set(filter.matches(of: /(\w+Tests)\\\./).map { String($0.1) })
        #expect(!targets.isEmpty, "the filter names no test target: Target\\.Suite/test")
        let sources = targets.map { Self.sources[$0] ?? "" }.joined()
        for word in filter.matches(of: /[A-Za-z_]\w{2,}/).map({ String($0.0) }) where !targets.contains(word) {
            #expect(sources.contains(word), "nothing in \(targets.sorted().joined(separator: ", ")) is called \(word)")
        }
    }

    /// Each test target's files, one after the other.
    private static let sources: [String: String] = {
        let tests = Program.repository + "/Tests/"
        var found: [String: String] = [:]
        for path in FileManager.default.enumerator(atPath: tests)?.compactMap({ $0 as? String }) ?? []
        where path.hasSuffix(".swift") {
            let target = String(path.prefix { $0 != "/" })
            found[target, default: ""] += (try? String(contentsOfFile: tests + path, encoding: .utf8)) ?? ""
        }
        return found
    }()
}
