import Foundation
import Support
import Testing

/// Shifts the host clock for selected programs, also while they run (`Tests/System/clock_shift.c`).
struct ClockShift {
    private let library: String
    private let file: URL

    /// Starts without a shift.
    init(in folder: TemporaryFolder) async throws {
        (library, file) = (folder.file("clock_shift.so"), folder.url("shift"))
        let gcc = try #require(Program(system: "gcc"), "this test needs gcc: apt-get install gcc libc6-dev")
        let built = try await gcc.run([
            "-shared", "-fPIC", "-O1", "-o", library, Program.repository + "/Tests/System/clock_shift.c", "-ldl",
        ])
        #expect(built.exitCode == 0, "\(built.error)")
        try Data(count: 8).write(to: file)
    }

    /// The environment of a program that sees the shifted clock.
    var environment: [String: String] {
        ["LD_PRELOAD": library, "CLOCK_SHIFT": file.path, "SWIFT_BACKTRACE": "enable=no"]
    }

    /// Sets the shift from now on. Writes in place, because programs have the file mapped.
    func set(seconds: Int64) throws {
        let handle = try FileHandle(forWritingTo: file)
        try handle.write(contentsOf: withUnsafeBytes(of: seconds.littleEndian) { Data($0) })
        try handle.close()
    }
}
