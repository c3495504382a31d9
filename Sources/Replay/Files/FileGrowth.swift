import Glibc

/// Waits until a capture that somebody is still writing has grown, by the kernel's word (inotify): nobody asks while
/// nothing happens.
///
/// One watch belongs to one reading of one file. It sees the file grow, and what would leave a reader waiting for ever,
/// or reading the middle of something else: that the file is cut, written anew in place, or that another takes its
/// name.
package final class FileGrowth {
    /// What ended the waiting.
    package enum News: Sendable, Hashable {
        /// There is more to read.
        case grown
        /// The file became shorter than what was read of it.
        case cut(to: Int)
        /// What was read of it is not what stands there now: it was written anew in place.
        case overwritten
        /// The name belongs to another file now.
        case replaced
        /// Nobody reads what is written any more.
        case unread
    }

    /// What ended the reading; `nil` while there was always more.
    package private(set) var end: News?
    /// Called before each wait: what is written so far can go out.
    package var onWait: (() throws -> Void)?
    private let path: String
    private let output: CInt?
    private let descriptor: CInt
    /// What was read, at its beginning and at its end.
    private var fingerprint: Fingerprint?

    /// - Parameters:
    ///   - path: of the file, or `-`, of which nothing is told but when it is waited for.
    ///   - output: the waiting ends when nobody reads from this pipe.
    /// - Throws: `CaptureFileError` where the kernel has no watch left.
    package init(_ path: String, output: CInt? = nil) throws(CaptureFileError) {
        self.path = path
        self.output = output
        descriptor = inotify_init1(CInt(IN_CLOEXEC) | CInt(IN_NONBLOCK))
        guard descriptor >= 0 else { throw CaptureFileError(path: path, errno: errno) }
        guard path != "-" else { return }
        // The folder is told when another file gets this name.
        let folder = path.contains("/") ? String(path[...(path.lastIndex(of: "/") ?? path.startIndex)]) : "."
        let watches = [
            (path, IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF),
            (folder, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR),
        ]
        for (place, mask) in watches where inotify_add_watch(descriptor, place, UInt32(mask)) < 0 {
            let code = errno
            close(descriptor)
            throw CaptureFileError(path: path, errno: code)
        }
    }

    deinit { close(descriptor) }

    /// Waits until a file that was read to `position` can be read on.
    /// - Parameter file: its descriptor.
    /// - Returns: `false` when there is nothing more to come; `end` says why.
    func waitForMore(_ file: CInt, after position: Int) throws -> Bool {
        var status = stat()
        // A pipe that has ended has ended.
        guard path != "-", fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        // Before others hear of what was read.
        if fingerprint?.position != position { fingerprint = Fingerprint(of: file, upTo: position) }
        try onWait?()
        while true {
            // What happened before the first look is not missed: the watch began before the reading.
            switch try news(file, position) {
            case .grown?: return true
            case let news?:
                end = news
                return false
            case nil: break
            }
            var places = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
            if let output { places.append(pollfd(fd: output, events: 0, revents: 0)) }
            guard poll(&places, nfds_t(places.count), -1) >= 0 || errno == EINTR else {
                throw CaptureFileError(path: path, errno: errno)
            }
            if places.count > 1, places[1].revents & Int16(POLLERR | POLLNVAL) != 0 {
                end = .unread
                return false
            }
            drain()
        }
    }

    /// Before standard input is waited for.
    func aboutToRead() throws {
        if path == "-" { try onWait?() }
    }

    private func news(_ file: CInt, _ position: Int) throws -> News? {
        var ours = stat()
        guard fstat(file, &ours) == 0 else { throw CaptureFileError(path: path, errno: errno) }
        let size = Int(ours.st_size)
        if size < position { return .cut(to: size) }
        guard fingerprint == Fingerprint(of: file, upTo: position) else { return .overwritten }
        if size > position { return .grown }
        var named = stat()
        guard stat(path, &named) == 0 else { return nil }
        return named.st_ino != ours.st_ino || named.st_dev != ours.st_dev ? .replaced : nil
    }

    /// A few bytes of the beginning and of what was read last. A capture that is written anew differs in the one or the
    /// other: in its first times, or in what the other file has at that place.
    private struct Fingerprint: Equatable {
        let position: Int
        let bytes: [UInt8]

        init(of file: CInt, upTo position: Int) {
            self.position = position
            let count = min(position, 512)
            bytes = [0, position - count].flatMap { start in
                [UInt8](unsafeUninitializedCapacity: count) {
                    $1 = max(0, pread(file, $0.baseAddress, count, off_t(start)))
                }
            }
        }
    }

    private func drain() {
        var bytes = [UInt8](repeating: 0, count: 4096)
        while read(descriptor, &bytes, bytes.count) > 0 {}
    }
}
