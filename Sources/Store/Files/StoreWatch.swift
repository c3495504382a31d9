import Dispatch
import Foundation
import Synchronization

/// Tells whenever a store is written, by whatever program, also when another file takes its place or the first one comes: by the kernel's word
/// (inotify), so nobody asks while nothing happens.
///
/// The word comes while the writer is still at it: what it commits can be read a moment later.
public final class StoreWatch: @unchecked Sendable {
    private static let eventBytes = 1 << 16
    private let path: String
    private let descriptor: Int32
    private let source: any DispatchSourceRead
    private let ears = Mutex<[UUID: AsyncStream<Void>.Continuation]>([:])
    private let queue = DispatchQueue(label: "store watch")
    /// The folder that is watched: the store's, or while that is not there the nearest one above it. Touched on the queue only.
    private var watched: (number: Int32, folder: String)?

    /// - Parameter path: of a store that need not be there.
    /// - Returns: `nil` where the kernel has no watch left, or watches nothing.
    public init?(_ path: String) {
        descriptor = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
        guard descriptor >= 0 else { return nil }
        self.path = URL(fileURLWithPath: path).standardizedFileURL.path
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler { [weak self] in self?.read() }
        source.setCancelHandler { [descriptor] in close(descriptor) }
        let isWatching = queue.sync { attach() }
        source.resume()
        guard isWatching else {
            source.cancel()
            return nil
        }
    }

    deinit {
        source.cancel()
        for ear in ears.withLock({ $0.values }) { ear.finish() }
    }

    /// One for any number of writes that were not taken yet: for each who asks a stream of their own, which ends with the watch.
    public var writes: AsyncStream<Void> {
        let (stream, ear) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let id = UUID()
        ears.withLock { $0[id] = ear }
        ear.onTermination = { [weak self] _ in self?.ears.withLock { $0[id] = nil } }
        return stream
    }

    /// The store's own name where it is a link: the log lies beside the file itself.
    private var file: String { StoreFile.target(of: path) }

    /// Watches the nearest folder there is. One that is made while we look is not missed: it is looked for again afterwards.
    private func attach() -> Bool {
        let wanted = (file as NSString).deletingLastPathComponent
        var folder = wanted
        while folder != "/" {
            let mask = folder == wanted ? IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM : IN_CREATE | IN_MOVED_TO
            let number = inotify_add_watch(descriptor, folder, UInt32(mask | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR))
            if number >= 0 {
                if let old = watched, old.number != number { inotify_rm_watch(descriptor, old.number) }
                let isNews = watched?.folder != folder
                watched = (number, folder)
                return isNews && folder != wanted ? attach() : true
            }
            folder = (folder as NSString).deletingLastPathComponent
        }
        return false
    }

    private func read() {
        var bytes = [UInt8](repeating: 0, count: Self.eventBytes)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        guard count > 0 else { return }
        var (isNews, isMoved, place) = (false, false, 0)
        let head = MemoryLayout<inotify_event>.size
        while place + head <= count {
            let event = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: place, as: inotify_event.self) }
            let end = min(count, place + head + Int(event.len))
            let name = String(decoding: bytes[(place + head)..<end].prefix { $0 != 0 }, as: UTF8.self)
            let isGone = event.mask & UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED) != 0 && event.wd == watched?.number
            if isGone || event.mask & UInt32(IN_Q_OVERFLOW) != 0 { isMoved = true }
            if isOurs(name, event.mask) { isNews = true }
            place = end
        }
        // Another folder than the store's: it may be there now.
        if isMoved || watched?.folder != (file as NSString).deletingLastPathComponent {
            if isMoved, let old = watched {
                inotify_rm_watch(descriptor, old.number)
                watched = nil
            }
            _ = attach()
            isNews = true
        }
        guard isNews else { return }
        for ear in ears.withLock({ Array($0.values) }) { ear.yield() }
    }

    /// What is written to the file and to its log; not what a reader's own locks do beside them.
    private func isOurs(_ name: String, _ mask: UInt32) -> Bool {
        let own = (file as NSString).lastPathComponent
        return name == own || (name == own + "-wal" && mask & UInt32(IN_MODIFY) != 0)
    }
}
