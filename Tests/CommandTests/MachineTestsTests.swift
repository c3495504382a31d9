import Foundation
import Support
import Testing

/// hardware/machine/tests with a fake VM: the result of a group that fails.
@Suite struct MachineTestsTests {
    /// Runs the group `host` in a VM that fails `failures` times first. The file `words` gets one line for each call.
    /// - Parameter userMode: whether user-mode Linux runs on this machine.
    private func run(_ folder: TemporaryFolder, failures: Int, userMode: Bool = true, words: [String] = ["host"])
        async throws -> Program.Result
    {
        let key = try await #require(Program(system: "sha256sum")).run([
            Program.repository + "/hardware/machine/suite/requirements.txt"
        ]).output.prefix(12)
        // The programs of the independent peers exist already.
        try FileManager.default.createDirectory(
            atPath: folder.file("cache/waterh-bench/python-\(key)"), withIntermediateDirectories: true)
        try Data().write(to: folder.url("cache/waterh-bench/python-\(key)/ready"))
        let machine = """
            #!/bin/sh
            echo "$*" >>\(folder.file("words"))
            case $* in *"--user-mode"*" -- true") exit \(userMode ? 0 : 125) ;; esac
            left=$(cat \(folder.file("left")))
            [ $left -gt 0 ] || exit 0
            echo $((left - 1)) >\(folder.file("left"))
            exit 7

            """
        try machine.write(to: folder.url("vm"), atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.file("vm"))
        try "\(failures)".write(to: folder.url("left"), atomically: true, encoding: .utf8)
        let bash = try #require(Program(system: "bash"))
        return try await bash.run(
            [Program.repository + "/hardware/machine/tests"] + words,
            environment: [
                "XDG_CACHE_HOME": folder.file("cache"), "BENCH_VM": folder.file("vm"),
                "BENCH_PRODUCTS": Program.products,
            ])
    }

    @Test func `a flaky group is reported and fails the second time`() async throws {
        let folder = try TemporaryFolder()
        let first = try await run(folder, failures: 1)
        #expect(first.exitCode == 0 && first.error.contains("1 flaky: host"), "\(first.output)\(first.error)")
        let second = try await run(folder, failures: 1)
        #expect(
            second.exitCode == 1 && second.error.contains("flaky, as in the run before"),
            "\(second.output)\(second.error)")
        let third = try await run(folder, failures: 0)
        #expect(third.exitCode == 0 && !third.error.contains("flaky"), "\(third.output)\(third.error)")
        #expect(try await run(folder, failures: 1).exitCode == 0)
        #expect(try await run(folder, failures: 2).exitCode == 1, "failed twice")
    }

    @Test(arguments: [true, false]) func `VMs are emulated where User Mode Linux does not run`(userMode: Bool)
        async throws
    {
        let folder = try TemporaryFolder()
        let result = try await run(folder, failures: 0, userMode: userMode)
        let words = try String(contentsOf: folder.url("words"), encoding: .utf8).split(separator: "\n")
        #expect(result.exitCode == 0 && words.count == 2, "\(words) \(result.error)")
        #expect(words.last?.contains("--user-mode") == userMode && words.last?.contains("MachineHostTests") == true)
        #expect(result.error.contains("every VM is emulated") == !userMode, "\(result.error)")
        #expect(
            try await run(folder, failures: 0, userMode: userMode, words: ["--emulated"]).output
                == (userMode ? "" : "yes\n"))
    }
}
