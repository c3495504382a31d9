import Utilities
import Dispatch
import Foundation
import Synchronization

/// Tells whenever a store is written, by whatever program, also when another file takes its place or the first one
/// comes, when a folder above it is moved away or comes, and when a link on the way to it leads elsewhere: by the
/// kernel's word (inotify), so nobody asks while nothing happens. What the kernel tells nobody of (a disk that is
/// mounted there, a folder that may not be watched) is seen by a look every half minute.
///
/// The word comes while the writer is still at it: what it commits can be read a moment later.
package final class StoreWatch: @unchecked Sendable {
    private static let eventBytes = 1 << 16
    private static let lookEvery = DispatchTimeInterval.seconds(30)
    private let path: String
    private let descriptor: Int32
    /// Set once, in the beginning.
    private var source: DescriptorSource?
    private let timer: any DispatchSourceTimer
    private let ears = Mutex<[UUID: AsyncStream<Void>.Continuation]>([:])
    private let queue = DispatchQueue(label: "store watch")
    /// The way to the store as it was last, and the kernel's numbers of the folders on it that are watched. Touched on
    /// the queue only.
    private var way = StoreWay(to: "/")
    private var numbers: [Int32: String] = [:]

    /// - Parameter path: of a store that need not be there.
    /// - Returns: `nil` where the kernel has no watch left, or watches nothing.
    package init?(_ path: String) {
        descriptor = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
        guard descriptor >= 0 else { return nil }
        self.path = URL(fileURLWithPath: path).standardizedFileURL.path
        timer = DispatchSource.makeTimerSource(queue: queue)
        let source = DescriptorSource(owning: descriptor, queue: queue) { [weak self] _ in self?.read() }
        self.source = source
        timer.setEventHandler { [weak self] in self?.look() }
        timer.schedule(deadline: .now() + Self.lookEvery, repeating: Self.lookEvery, leeway: .seconds(5))
        let isWatching = queue.sync { attach() }
        source.interest = .reading
        timer.resume()
        guard isWatching else {
            source.cancel()
            timer.cancel()
            return nil
        }
    }

    deinit {
        source?.cancel()
        timer.cancel()
        for ear in ears.withLock({ $0.values }) { ear.finish() }
    }

    /// One for any number of writes that were not taken yet: for each who asks a stream of their own, which ends with
    /// the watch.
    package var writes: AsyncStream<Void> {
        let (stream, ear) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let id = UUID()
        ears.withLock { $0[id] = ear }
        ear.onTermination = { [weak self] _ in self?.ears.withLock { $0[id] = nil } }
        return stream
    }

    /// Watches every folder on the way, as far as there is one. What is made while we look is not missed: the way is
    /// looked for again afterwards.
    private func attach() -> Bool {
        for _ in 0..<Self.attempts {
            way = StoreWay(to: path)
            var found: [Int32: String] = [:]
            for (folder, _) in way.folders {
                let mask =
                    folder == way.last
                    ? IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM
                    : IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM
                let number = inotify_add_watch(
                    descriptor, folder, UInt32(mask | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR))
                if number >= 0 { found[number] = folder }
            }
            for number in numbers.keys where found[number] == nil { inotify_rm_watch(descriptor, number) }
            numbers = found
            if StoreWay(to: path) == way { break }
        }
        return !numbers.isEmpty
    }

    /// So often is a way looked for that changes all the time.
    private static let attempts = 5

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
            place = end
            if event.mask & UInt32(IN_Q_OVERFLOW) != 0 { isMoved = true }
            guard let folder = numbers[event.wd] else { continue }
            if event.mask & UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED) != 0 {
                if event.mask & UInt32(IN_IGNORED) != 0 { numbers[event.wd] = nil }
                isMoved = true
            }
            // A step of the way is another one: a folder, a link, the file itself.
            if event.mask & UInt32(IN_MODIFY) == 0, way.folders[folder]?.contains(name) == true { isMoved = true }
            if folder == way.last, isOurs(name, event.mask) { isNews = true }
        }
        if isMoved {
            _ = attach()
            isNews = true
        }
        if isNews { tell() }
    }

    /// Whether the way is another one, though nobody said so.
    private func look() {
        guard StoreWay(to: path) != way else { return }
        _ = attach()
        tell()
    }

    private func tell() {
        for ear in ears.withLock({ Array($0.values) }) { ear.yield() }
    }

    /// What is written to the file and to its log; not what a reader's own locks do beside them.
    private func isOurs(_ name: String, _ mask: UInt32) -> Bool {
        guard let own = way.name else { return false }
        return name == own || (name == own + "-wal" && mask & UInt32(IN_MODIFY) != 0)
    }
}
