import Foundation

/// Where an `OutputFile` is made: what a name leads to, and files beside it.
enum OutputPlace {
    // No constant that Swift can import.
    private static let withoutName: Int32 = 0o20_000_000 | O_DIRECTORY

    /// Names of what is open already: written on, never replaced.
    static func isDescriptor(_ path: String) -> Bool {
        path == "/dev/stdout" || path == "/dev/stderr" || path.hasPrefix("/dev/fd/") || path.hasPrefix("/proc/self/fd/")
    }

    /// The name that a chain of symbolic links ends with, whether a file is there or not; `nil` where it ends nowhere.
    static func followed(_ path: String) -> String? {
        var path = path
        for _ in 0..<40 {
            var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = readlink(path, &buffer, buffer.count)
            guard count > 0 else { return path }
            let next = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            path = next.hasPrefix("/") ? next : directory(of: path) + "/" + next
        }
        return nil
    }

    /// Whether two names, where there is no file yet, would be one file.
    static func isSameName(_ path: String, _ other: String) -> Bool {
        guard let path = followed(path), let other = followed(other),
            (path as NSString).lastPathComponent == (other as NSString).lastPathComponent
        else { return false }
        var folder = stat()
        return stat(directory(of: path), &folder) == 0 && folder.isSame(directory(of: other))
    }

    /// The kind of a file by its first bytes, and whether it is a database in use, which a store is: it has a
    /// write-ahead log (SQLite's file format, 1.3, byte 18). `nil` for an empty file, or one that cannot be read.
    static func kind(_ path: String) -> (kind: OutputFile.Kind, isInUse: Bool)? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var head = [UInt8](repeating: 0, count: 1024)
        head.removeLast(head.count - max(0, read(descriptor, &head, head.count)))
        func begins(_ signatures: [[UInt8]]) -> Bool { signatures.contains { head.starts(with: $0) } }
        if head.isEmpty { return nil }
        if begins([Array("SQLite format 3\0".utf8)]) { return (.database, head.count > 18 && head[18] == 2) }
        let captures: [[UInt8]] = [
            Array("btsnoop\0".utf8), [0x0A, 0x0D, 0x0D, 0x0A], [0xA1, 0xB2, 0xC3, 0xD4], [0xD4, 0xC3, 0xB2, 0xA1],
            [0xA1, 0xB2, 0x3C, 0x4D], [0x4D, 0x3C, 0xB2, 0xA1],
        ]
        if begins(captures) || isPacketLogger(head) { return (.capture, false) }
        if begins([[0x1F, 0x8B], [0x50, 0x4B, 0x03, 0x04], [0xFD, 0x37, 0x7A, 0x58], [0x28, 0xB5, 0x2F, 0xFD]]) {
            return (.archive, false)
        }
        return (head.contains(0) ? .other : .text, false)
    }

    /// PacketLogger's records have no signature: a length of 4 bytes, which counts the 8 bytes of time and the byte of
    /// type that follow, a time of this century and a known type.
    private static func isPacketLogger(_ head: [UInt8]) -> Bool {
        guard head.count >= 13 else { return false }
        func number(_ bytes: some Sequence<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
        let isTime: (Int) -> Bool = { (900_000_000...4_200_000_000).contains($0) }
        let isBig = (9...65_600).contains(number(head[0..<4])) && isTime(number(head[4..<8]))
        let isLittle =
            (9...65_600).contains(number(head[0..<4].reversed())) && isTime(number(head[4..<8].reversed()))
        return (isBig || isLittle) && (head[12] <= 0x0D || head[12] >= 0xF0)
    }

    /// A new file in the target's directory. Without a name it leaves nothing behind, however the process ends.
    static func openBeside(_ target: String, mode: mode_t) -> (descriptor: Int32, name: String?)? {
        let unnamed = open(directory(of: target), withoutName | O_RDWR | O_CLOEXEC, mode)
        if unnamed >= 0 { return (unnamed, nil) }
        let name = temporaryName(target)
        let descriptor = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        return descriptor >= 0 ? (descriptor, name) : nil
    }

    /// A new file in the temporary directory that never gets a name; negative, with `errno`, where there can be none.
    static func openElsewhere() -> Int32 {
        open(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp", withoutName | O_RDWR | O_CLOEXEC, 0o600)
    }

    static func temporaryName(_ target: String) -> String {
        let name = target.split(separator: "/").last ?? "file"
        return "\(directory(of: target))/.\(name.prefix(200)).\(getpid())-\(UInt32.random(in: .min ... .max))"
    }

    /// A rename is only durable with its directory.
    static func synchronise(directoryOf target: String) {
        let descriptor = open(directory(of: target), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    static func status(of path: String) -> stat? {
        var status = stat()
        return stat(path, &status) == 0 ? status : nil
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

extension stat {
    func isKind(_ kind: mode_t) -> Bool { st_mode & S_IFMT == kind }

    /// Whether the path leads to this very file.
    func isSame(_ path: String) -> Bool {
        guard let other = OutputPlace.status(of: path) else { return false }
        return other.st_dev == st_dev && other.st_ino == st_ino
    }

    /// Gives owner and mode to another file; false where the owner cannot be kept.
    func isInherited(by descriptor: Int32) -> Bool {
        var own = stat()
        guard fstat(descriptor, &own) == 0 else { return false }
        // First the owner: a change of owner takes bits of the mode away.
        if own.st_uid != st_uid || own.st_gid != st_gid, fchown(descriptor, st_uid, st_gid) != 0 { return false }
        return fchmod(descriptor, st_mode & 0o7777) == 0
    }
}
