import Bluetooth
import Captures
import CommandSupport
import Dispatch
import Foundation
import BlueZ
import Replay
import Synchronization

enum WatchedPart: Sendable {
    case packet(CapturePacket, [UInt8], source: UInt16)
    case monitor(MonitorPacket)
    case head(CaptureFileFacts)
    case trouble(String)
    case ended
    case stop(ExitStatus)
}

/// Limits the number of packets of files that wait for processing, because a file is faster than a terminal.
final class WatchGate: Sendable {
    private let places: DispatchSemaphore
    private let isOver = Atomic(false)

    init() {
        // Start at zero, because a semaphore must not be freed below its start value while packets wait.
        places = DispatchSemaphore(value: 0)
        for _ in 0..<4096 { places.signal() }
    }

    /// Waits for a free slot. Returns `false` after the end of the watch.
    func enter() -> Bool {
        while places.wait(timeout: .now() + .milliseconds(200)) == .timedOut {
            if isOver.load(ordering: .relaxed) { return false }
        }
        return !isOver.load(ordering: .relaxed)
    }

    func done() { places.signal() }
    func close() { isOver.store(true, ordering: .relaxed) }
}

/// Reads captures and pipes, each on its own thread, because reading a pipe blocks.
struct FollowedFiles {
    private let gate: WatchGate

    private struct Over: Error {}

    init(_ files: [(number: UInt16, path: String)], _ gate: WatchGate, _ parts: AsyncStream<WatchedPart>.Continuation) {
        self.gate = gate
        for (number, path) in files {
            Thread.detachNewThread {
                do {
                    try Self.read(path, number, gate, parts)
                } catch is Over {
                    return
                } catch let error as CaptureFileError {
                    parts.yield(.trouble(error.description))
                } catch {
                    parts.yield(.trouble("\(CaptureRun.name(path)): \(error)"))
                }
                parts.yield(.ended)
            }
        }
    }

    /// Ends the threads with their next packet.
    func stop() { gate.close() }

    private static func read(
        _ path: String, _ number: UInt16, _ gate: WatchGate, _ parts: AsyncStream<WatchedPart>.Continuation
    ) throws {
        var file = CaptureFile(path: path)
        // A pipe ends with its last writer. A file can grow.
        if path != "-", isFile(path) { file.growth = try FileGrowth(path, output: STDOUT_FILENO) }
        file.onHead = { parts.yield(.head($0)) }
        try file.forEachPacket { packet, bytes in
            guard gate.enter() else { throw Over() }
            parts.yield(.packet(packet, bytes.withUnsafeBytes { [UInt8]($0) }, source: number))
        }
    }

    private static func isFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }
}
