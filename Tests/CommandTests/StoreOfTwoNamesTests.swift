import Support
import Testing

/// A store file with a mount of its own, as a container's volume of one file. Two programs that open it under different
/// names would overwrite each other's commits.
@Suite struct StoreOfTwoNamesTests {
    @Test(.enabled(if: MountNamespace.words != nil, "no mounts of our own on this machine"))
    func `a bind-mounted store file is read-only`() async throws {
        let folder = try TemporaryFolder()
        let (store, other) = (folder.url("here/w.sqlite").path, folder.url("there is/w.sqlite").path)
        let tracker = Program("waterh-tracker")
        #expect(try await tracker.run(["log", "100", "--store", store]).exitCode == 0)
        let words = try #require(MountNamespace.words)
        func mounted(_ arguments: [String]) async throws -> Program.Result {
            try await #require(Program(system: "unshare")).run(
                words + [
                    "sh", "-c",
                    "mkdir -p \"${1%/*}\" && : >>\"$1\" && mount --bind \"$0\" \"$1\" && shift && exec \"$@\"", store,
                    other, tracker.path,
                ] + arguments)
        }
        let refused = try await mounted(["log", "200", "--store", other])
        #expect(
            refused.exitCode == 1 && refused.error.contains("is mounted without its directory")
                && refused.error.contains("Mount its directory"),
            "\(refused)")
        let looked = try await mounted(["status", "--store", other])
        #expect(looked.exitCode == 0 && looked.output.contains("100 ml"), "\(looked)")
        // The name without a mount accepts writes, and so does a file in a mounted folder.
        #expect(try await mounted(["log", "300", "--store", store]).exitCode == 0)
        #expect(try await tracker.run(["status", "--store", store]).output.contains("400 ml"))
    }
}
