import Foundation

/// A file that a command writes on demand: replaced whole or not at all.
///
/// An ordinary file is written beside its name, brought to the disk and then renamed over it; it keeps its mode and owner, and
/// whatever goes wrong, the old one stays. A symbolic link is followed: what it points to is replaced. A FIFO or a device is
/// written to. `-` is standard output.
public final class OutputFile {
    private let path: String
    private var descriptor: Int32
    private let way: Way
    private var isBegun = false

    private enum Way {
        /// Straight into what is open: a FIFO, a device, standard output.
        case through
        /// The file itself, where nothing can be made beside it.
        case inPlace
        /// A file beside it that takes the target's name at the end; without a name of its own until then where the disk can do that.
        case beside(target: String, name: String?)
    }

    /// - Parameters:
    ///   - mode: the permissions of a new file, before the umask: for its owner alone, as what is drunk is nobody else's business.
    ///   - sparing: files that must not be replaced, whatever name they are given by, such as the open store.
    /// - Throws: `CommandFailure`. Nothing has been changed until `commit`.
    public init(_ path: String, mode: mode_t = 0o600, sparing: [String] = []) throws {
        self.path = path
        if path == "-" {
            (descriptor, way) = (STDOUT_FILENO, .through)
            TextOutput.standard.flush()
            return
        }
        var old = stat()
        let exists = stat(path, &old) == 0
        if exists, Self.isKind(old, S_IFDIR) {
            throw CommandFailure(.failed, "\(path) is a directory.", advice: "Name a file in it, for example \(path.hasSuffix("/") ? path : path + "/")FILE")
        }
        if exists, let spared = sparing.first(where: { Self.isSame(old, $0) }) {
            throw CommandFailure(.wrongUse, "\(path) is \(spared) itself, which is in use.", advice: "Name another file to write.")
        }
        if Self.isDescriptor(path) || exists && !Self.isKind(old, S_IFREG) {
            (descriptor, way) = (open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY), .through)
            guard descriptor >= 0 else { throw Self.failure(path, errno) }
            return
        }
        let target = try Self.followed(path)
        if exists, access(target, W_OK) != 0 { throw Self.failure(path, errno) }
        if let (descriptor, name) = Self.openBeside(target, mode: mode) {
            if !exists || Self.inherit(descriptor, from: old) {
                (self.descriptor, way) = (descriptor, .beside(target: target, name: name))
                return
            }
            close(descriptor)
            if let name { unlink(name) }
        }
        let trouble = errno
        guard exists else { throw Self.failure(path, trouble) }
        (descriptor, way) = (open(target, O_WRONLY | O_CLOEXEC), .inPlace)
        guard descriptor >= 0 else { throw Self.failure(path, errno) }
    }

    deinit {
        guard descriptor >= 0, descriptor != STDOUT_FILENO else { return }
        close(descriptor)
        if case .beside(_, let name?) = way { unlink(name) }
    }

    /// - Throws: `CommandFailure`, or `OutputFile.NobodyReads`.
    public func write(_ bytes: UnsafeRawBufferPointer) throws {
        if !isBegun, case .inPlace = way, ftruncate(descriptor, 0) != 0 { throw Self.failure(path, errno) }
        isBegun = true
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count > 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            } else if errno == EAGAIN {
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, 1000)
            } else if errno == EPIPE {
                throw NobodyReads()
            } else if errno != EINTR {
                throw Self.failure(path, errno)
            }
        }
    }

    public func write(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try write($0) } }

    /// The file is whole: it takes its place, and stays there when the power fails.
    public func commit() throws {
        if !isBegun { try write([]) }
        // A FIFO or a device has nothing to bring to a disk.
        if fsync(descriptor) != 0, errno != EINVAL, errno != EROFS, errno != ENOTSUP { throw Self.failure(path, errno) }
        if case .beside(let target, let name) = way {
            let named = name ?? Self.temporaryName(target)
            if name == nil, linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, named, AT_SYMLINK_FOLLOW) != 0 {
                throw Self.failure(path, errno)
            }
            guard rename(named, target) == 0 else {
                let trouble = errno
                unlink(named)
                throw Self.failure(path, trouble)
            }
            Self.synchronise(directoryOf: target)
        }
        if descriptor != STDOUT_FILENO, close(descriptor) != 0, errno != EINTR {
            descriptor = -1
            throw Self.failure(path, errno)
        }
        descriptor = -1
    }

    /// Who read the output has closed it (`| head`): no failure, and no reason to go on.
    public struct NobodyReads: Error {}

    // MARK: - Parts

    private static func isKind(_ file: stat, _ kind: mode_t) -> Bool { file.st_mode & S_IFMT == kind }

    private static func isSame(_ file: stat, _ path: String) -> Bool {
        var other = stat()
        return stat(path, &other) == 0 && other.st_dev == file.st_dev && other.st_ino == file.st_ino
    }

    /// Names of what is open already: written on, never replaced.
    private static func isDescriptor(_ path: String) -> Bool {
        path == "/dev/stdout" || path == "/dev/stderr" || path.hasPrefix("/dev/fd/") || path.hasPrefix("/proc/self/fd/")
    }

    /// The name that a chain of symbolic links ends with, whether a file is there or not.
    private static func followed(_ path: String) throws -> String {
        var path = path
        for _ in 0..<40 {
            var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = readlink(path, &buffer, buffer.count)
            guard count > 0 else { return path }
            let next = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            path = next.hasPrefix("/") ? next : directory(of: path) + "/" + next
        }
        throw failure(path, ELOOP)
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func temporaryName(_ target: String) -> String {
        let name = target.split(separator: "/").last ?? "file"
        return "\(directory(of: target))/.\(name.prefix(200)).\(getpid())-\(UInt32.random(in: .min ... .max))"
    }

    private static func openBeside(_ target: String, mode: mode_t) -> (descriptor: Int32, name: String?)? {
        // Without a name it leaves nothing behind, however the process ends. O_TMPFILE is no constant that Swift can import.
        let withoutName: Int32 = 0o20_000_000 | O_DIRECTORY
        let unnamed = open(directory(of: target), withoutName | O_WRONLY | O_CLOEXEC, mode)
        if unnamed >= 0 { return (unnamed, nil) }
        let name = temporaryName(target)
        let descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        return descriptor >= 0 ? (descriptor, name) : nil
    }

    /// Takes over owner and mode; false where the owner cannot be kept.
    private static func inherit(_ descriptor: Int32, from old: stat) -> Bool {
        var own = stat()
        guard fstat(descriptor, &own) == 0 else { return false }
        if own.st_uid != old.st_uid || own.st_gid != old.st_gid, fchown(descriptor, old.st_uid, old.st_gid) != 0 { return false }
        return fchmod(descriptor, old.st_mode & 0o7777) == 0
    }

    /// A rename is only durable with its directory.
    private static func synchronise(directoryOf target: String) {
        let descriptor = open(directory(of: target), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    private static func failure(_ path: String, _ trouble: Int32) -> CommandFailure {
        let name = path == "-" ? "Standard output" : path
        let advice = switch trouble {
        case ENOENT: "Check that the directory exists."
        case EACCES, EPERM, EROFS: "Check the permissions of the file and of its directory."
        case ENOSPC, EDQUOT: "Free some space, or name a file on another disk."
        default: "Check the disk, or name another file."
        }
        return CommandFailure(.failed, "\(name) cannot be written: \(String(cString: strerror(trouble))).", advice: advice)
    }
}
