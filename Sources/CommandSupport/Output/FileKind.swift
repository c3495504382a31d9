import Foundation

/// The kind of a file by its content. A command replaces only a file of the kind that it writes.
package enum FileKind: String, Sendable {
    case text = "a text file", capture = "a capture", archive = "an archive", database = "a database"
    case other = "a file of an unknown kind"

    /// The kind of a file by its first bytes, and whether it is a database with a write-ahead log, which every store
    /// has (SQLite file format, 1.3, byte 18); `nil` for an empty or unreadable file.
    static func ofFile(_ path: String) -> (kind: FileKind, isInUse: Bool)? {
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

    /// Whether a file is a PacketLogger capture, by the length, the time and the type of its first packet.
    private static func isPacketLogger(_ head: [UInt8]) -> Bool {
        guard head.count >= 13 else { return false }
        func number(_ bytes: some Sequence<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
        let isTime: (Int) -> Bool = { (900_000_000...4_200_000_000).contains($0) }
        let isBigEndian = (9...65_600).contains(number(head[0..<4])) && isTime(number(head[4..<8]))
        let isLittleEndian =
            (9...65_600).contains(number(head[0..<4].reversed())) && isTime(number(head[4..<8].reversed()))
        return (isBigEndian || isLittleEndian) && (head[12] <= 0x0D || head[12] >= 0xF0)
    }
}
