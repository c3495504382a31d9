import Bluetooth
import Captures
import CommandSupport
import Dispatch
import Foundation
import Replay

enum WatchedPart: Sendable {
    case packet(CapturePacket, [UInt8], source: UInt16)
    case head(CaptureFileFacts)
    case trouble(String)
    case ended
    case stop(ExitStatus)
}

/// Reads captures and pipes, each on its own thread, because reading a pipe blocks. The threads end with the process.
enum FollowedFiles {
    /// Limits the number of packets that wait for processing, because a file is faster than a terminal.
    private static let places = DispatchSemaphore(value: 4096)

    static func read(_ files: [(number: UInt16, path: String)], _ parts: AsyncStream<WatchedPart>.Continuation) {
        for (number, path) in files {
            Thread.detachNewThread {
                do {
                    try read(path, number, parts)
                } catch let error as CaptureFileError {
                    parts.yield(.trouble(error.description))
                } catch {
                    parts.yield(.trouble("\(CaptureRun.name(path)): \(error)"))
                }
                parts.yield(.ended)
            }
        }
    }

    /// Makes room for another packet, after one was processed.
    static func packetDone() { places.signal() }

    private static func read(_ path: String, _ number: UInt16, _ parts: AsyncStream<WatchedPart>.Continuation) throws {
        var file = CaptureFile(path: path)
        // A pipe ends with its last writer. A file can grow.
        if path != "-", isFile(path) { file.growth = try FileGrowth(path, output: STDOUT_FILENO) }
        file.onHead = { parts.yield(.head($0)) }
        try file.forEachPacket { packet, bytes in
            places.wait()
            parts.yield(.packet(packet, bytes.withUnsafeBytes { [UInt8]($0) }, source: number))
        }
    }

    private static func isFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }
}
