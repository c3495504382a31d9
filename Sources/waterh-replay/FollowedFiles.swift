import Bluetooth
import Captures
import CommandSupport
import Dispatch
import Foundation
import Replay

/// A packet, an error or the end of a source of `waterh-replay watch`.
enum WatchEvent: Sendable {
    case packet(CapturePacket, [UInt8], source: UInt16)
    case header(CaptureFileInfo)
    case readingError(String)
    case ended
    case stop(ExitStatus)
}

/// Reads captures and pipes, each on its own thread, because reading a pipe blocks. The threads end with the process.
enum FollowedFiles {
    /// Limits the number of packets that wait for processing, because files are read faster than printed.
    private static let packetSlots = DispatchSemaphore(value: 4096)

    static func read(_ files: [(number: UInt16, path: String)], _ events: AsyncStream<WatchEvent>.Continuation) {
        for (number, path) in files {
            Thread.detachNewThread {
                do {
                    try read(path, number, events)
                } catch let error as CaptureFileError {
                    events.yield(.readingError(error.description))
                } catch {
                    events.yield(.readingError("\(CaptureRun.name(path)): \(error)"))
                }
                events.yield(.ended)
            }
        }
    }

    /// Allows another packet to be read, after one was processed.
    static func packetDone() { packetSlots.signal() }

    private static func read(_ path: String, _ number: UInt16, _ events: AsyncStream<WatchEvent>.Continuation) throws {
        var file = CaptureFile(path: path)
        file.growth = FileGrowth(path, output: STDOUT_FILENO)
        file.onHeader = { events.yield(.header($0)) }
        try file.forEachPacket { packet, bytes in
            packetSlots.wait()
            events.yield(.packet(packet, bytes.withUnsafeBytes { [UInt8]($0) }, source: number))
        }
    }
}
