import Foundation
import Store
import Synchronization

/// Runs another program, with a time limit and a maximum length of its output.
package struct ChildProcess: Sendable {
    package struct Result: Sendable {
        package var exitCode: Int32
        /// Standard output and standard error, at most 1 MiB.
        package var output: String
    }

    private static let outputLimit = 1 << 20
    private let path: String

    /// Returns `nil` if PATH contains no such program.
    package init?(_ name: String) {
        guard let found = Self.path(of: name) else { return nil }
        path = found
    }

    package static func path(of name: String) -> String? {
        let folders =
            (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":").map(String.init) + [
                "/usr/sbin", "/sbin",
            ]
        return folders.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }

    package init(path: String) { self.path = path }

    /// Runs the program.
    /// - Throws: if it cannot be started, is ended by a signal, or does not end within `limit` seconds.
    package func run(_ arguments: [String], limit: Double = 20) async throws(CommandFailure) -> Result {
        // A child process of the program could keep a pipe open, so the output goes to a file without a name.
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("waterh-\(UUID().uuidString)").path
        let descriptor = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw CommandFailure(
                .failed, "cannot create \(file): \(String(cString: strerror(errno)))",
                advice: "Set TMPDIR to a directory with free space.")
        }
        let output = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        unlink(file)
        defer { try? output.close() }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        (process.standardOutput, process.standardError, process.standardInput) = (output, output, FileHandle.nullDevice)
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in end.finish() }
        do { try process.run() } catch {
            throw CommandFailure(.failed, "cannot start \(path): \(FileErrorText.text(error))")
        }
        let processID = process.processIdentifier
        let wasStopped = Mutex(false)
        let killer = Task {
            try await Task.sleep(for: .seconds(limit))
            wasStopped.withLock { $0 = true }
            kill(processID, SIGKILL)
        }
        for await _ in ended {}
        killer.cancel()
        guard !wasStopped.withLock({ $0 }) else { throw CommandFailure(.failed, "timed out") }
        guard process.terminationReason == .exit else {
            throw CommandFailure(.failed, "ended by signal \(process.terminationStatus)")
        }
        try? output.seek(toOffset: 0)
        let bytes = (try? output.read(upToCount: Self.outputLimit)) ?? Data()
        return Result(exitCode: process.terminationStatus, output: String(decoding: bytes, as: UTF8.self))
    }
}
