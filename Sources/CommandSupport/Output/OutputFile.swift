package import Foundation
import Store

/// The output file of a command, which replaces an existing file atomically.
///
/// The content is written to a temporary file in the same directory, synchronised and renamed. The file keeps its mode
/// and owner. An existing file of another kind is not replaced. For a symbolic link, the target is replaced. A FIFO or
/// a device is written directly. The path `-` is standard output.
package final class OutputFile {
    private let path: String
    private var descriptor: Int32
    private let isRecording: Bool
    /// The descriptor that locks a recording's file; negative without a lock.
    private var lock: Int32 = -1
    /// The temporary file and its final name; `nil` if `descriptor` is the output file.
    private var replacement: (temporary: String, target: String)?

    /// - Parameters:
    ///   - kind: the kind of the output. An existing database is replaced only if it is a backup.
    ///   - mode: the permissions of a new file, before the umask.
    ///   - excluding: files that must not be written under any path, such as the open store.
    ///   - isRecording: whether to lock the file against another recording.
    /// - Throws: `CommandFailure`. Nothing is changed before `commit` or `publish`.
    package init(
        _ path: String, kind: FileKind = .text, mode: mode_t = 0o600, excluding: [String] = [],
        isRecording: Bool = false
    ) throws {
        self.path = path
        self.isRecording = isRecording
        if path == "-" {
            descriptor = STDOUT_FILENO
            TextOutput.standard.flush()
            return
        }
        var old = stat()
        let exists = stat(path, &old) == 0
        let type = exists ? old.st_mode & S_IFMT : S_IFREG
        if type == S_IFDIR {
            throw CommandFailure(
                .failed, "\(path) is a directory.",
                advice: "Name a file in it, for example \(path.hasSuffix("/") ? path : path + "/")FILE")
        }
        if let inUse = excluding.first(where: { Self.isSame(path, $0) }) {
            throw CommandFailure(
                .wrongUse, "\(path) is \(inUse), which is in use.", advice: "Name another file to write.")
        }
        if exists, type == S_IFREG, let found = FileKind.ofFile(path), found.kind != kind || found.isInUse {
            throw CommandFailure(
                .wrongUse, "\(path) is \(found.isInUse ? "a store" : found.kind.rawValue). It is not replaced.",
                advice: "Name another file to write, or move that one away first.")
        }
        let isDescriptor = ["/dev/stdout", "/dev/stderr"].contains(path) || path.hasPrefix("/dev/fd/")
        guard type == S_IFREG, !isDescriptor else {
            // Opening a FIFO for a recording must not wait for a reader.
            let access = isRecording && type == S_IFIFO ? O_RDWR | O_NONBLOCK : O_WRONLY | O_APPEND
            descriptor = open(path, access | O_CLOEXEC | O_NOCTTY)
            guard descriptor >= 0 else { throw Self.failure(path, errno) }
            return
        }
        guard let target = Self.followed(path) else { throw Self.failure(path, ELOOP) }
        // Check the permission of the old file, because a rename does not require it.
        if exists, access(target, W_OK) != 0 { throw Self.failure(path, errno) }
        descriptor = -1
        if isRecording, exists {
            lock = open(target, O_RDONLY | O_CLOEXEC)
            if lock >= 0, flock(lock, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK {
                throw CommandFailure(
                    .failed, "\(path) cannot be written: another program records to it.",
                    advice: "Name another file to write.")
            }
        }
        let url = URL(fileURLWithPath: target)
        let name = ".\(url.lastPathComponent.prefix(200)).\(getpid())-\(UInt32.random(in: .min ... .max))"
        let temporary = url.deletingLastPathComponent().appendingPathComponent(name).path
        descriptor = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw Self.failure(path, errno) }
        replacement = (temporary, target)
        if isRecording { flock(descriptor, LOCK_EX | LOCK_NB) }
        var own = stat()
        // Set the owner before the mode, because chown(2) clears bits of the mode.
        if exists, fstat(descriptor, &own) == 0,
            (own.st_uid != old.st_uid || own.st_gid != old.st_gid) && fchown(descriptor, old.st_uid, old.st_gid) != 0
                || fchmod(descriptor, old.st_mode & 0o7777) != 0
        {
            throw Self.failure(path, errno)
        }
    }

    deinit {
        if lock >= 0 { close(lock) }
        if descriptor >= 0, descriptor != STDOUT_FILENO { close(descriptor) }
        if let replacement { unlink(replacement.temporary) }
    }

    /// Writes all bytes.
    /// - Throws: `CommandFailure`, or `OutputFile.ReaderClosed`.
    package func write(_ bytes: UnsafeRawBufferPointer) throws { try write(bytes) { _ in } }

    /// Writes all bytes.
    /// - Throws: `CommandFailure`, or `OutputFile.ReaderClosed`.
    package func write(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try write($0) } }

    /// Writes `bytes` and removes the written ones from the buffer, even if an error occurs.
    /// - Throws: `CommandFailure`, or `OutputFile.ReaderClosed`.
    package func drain(_ bytes: inout [UInt8]) throws {
        var written = 0
        defer { bytes.removeFirst(written) }
        try bytes.withUnsafeBytes { try write($0) { written += $0 } }
    }

    /// Gives the file its final name before it is complete, so that readers can follow a recording.
    package func publish() throws {
        // fsync fails for a FIFO or a device.
        if fsync(descriptor) != 0, errno != EINVAL, errno != EROFS, errno != ENOTSUP { throw Self.failure(path, errno) }
        guard let (temporary, target) = replacement else { return }
        guard rename(temporary, target) == 0 else { throw Self.failure(path, errno) }
        replacement = nil
        // The rename is durable only after its directory is synchronised.
        let folder = open(
            URL(fileURLWithPath: target).deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if folder >= 0 {
            fsync(folder)
            close(folder)
        }
    }

    /// Completes the file: gives it its final name and makes it durable.
    package func commit() throws {
        try publish()
        guard descriptor != STDOUT_FILENO else { return }
        defer { descriptor = -1 }
        if close(descriptor) != 0, errno != EINTR { throw Self.failure(path, errno) }
    }

    /// Thrown when the reader has closed the output (`| head`). The command then stops without an error.
    package struct ReaderClosed: Error {
        package init() {}
    }

    private func write(_ bytes: UnsafeRawBufferPointer, _ didWrite: (Int) -> Void) throws {
        // A recording must not wait for a reader.
        guard let code = writeAll(bytes, to: descriptor, waits: !isRecording, didWrite: didWrite) else { return }
        if code == EPIPE { throw ReaderClosed() }
        throw Self.failure(path, code)
    }

    /// The target of a chain of symbolic links, whether or not it exists; `nil` for a loop.
    private static func followed(_ path: String) -> String? {
        var path = path
        for _ in 0..<40 {
            guard let next = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { return path }
            path =
                next.hasPrefix("/")
                ? next : URL(fileURLWithPath: path).deletingLastPathComponent().appendingPathComponent(next).path
        }
        return nil
    }

    /// Whether two paths name the same file, which need not exist.
    private static func isSame(_ path: String, _ other: String) -> Bool {
        let (identity, otherIdentity) = (FileIdentity(path), FileIdentity(other))
        guard identity == nil, otherIdentity == nil else { return identity == otherIdentity }
        guard let path = followed(path), let other = followed(other) else { return false }
        let (left, right) = (URL(fileURLWithPath: path), URL(fileURLWithPath: other))
        return left.lastPathComponent == right.lastPathComponent
            && left.deletingLastPathComponent().resolvingSymlinksInPath()
                == right.deletingLastPathComponent().resolvingSymlinksInPath()
    }

    private static func failure(_ path: String, _ code: Int32) -> CommandFailure {
        let advice =
            switch code {
            case ENOENT: "Check that the directory of the file exists."
            case EACCES, EPERM, EROFS: "Check the permissions of the file and of its directory."
            case ENOSPC, EDQUOT: "Free some space, or name a file on another disk."
            default: "Check the disk, or name another file."
            }
        return CommandFailure(
            .failed, "\(path == "-" ? "Standard output" : path) cannot be written: \(String(cString: strerror(code))).",
            advice: advice)
    }
}
