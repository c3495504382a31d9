import Foundation
import Support
import Testing

/// A warning in a target of ours is an error where somebody judges, and nowhere else: a later Swift warns of more.
@Suite struct BuildWarningTests {
    /// What `hardware/bench` comes to with a compiler that warns of one file.
    private struct Bench {
        let folder: TemporaryFolder
        /// The file that is warned of, compiled long ago.
        let file: String

        init(warned: String) throws {
            folder = try TemporaryFolder()
            file = folder.file(warned)
            try FileManager.default.createDirectory(at: folder.url(warned).deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data().write(to: folder.url(warned))
            try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 1_700_000_000)], ofItemAtPath: file)
            // Also the program that the demonstration starts.
            for (name, script) in [
                ("swift", "case \"$*\" in *--show-bin-path) echo \(folder.path) ;; build*) echo '\(file):3:7: warning: never used' ;; test\\ list*) echo T/a ;; esac"),
                ("waterh-gateway", "echo demonstrated"),
            ] {
                try "#!/bin/sh\n\(script)\n".write(to: folder.url(name), atomically: true, encoding: .utf8)
                try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.file(name))
            }
        }

        func run(_ words: [String]) async throws -> Program.Result {
            let path = folder.path + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")
            return try await Program(path: Program.repository + "/hardware/bench").run(words, environment: ["PATH": path, "TMPDIR": folder.path])
        }

        /// Whether the next build compiles the file again, and so warns again.
        var isCompiledAgain: Bool {
            get throws { try FileManager.default.attributesOfItem(atPath: file)[.modificationDate] as? Date != Date(timeIntervalSince1970: 1_700_000_000) }
        }
    }

    @Test func whoTestsIsStoppedByAWarningEachTime() async throws {
        let bench = try Bench(warned: "Sources/A.swift")
        let result = try await bench.run(["only", "a"])
        #expect(result.exitCode == 1 && result.error.contains("A.swift:3:7: warning: never used") && result.error.contains("a target of ours has warnings"), "\(result.error)")
        #expect(try bench.isCompiledAgain)
    }

    @Test func whoOnlyWantsAProgramSeesTheWarningAndGetsIt() async throws {
        let bench = try Bench(warned: "Sources/A.swift")
        let result = try await bench.run(["demo", "--once"])
        #expect(result.exitCode == 0 && result.output == "demonstrated\n" && result.error.contains("warning: never used"), "\(result.error)")
        #expect(try !bench.isCompiledAgain)
    }

    @Test func aPackageThatOursIsBuiltOnMayWarn() async throws {
        let bench = try Bench(warned: "checkouts/other/Sources/A.swift")
        let result = try await bench.run(["only", "a"])
        #expect(result.exitCode == 0 && !result.error.contains("warning"), "\(result.error)")
    }

    /// The manifest as SwiftPM understands it.
    @Test(arguments: ["errors", ""])
    func theManifestIsStrictOnlyWhereItIsAsked(_ word: String) async throws {
        let folder = try TemporaryFolder()
        let swift = try #require(Program(system: "swift"))
        let manifest = try await swift.run(
            ["package", "--package-path", Program.repository, "--scratch-path", folder.path, "dump-package"], environment: ["WATERH_WARNINGS": word, "TMPDIR": folder.path])
        #expect(manifest.exitCode == 0, "\(manifest.error)")
        let tree = try #require(try JSONSerialization.jsonObject(with: Data(manifest.outputBytes)) as? [String: Any])
        let targets = try #require(tree["targets"] as? [[String: Any]]).filter { !($0["settings"] as? [Any] ?? []).isEmpty }
        #expect(targets.count > 70)
        for target in targets { #expect("\(target["settings"] ?? "")".contains("treatAllWarnings") == (word == "errors"), "\(target["name"] ?? "")") }
    }

    /// A build without an index succeeds only where an older one lies: SwiftPM finds the tests in it, and CI's clean clone has none.
    @Test func whatJudgesBuildsWithAnIndex() throws {
        for script in [".ci/run", "hardware/bench"] {
            #expect(try !String(contentsOfFile: Program.repository + "/" + script, encoding: .utf8).contains("disable-index-store"), "\(script)")
        }
    }

    @Test func ciAsksForIt() async throws {
        let folder = try TemporaryFolder()
        for name in [".ci", "hardware"] { try FileManager.default.createDirectory(at: folder.url(name), withIntermediateDirectories: true) }
        try FileManager.default.copyItem(atPath: Program.repository + "/.ci/run", toPath: folder.file(".ci/run"))
        try "#!/bin/sh\necho \"$1 $WATERH_WARNINGS\"\n".write(to: folder.url("hardware/bench"), atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.file("hardware/bench"))
        let result = try await Program(path: folder.file(".ci/run")).run([])
        #expect(result.output == "test errors\n", "\(result.error)")
    }
}
