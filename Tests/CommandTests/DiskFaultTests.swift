import Support
import Testing

/// Disks with errors, or full ones, during a command (`Tests/System/README.md`). A command that exits with 0 has stored
/// its data. A command that fails has changed nothing.
@Suite struct DiskFaultTests {
    @Test(arguments: [
        // An error while a new store gets its log must be reported.
        ["log-new", "--faults", "eio", "--first", "14"],
        // A restore that cannot be committed must leave no copy of the store on the full disk.
        ["restore", "--faults", "full", "--some", "24"],
        ["log", "edit", "--faults", "eio,full", "--some", "16"],
        ["poll", "--faults", "full,kill", "--some", "8"],
    ])
    func `disk errors leave successful changes stored and failed ones undone`(arguments: [String]) async throws {
        let python = try #require(Program(system: "python3"))
        let result = try await python.run(
            [Program.repository + "/Tests/System/disk_faults.py", Program.products] + arguments,
            environment: ["PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "utf-8"],
            limit: 300)
        #expect(
            result.exitCode == 0 && result.output.contains("disk faults: 0 bad of "), "\(result.output) \(result.error)"
        )
    }
}
