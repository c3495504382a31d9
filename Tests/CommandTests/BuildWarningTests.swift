import Foundation
import Support
import Testing

/// Warnings are errors in the tests and in CI only, because a later Swift version adds warnings.
@Suite struct BuildWarningTests {
    /// `hardware/bench` with a compiler that warns about one file.
    private struct Bench {
        let folder: TemporaryFolder
        /// The file with the warning, compiled before.
        let file: String

        init(warned: String) throws {
            folder = try TemporaryFolder()
            file = folder.file(warned)
            try FileManager.default.createDirectory(
                at: folder.url(warned).deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data().write(to: folder.url(warned))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1_700_000_000)], ofItemAtPath: file)
            // Also the program that `demo` starts.
            for (name, script) in [
                (
                    "swift",
                    """
                    case \"$*\" in *--show-bin-path*) echo \(folder.path) ;; build*) echo '\(file):3:7: warning: \
                    never used' ;; test\\ list*) echo T/a ;; esac
                    """
                ),
                ("waterh-gateway", "echo demonstrated"),
            ] {
                try "#!/bin/sh\n\(script)\n".write(to: folder.url(name), atomically: true, encoding: .utf8)
                try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.file(name))
            }
        }

        func run(_ words: [String]) async throws -> Program.Result {
            let path = folder.path + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")
            return try await Program(path: Program.repository + "/hardware/bench").run(
                words, environment: ["PATH": path, "TMPDIR": folder.path])
        }

        /// Whether the next build compiles the file again and repeats the warning.
        var isCompiledAgain: Bool {
            get throws {
                try FileManager.default.attributesOfItem(atPath: file)[.modificationDate] as? Date
                    != Date(timeIntervalSince1970: 1_700_000_000)
            }
        }
    }

    @Test func `a warning fails every test build`() async throws {
        let bench = try Bench(warned: "Sources/A.swift")
        let result = try await bench.run(["only", "a"])
        #expect(
            result.exitCode == 1 && result.error.contains("A.swift:3:7: warning: never used")
                && result.error.contains("a target of ours has warnings"), "\(result.error)")
        #expect(try bench.isCompiledAgain)
    }

    @Test func `a warning does not fail the build of a program`() async throws {
        let bench = try Bench(warned: "Sources/A.swift")
        let result = try await bench.run(["demo", "--once"])
        #expect(
            result.exitCode == 0 && result.output == "demonstrated\n" && result.error.contains("warning: never used"),
            "\(result.error)")
        #expect(try !bench.isCompiledAgain)
    }

    @Test func `a warning in a dependency does not fail the build`() async throws {
        let bench = try Bench(warned: "checkouts/other/Sources/A.swift")
        let result = try await bench.run(["only", "a"])
        #expect(result.exitCode == 0 && !result.error.contains("warning"), "\(result.error)")
    }

    @Test(arguments: ["errors", ""])
    func `the manifest treats warnings as errors only on request`(_ word: String) async throws {
        let folder = try TemporaryFolder()
        let swift = try #require(Program(system: "swift"))
        let manifest = try await swift.run(
            ["package", "--package-path", Program.repository, "--scratch-path", folder.path, "dump-package"],
            environment: ["WATERH_WARNINGS": word, "TMPDIR": folder.path])
        #expect(manifest.exitCode == 0, "\(manifest.error)")
        let tree = try #require(try JSONSerialization.jsonObject(with: Data(manifest.outputBytes)) as? [String: Any])
        let targets = try #require(tree["targets"] as? [[String: Any]]).filter {
            !($0["settings"] as? [Any] ?? []).isEmpty
        }
        #expect(targets.count > 50)
        for target in targets {
            #expect(
                "\(target["settings"] ?? "")".contains("treatAllWarnings") == (word == "errors"),
                "\(target["name"] ?? "")")
        }
    }

    /// SwiftPM finds the tests in the index. A build without an index succeeds only where an older index exists, which
    /// a clean clone in CI does not have. The demo needs no index and has a build folder of its own.
    @Test func `test builds have an index`() throws {
        for script in [".ci/run", "hardware/bench"] {
            let lines = try String(contentsOfFile: Program.repository + "/" + script, encoding: .utf8).split(
                separator: "\n"
            ).filter { $0.contains("disable-index-store") }
            #expect(lines.allSatisfy { $0.contains("/.build/demo\"") } && lines.count <= 1, "\(script): \(lines)")
        }
    }

    @Test func `an interrupted demo build is not used later`() async throws {
        let folder = try TemporaryFolder()
        for name in ["hardware", "bin", ".build/debug"] {
            try FileManager.default.createDirectory(at: folder.url(name), withIntermediateDirectories: true)
        }
        try FileManager.default.copyItem(
            atPath: Program.repository + "/hardware/bench", toPath: folder.file("hardware/bench"))
        func program(_ name: String, _ text: String) throws {
            try "#!/bin/sh\n\(text)\n".write(to: folder.url(name), atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.file(name))
        }
        try program(
            "bin/swift",
            "case \"$*\" in *--show-bin-path*) echo \(folder.path)/bin ;; *) echo \"$*\" >>\(folder.path)/built ;; esac"
        )
        try program("bin/waterh-gateway", "echo demonstrated")
        let environment = [
            "PATH": folder.path + "/bin:" + (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"),
            "TMPDIR": folder.path,
        ]
        func built(_ words: [String]) async throws -> [Substring] {
            try? FileManager.default.removeItem(atPath: folder.file("built"))
            let result = try await Program(path: folder.file("hardware/bench")).run(words, environment: environment)
            #expect(result.exitCode == 0 && result.output == "demonstrated\n", "\(result.error)")
            return try String(contentsOfFile: folder.file("built"), encoding: .utf8).split(separator: "\n")
        }
        let fresh = try await built(["demo", "--once"])
        #expect(
            fresh.count == 1 && fresh[0].contains("--scratch-path \(folder.path)/.build/demo ")
                && fresh[0].hasSuffix("--product waterh-gateway"), "\(fresh)")
        #expect(try await built(["demo"]).count == 2)
        // An existing debug build is reused.
        try program(".build/debug/waterh-gateway", "")
        #expect(try await built(["demo"]) == ["build --product waterh-gateway", "build --product waterh-emulator"])
    }

    @Test func `CI treats warnings as errors`() throws {
        let script = try String(contentsOfFile: Program.repository + "/.ci/run", encoding: .utf8)
        let lines = script.split(separator: "\n")
        #expect(lines.contains("export WATERH_WARNINGS=errors") && lines.last == "exec hardware/bench test")
    }
}
