import Foundation
import Support
import Testing

/// The host's clock as some programs see it: off by so much, and set while they run (`Tests/System/clock_shift.c`).
struct ClockShift {
    private let library: String
    private let file: URL

    /// Right, to begin with.
    init(in folder: TemporaryFolder) async throws {
        (library, file) = (folder.file("clock_shift.so"), folder.url("shift"))
        let gcc = try #require(Program(system: "gcc"), "this test needs gcc: apt-get install gcc libc6-dev")
        let built = try await gcc.run([
            "-shared", "-fPIC", "-O1", "-o", library, Program.repository + "/Tests/System/clock_shift.c", "-ldl",
        ])
        #expect(built.exitCode == 0, "\(built.error)")
        try Data(count: 8).write(to: file)
    }

    /// Of whose clock it is.
    var environment: [String: String] {
        ["LD_PRELOAD": library, "CLOCK_SHIFT": file.path, "SWIFT_BACKTRACE": "enable=no"]
    }

    /// From now on. In place: programs have it mapped.
    func set(seconds: Int64) throws {
        let handle = try FileHandle(forWritingTo: file)
        try handle.write(contentsOf: withUnsafeBytes(of: seconds.littleEndian) { Data($0) })
        try handle.close()
    }
}
