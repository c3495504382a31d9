import Dispatch
import Foundation
import Synchronization
import Utilities

/// Reports writes to a store by any process, by inotify(7). A report can arrive before the commit can be read.
package final class StoreWatch: Sendable {
    private let source: DescriptorSource
    private let streams: Streams

    private final class Streams: Sendable {
        let all = Mutex<[UUID: AsyncStream<Void>.Continuation]>([:])

        func yield() { for stream in all.withLock({ Array($0.values) }) { stream.yield() } }
    }

    /// - Parameter path: a store in an existing directory. The file can be created later.
    /// - Returns: `nil` if the directory does not exist, or the user's limit of inotify watches is reached.
    package init?(_ path: String) {
        let file = StoreFile.target(of: path)
        let name = (file as NSString).lastPathComponent
        let folder = (file as NSString).deletingLastPathComponent
        let descriptor = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
        guard descriptor >= 0 else { return nil }
        let events = UInt32(IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM | IN_ONLYDIR)
        guard inotify_add_watch(descriptor, folder.isEmpty ? "." : folder, events) >= 0 else {
            close(descriptor)
            return nil
        }
        // A reader's locks change only the -shm file.
        let (names, streams) = (Set([name, name + "-wal"]), Streams())
        self.streams = streams
        source = DescriptorSource(owning: descriptor, queue: DispatchQueue(label: "store watch")) { _ in
            if Self.changedNames(descriptor).contains(where: { $0.map(names.contains) ?? true }) { streams.yield() }
        }
        source.interest = .reading
    }

    deinit {
        source.cancel()
        for stream in streams.all.withLock({ Array($0.values) }) { stream.finish() }
    }

    /// Yields one element for any number of writes since the last one. The stream ends with this object.
    package var writes: AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let (id, streams) = (UUID(), streams)
        streams.all.withLock { $0[id] = continuation }
        continuation.onTermination = { _ in streams.all.withLock { $0[id] = nil } }
        return stream
    }

    /// The names of the changed files; `nil` for an event without a name, such as an overflow of the queue.
    private static func changedNames(_ descriptor: Int32) -> [String?] {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        var (found, offset) = ([String?](), 0)
        let headerSize = MemoryLayout<inotify_event>.size
        while offset + headerSize <= count {
            let event = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: inotify_event.self) }
            let end = min(count, offset + headerSize + Int(event.len))
            let name = String(decoding: bytes[(offset + headerSize)..<end].prefix { $0 != 0 }, as: UTF8.self)
            found.append(name.isEmpty ? nil : name)
            offset = end
        }
        return found
    }
}
