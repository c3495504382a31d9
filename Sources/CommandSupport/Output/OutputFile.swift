import Foundation

/// A file that the user names for a command to write. Every command opens such a file here.
///
/// An ordinary file is replaced whole or not at all: it is written under another name, brought to the disk and then
/// renamed. It keeps its mode and owner. A file of another kind than the command writes is never replaced. A symbolic
/// link is followed. A FIFO or a device is written to. `-` is standard output.
package final class OutputFile {
    /// Kinds of files, by their content. A file is replaced by one of its own kind only.
    package enum Kind: String, Sendable {
        case text = "a text", capture = "a capture", archive = "an archive", database = "a database"
        case other = "a file of an unknown kind"
    }

    private let path: String
    private var descriptor: Int32
    private var way: Way
    private let isRecording: Bool
    /// Holds the lock of a recording; negative where there is none.
    private var lock: Int32 = -1

    private enum Way {
        /// Straight into what is open: a FIFO, a device, standard output, or the file itself once it has its name.
        case through
        /// A file beside it that takes the target's name at the end; without a name of its own until then where the
        /// disk can do that.
        case beside(target: String, name: String?)
        /// Collected elsewhere and copied over the old one at the end, where nothing can be made beside it, or not with
        /// its owner.
        case copied(target: String)
    }

    /// - Parameters:
    ///   - kind: what the command writes. Of databases only a backup, which no program uses, is replaced.
    ///   - mode: the permissions of a new file, before the umask. By default the file is for its owner alone.
    ///   - sparing: files that are neither replaced nor made, by whatever name, such as the open store.
    ///   - isRecording: two programs must not write the file at the same time.
    /// - Throws: `CommandFailure`. Nothing has been changed until `commit` or `publish`.
    package init(
        _ path: String, kind: Kind = .text, mode: mode_t = 0o600, sparing: [String] = [], isRecording: Bool = false
    ) throws {
        self.path = path
        self.isRecording = isRecording
        if path == "-" {
            (descriptor, way) = (STDOUT_FILENO, .through)
            TextOutput.standard.flush()
            return
        }
        var old = stat()
        let exists = stat(path, &old) == 0
        if exists, old.isKind(S_IFDIR) {
            throw CommandFailure(
                .failed, "\(path) is a directory.",
                advice: "Name a file in it, for example \(path.hasSuffix("/") ? path : path + "/")FILE")
        }
        if let spared = sparing.first(where: { exists ? old.isSame($0) : OutputPlace.isSameName(path, $0) }) {
            throw CommandFailure(
                .wrongUse, "\(path) is \(spared) itself, which is in use.", advice: "Name another file to write.")
        }
        if exists, old.isKind(S_IFREG), let (found, isInUse) = OutputPlace.kind(path), found != kind || isInUse {
            throw CommandFailure(
                .wrongUse, "\(path) is \(isInUse ? "a store" : found.rawValue): it is not replaced.",
                advice: "Name another file to write, or move that one away first.")
        }
        if OutputPlace.isDescriptor(path) || exists && !old.isKind(S_IFREG) {
            // A recording does not wait until a FIFO has a reader.
            let access = isRecording && old.isKind(S_IFIFO) ? O_RDWR | O_NONBLOCK : O_WRONLY | O_APPEND
            (descriptor, way) = (open(path, access | O_CLOEXEC | O_NOCTTY), .through)
            guard descriptor >= 0 else { throw Self.failure(path, errno) }
            return
        }
        guard let target = OutputPlace.followed(path) else { throw Self.failure(path, ELOOP) }
        if isRecording, exists {
            lock = open(target, O_RDONLY | O_CLOEXEC)
            if lock >= 0, flock(lock, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK {
                close(lock)
                throw CommandFailure(
                    .failed, "\(path) cannot be written: another program records into it.",
                    advice: "Name another file to write.")
            }
        }
        // Only who may write the old file may replace it.
        if exists, access(target, W_OK) != 0 { throw Self.failure(path, errno) }
        if let (descriptor, name) = OutputPlace.openBeside(target, mode: mode) {
            if !exists || old.isInherited(by: descriptor) {
                if isRecording { flock(descriptor, LOCK_EX | LOCK_NB) }
                (self.descriptor, way) = (descriptor, .beside(target: target, name: name))
                return
            }
            close(descriptor)
            if let name { unlink(name) }
        }
        let trouble = errno
        guard exists else { throw Self.failure(path, trouble) }
        (descriptor, way) = (OutputPlace.openElsewhere(), .copied(target: target))
        guard descriptor >= 0 else { throw Self.failure(path, errno) }
    }

    deinit {
        if lock >= 0 { close(lock) }
        guard descriptor >= 0, descriptor != STDOUT_FILENO else { return }
        close(descriptor)
        if case .beside(_, let name?) = way { unlink(name) }
    }

    /// - Throws: `CommandFailure`, or `OutputFile.NobodyReads`.
    package func write(_ bytes: UnsafeRawBufferPointer) throws {
        try Self.write(bytes, to: descriptor, path, waits: !isRecording)
    }

    /// - Throws: `CommandFailure`, or `OutputFile.NobodyReads`.
    package func write(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try write($0) } }

    /// The same; what was written is gone from `bytes`, also where the rest could not be: it can be written on from
    /// there.
    /// - Throws: `CommandFailure`, or `OutputFile.NobodyReads`.
    package func drain(_ bytes: inout [UInt8]) throws {
        var written = 0
        defer { bytes.removeFirst(written) }
        try bytes.withUnsafeBytes { try Self.write($0, to: descriptor, path) { written += $0 } }
    }

    /// What has been written takes its place now, and what is written from here on shows there at once: a recording
    /// that others may look at while it grows.
    package func publish() throws {
        // A FIFO or a device has nothing to bring to a disk.
        if fsync(descriptor) != 0, errno != EINVAL, errno != EROFS, errno != ENOTSUP { throw Self.failure(path, errno) }
        switch way {
        case .through: return
        case .copied(let target): return try copy(over: target)
        case .beside(let target, let name): try rename(name, to: target)
        }
    }

    /// The file is whole: it takes its place, and stays there when the power fails.
    package func commit() throws {
        try publish()
        guard descriptor != STDOUT_FILENO else { return }
        defer { descriptor = -1 }
        if close(descriptor) != 0, errno != EINTR { throw Self.failure(path, errno) }
    }

    /// Who read the output has closed it (`| head`): no failure, and no reason to go on.
    package struct NobodyReads: Error {
        /// There is nothing more to say of it.
        package init() {}
    }

    // MARK: - Parts

    private func rename(_ name: String?, to target: String) throws {
        let named = name ?? OutputPlace.temporaryName(target)
        if name == nil, linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, named, AT_SYMLINK_FOLLOW) != 0 {
            throw Self.failure(path, errno)
        }
        way = .beside(target: target, name: named)
        guard Glibc.rename(named, target) == 0 else {
            // A file that is mounted by itself cannot be replaced, only filled anew.
            guard errno == EBUSY || errno == EXDEV else { throw Self.failure(path, errno) }
            unlink(named)
            return try copy(over: target)
        }
        way = .through
        OutputPlace.synchronise(directoryOf: target)
    }

    private func copy(over target: String) throws {
        let old = open(target, O_WRONLY | O_TRUNC | O_CLOEXEC)
        guard old >= 0 else { throw Self.failure(path, errno) }
        let source = descriptor
        defer { close(source) }
        (descriptor, way) = (old, .through)
        guard lseek(source, 0, SEEK_SET) == 0 else { throw Self.failure(path, errno) }
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = piece.withUnsafeMutableBytes { read(source, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.failure(path, errno) }
            if count == 0 { break }
            try write(Array(piece[..<count]))
        }
        guard fsync(old) == 0 else { throw Self.failure(path, errno) }
    }

    private static func write(
        _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, _ path: String, waits: Bool = true,
        _ wrote: (Int) -> Void = { _ in }
    ) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count > 0 {
                wrote(count)
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            } else if errno == EAGAIN, waits {
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, 1000)
            } else if errno == EPIPE {
                throw NobodyReads()
            } else if errno != EINTR {
                throw failure(path, errno)
            }
        }
    }

    private static func failure(_ path: String, _ trouble: Int32) -> CommandFailure {
        let name = path == "-" ? "Standard output" : path
        let advice =
            switch trouble {
            case ENOENT: "Check that the directory exists."
            case EACCES, EPERM, EROFS: "Check the permissions of the file and of its directory."
            case ENOSPC, EDQUOT: "Free some space, or name a file on another disk."
            default: "Check the disk, or name another file."
            }
        return CommandFailure(
            .failed, "\(name) cannot be written: \(String(cString: strerror(trouble))).", advice: advice)
    }
}
