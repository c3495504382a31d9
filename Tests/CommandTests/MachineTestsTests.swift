import Foundation
import Support
import Testing

/// hardware/machine-tests with a machine that is not there: what a group's failures come to.
@Suite struct MachineTestsTests {
    /// Runs the group `host` in a machine that fails `failures` times first.
    private func run(_ folder: TemporaryFolder, failures: Int) async throws -> Program.Result {
        try "\(failures)".write(to: folder.url("left"), atomically: true, encoding: .utf8)
        return try await run(folder, ["host"], "left=$(cat \(folder.file("left")))\n[ $left -gt 0 ] || exit 0\necho $((left - 1)) >\(folder.file("left"))\nexit 7\n")
    }

    /// Runs groups in a machine that does what the script says.
    private func run(_ folder: TemporaryFolder, _ groups: [String], _ script: String, _ environment: [String: String] = [:]) async throws -> Program.Result {
        let key = try await #require(Program(system: "sha256sum")).run([Program.repository + "/Tests/Bench/requirements.txt"]).output.prefix(12)
        // The foreign ends' programs are there already.
        try FileManager.default.createDirectory(atPath: folder.file("cache/waterh-bench/python-\(key)"), withIntermediateDirectories: true)
        try Data().write(to: folder.url("cache/waterh-bench/python-\(key)/ready"))
        try "#!/bin/sh\n\(script)".write(to: folder.url("vm"), atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.file("vm"))
        let bash = try #require(Program(system: "bash"))
        return try await bash.run(
            [Program.repository + "/hardware/machine-tests"] + groups,
            environment: environment.merging(["XDG_CACHE_HOME": folder.file("cache"), "BENCH_VM": folder.file("vm"), "BENCH_PRODUCTS": Program.products]) { $1 })
    }

    @Test func whileOthersUseTheMachineOneGroupRunsAtATime() async throws {
        let folder = try TemporaryFolder()
        // Without others each machine waits for the second one, and says so when it came.
        let machine = "name=\(folder.file("running"))/$$; mkdir -p \(folder.file("running")); touch $name; n=0\n"
            + "while [ $n -lt ${LOOKS:-1} ] && [ $(ls \(folder.file("running")) | wc -l) -lt 2 ]; do n=$((n + 1)); sleep 0.1; done\n"
            + "[ $(ls \(folder.file("running")) | wc -l) -lt 2 ] || touch \(folder.file("two")); [ ! -e \(folder.file("two")) ] || [ -z \"$LOOKS\" ] || exit 0\nrm $name\n"
        try Data().write(to: folder.url("others"))
        let behind = try await run(folder, ["host", "raw", "recording"], machine, ["BENCH_OTHERS": folder.file("others")])
        #expect(behind.exitCode == 0 && behind.output.contains("== recording"), "\(behind.output)\(behind.error)")
        #expect(!FileManager.default.fileExists(atPath: folder.file("two")))
        let alone = try await run(folder, ["host", "raw"], machine, ["LOOKS": "300"])
        #expect(alone.exitCode == 0 && FileManager.default.fileExists(atPath: folder.file("two")), "\(alone.output)\(alone.error)")
    }

    @Test func aFlakyGroupIsNamedAndTwiceInARowIsAFailure() async throws {
        let folder = try TemporaryFolder()
        let first = try await run(folder, failures: 1)
        #expect(first.exitCode == 0 && first.error.contains("1 flaky: host"), "\(first.output)\(first.error)")
        let second = try await run(folder, failures: 1)
        #expect(second.exitCode == 1 && second.error.contains("flaky, as in the run before"), "\(second.output)\(second.error)")
        // A run that passes at once is forgiven.
        let third = try await run(folder, failures: 0)
        #expect(third.exitCode == 0 && !third.error.contains("flaky"), "\(third.output)\(third.error)")
        #expect(try await run(folder, failures: 1).exitCode == 0)
        #expect(try await run(folder, failures: 2).exitCode == 1, "failed twice")
    }
}
