import Foundation
import Synchronization

/// Runs another program, with a time limit and a maximum length of its output.
package struct ChildProcess: Sendable {
    package struct Result: Sendable {
        /// The exit code, or 128 plus the number of the signal that ended the program.
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

    /// Runs the program. Returns `nil` if it cannot be started or does not end within `limit` seconds.
    package func run(_ arguments: [String], limit: Double = 20) async -> Result? {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        let pipe = Pipe()
        (process.standardOutput, process.standardError, process.standardInput) = (pipe, pipe, FileHandle.nullDevice)
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in end.finish() }
        do { try process.run() } catch { return nil }
        // Do not wait for the end of the output: a child process of the program can keep the pipe open.
        let reader = Collector(pipe.fileHandleForReading)
        Thread.detachNewThread { reader.read(upTo: Self.outputLimit) }
        let processID = process.processIdentifier
        let wasStopped = Mutex(false)
        let killer = Task {
            try await Task.sleep(for: .seconds(limit))
            wasStopped.withLock { $0 = true }
            kill(processID, SIGKILL)
        }
        for await _ in ended {}
        killer.cancel()
        await reader.isDone(within: 2)
        guard !wasStopped.withLock({ $0 }), process.terminationReason == .exit else { return nil }
        return Result(exitCode: process.terminationStatus, output: String(decoding: reader.data, as: UTF8.self))
    }

    private final class Collector: @unchecked Sendable {
        private let handle: FileHandle
        private let state = Mutex((data: Data(), isDone: false))

        init(_ handle: FileHandle) { self.handle = handle }

        var data: Data { state.withLock { $0.data } }

        func read(upTo limit: Int) {
            while let piece = try? handle.read(upToCount: 1 << 16), !piece.isEmpty {
                state.withLock { if $0.data.count < limit { $0.data.append(piece) } }
            }
            state.withLock { $0.isDone = true }
        }

        func isDone(within seconds: Double) async {
            let deadline = Date(timeIntervalSinceNow: seconds)
            while !state.withLock({ $0.isDone }), Date() < deadline { try? await Task.sleep(for: .milliseconds(10)) }
        }
    }
}
