import CommandKit
import Foundation

/// A file that is being written beside the one it is to replace: that one stays whole until everything is written and on disk, whatever
/// happens in between. Nothing is left behind by a program that is killed.
///
/// The mode of a file that is replaced is kept, and a symbolic link keeps leading to it. What is no plain file (a pipe, a device) is written
/// to as it is.
final class Destination {
    private let path: String
    /// Where `path` leads to.
    private var target: String
    private var descriptor: Int32 = -1
    private var way = Way.direct
    private(set) var isBegun = false

    private enum Way {
        /// A pipe, a device, standard output, or the file itself once it has its name.
        case direct
        /// A file without a name yet, in the target's folder.
        case unnamed
        /// The same where the file system has none without a name.
        case named(String)
        /// The folder takes no new file: collected elsewhere, copied over the old one at the end.
        case copied
    }

    /// `-` is standard output.
    init(_ path: String) {
        self.path = path
        target = path
    }

    /// - Returns: whether everything is to go where it belongs at once.
    private func begin() throws {
        guard !isBegun else { return }
        if path == "-" {
            descriptor = STDOUT_FILENO
        } else {
            target = try Self.target(of: path)
            var status = stat()
            let exists = stat(target, &status) == 0
            if exists, status.st_mode & S_IFMT == S_IFDIR { throw Self.failure(path, EISDIR) }
            if exists, status.st_mode & S_IFMT != S_IFREG {
                descriptor = open(target, O_WRONLY | O_CLOEXEC)
                guard descriptor >= 0 else { throw Self.failure(path, errno) }
            } else {
                try openBeside(exists ? status : nil)
            }
        }
        isBegun = true
    }

    private func openBeside(_ old: stat?) throws {
        // Only who may write the old file may replace it.
        if old != nil, access(target, W_OK) != 0 { throw Self.failure(path, errno) }
        descriptor = open(folder, O_RDWR | O_CLOEXEC | __O_TMPFILE, 0o666)
        if descriptor >= 0 {
            way = .unnamed
        } else {
            let name = "\(target).\(getpid()).tmp"
            descriptor = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
            way = .named(name)
        }
        if descriptor < 0 {
            let reason = errno
            let elsewhere = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
            descriptor = old == nil ? -1 : open(elsewhere, O_RDWR | O_CLOEXEC | __O_TMPFILE, 0o600)
            guard descriptor >= 0 else { throw Self.failure(path, reason) }
            way = .copied
        } else if let old {
            // The owner is kept where that is allowed; first, because a change of owner takes bits of the mode away.
            _ = fchown(descriptor, old.st_uid, old.st_gid)
            guard fchmod(descriptor, old.st_mode & 0o7777) == 0 else { throw Self.failure(path, errno) }
        }
    }

    func write(_ bytes: [UInt8]) throws {
        try begin()
        try Self.write(bytes, to: descriptor, path)
    }

    /// Gives the file its name now: what is written from here on shows at once, as of a recording.
    func publish() throws {
        try begin()
        switch way {
        case .direct: return
        case .copied: return try copy()
        case .unnamed, .named: break
        }
        guard fsync(descriptor) == 0 else { throw Self.failure(path, errno) }
        var name = "\(target).\(getpid()).tmp"
        if case .named(let known) = way {
            name = known
        } else {
            unlink(name)
            guard linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0 else { throw Self.failure(path, errno) }
            way = .named(name)
        }
        guard rename(name, target) == 0 else {
            // A file that is mounted by itself cannot be replaced, only filled anew.
            guard errno == EBUSY || errno == EXDEV else { throw Self.failure(path, errno) }
            unlink(name)
            return try copy()
        }
        way = .direct
        let parent = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
        if parent >= 0 {
            _ = fsync(parent)
            Glibc.close(parent)
        }
    }

    private func copy() throws {
        let old = open(target, O_WRONLY | O_TRUNC | O_CLOEXEC)
        guard old >= 0 else { throw Self.failure(path, errno) }
        way = .direct
        defer {
            Glibc.close(descriptor)
            descriptor = old
        }
        guard lseek(descriptor, 0, SEEK_SET) == 0 else { throw Self.failure(path, errno) }
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = piece.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.failure(path, errno) }
            if count == 0 { break }
            try Self.write(Array(piece[..<count]), to: old, path)
        }
        guard fsync(old) == 0 else { throw Self.failure(path, errno) }
    }

    /// Everything is written. Without a byte nothing is made.
    func close() throws {
        guard isBegun, descriptor >= 0 else { return }
        try publish()
        guard path != "-" else { return }
        defer { descriptor = -1 }
        guard Glibc.close(descriptor) == 0 else { throw Self.failure(path, errno) }
    }

    /// Nothing of it is to stay.
    func discard() {
        if case .named(let name) = way { unlink(name) }
        if path != "-", descriptor >= 0 { _ = Glibc.close(descriptor) }
        descriptor = -1
        isBegun = false
    }

    deinit { discard() }

    private var folder: String {
        guard let slash = target.lastIndex(of: "/") else { return "." }
        return slash == target.startIndex ? "/" : String(target[..<slash])
    }

    /// Follows symbolic links, also one that leads to nothing yet.
    private static func target(of path: String) throws -> String {
        var path = path
        for _ in 0..<40 {
            var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = readlink(path, &buffer, buffer.count)
            guard count > 0 else { return path }
            let next = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
            path = next.hasPrefix("/") ? next : folder + next
        }
        throw failure(path, ELOOP)
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32, _ path: String) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                throw failure(path, errno)
            }
        }
    }

    private static func failure(_ path: String, _ code: Int32) -> CommandFailure {
        CommandFailure(.failed, "\(path) cannot be written: \(String(cString: strerror(code)))", advice: "Check the folder, its permissions and the free space.")
    }
}
