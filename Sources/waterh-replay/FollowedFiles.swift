import Bluetooth
import Captures
import CommandSupport
import Dispatch
import Foundation
import BlueZ
import Replay
import Synchronization

/// Something that a watch hears of.
enum WatchedPart: Sendable {
    case packet(CapturePacket, [UInt8], source: UInt16)
    case monitor(MonitorPacket)
    case head(CaptureFileFacts)
    case trouble(String)
    /// A source has nothing more.
    case ended
    case stop(ExitStatus)
}

/// Lets no more packets of files wait than are looked at soon: a file is faster than a terminal.
final class WatchGate: Sendable {
    private let places: DispatchSemaphore
    private let isOver = Atomic(false)

    init() {
        // Begun at zero, since a semaphore may not go while it is below what it began with: packets may wait when the
        // watch ends.
        places = DispatchSemaphore(value: 0)
        for _ in 0..<4096 { places.signal() }
    }

    /// Waits for a place; `false` once nobody looks on any more.
    func enter() -> Bool {
        while places.wait(timeout: .now() + .milliseconds(200)) == .timedOut {
            if isOver.load(ordering: .relaxed) { return false }
        }
        return !isOver.load(ordering: .relaxed)
    }

    func done() { places.signal() }
    func close() { isOver.store(true, ordering: .relaxed) }
}

/// Reads captures and pipes, each in a thread of its own: reading a pipe waits for who writes.
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

    /// The threads end with the next packet, or with the program.
    func stop() { gate.close() }

    private static func read(
        _ path: String, _ number: UInt16, _ gate: WatchGate, _ parts: AsyncStream<WatchedPart>.Continuation
    ) throws {
        var file = CaptureFile(path: path)
        // A pipe ends when nobody writes to it any more; a file is written on.
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
