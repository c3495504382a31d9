import Bluetooth
import Captures
import CommandSupport
import Dispatch
import Foundation
import Replay

/// A packet, an error or the end of a source of `waterh-replay watch`.
enum WatchEvent: Sendable {
    case packet(CapturePacket, [UInt8], source: UInt16)
    case head(CaptureFileFacts)
    case readingError(String)
    case ended
    case stop(ExitStatus)
}

/// Reads captures and pipes, each on its own thread, because reading a pipe blocks. The threads end with the process.
enum FollowedFiles {
    /// Limits the number of packets that wait for processing, because files are read faster than printed.
    private static let packetSlots = DispatchSemaphore(value: 4096)

    static func read(_ files: [(number: UInt16, path: String)], _ parts: AsyncStream<WatchEvent>.Continuation) {
        for (number, path) in files {
            Thread.detachNewThread {
                do {
                    try read(path, number, parts)
                } catch let error as CaptureFileError {
                    parts.yield(.readingError(error.description))
                } catch {
                    parts.yield(.readingError("\(CaptureRun.name(path)): \(error)"))
                }
                parts.yield(.ended)
            }
        }
    }

    /// Allows another packet to be read, after one was processed.
    static func packetDone() { packetSlots.signal() }

    private static func read(_ path: String, _ number: UInt16, _ parts: AsyncStream<WatchEvent>.Continuation) throws {
        var file = CaptureFile(path: path)
        // Wait for more data in a file. A pipe ends when its last writer closes it.
        if path != "-", isFile(path) { file.growth = try FileGrowth(path, output: STDOUT_FILENO) }
        file.onHead = { parts.yield(.head($0)) }
        try file.forEachPacket { packet, bytes in
            packetSlots.wait()
            parts.yield(.packet(packet, bytes.withUnsafeBytes { [UInt8]($0) }, source: number))
        }
    }

    private static func isFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }
}
