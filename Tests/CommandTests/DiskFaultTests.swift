import Support
import Testing

/// Disks that fail or are full, in the middle of a command (`Tests/System/README.md`): what ended with 0 is there, what
/// failed has changed nothing.
@Suite struct DiskFaultTests {
    @Test(arguments: [
        // What went wrong while a new store got its log was told to nobody, and each write that was stored ended as a
        // failure.
        ["log-new", "--faults", "eio", "--first", "14"],
        // A restore that could not be committed left a copy of the store on the full disk, each time another one.
        ["restore", "--faults", "full", "--some", "24"],
        ["log", "edit", "--faults", "eio,full", "--some", "16"],
        ["poll", "--faults", "full,kill", "--some", "8"],
    ])
    func `disk errors leave successful changes stored and failed ones undone`(arguments: [String]) async throws {
        let python = try #require(Program(system: "python3"))
        let result = try await python.run(
            [Program.repository + "/Tests/System/disk_faults.py", Program.products] + arguments,
            environment: ["PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "utf-8"])
        #expect(
            result.exitCode == 0 && result.output.contains("disk faults: 0 bad of "), "\(result.output) \(result.error)"
        )
    }
}
