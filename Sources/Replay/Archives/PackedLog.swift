import Bluetooth
import Captures

/// Converts the packed log of Android's bug reports (btsnooz) to a btsnoop file.
///
///     log    = version(1) lastTime(8) zlib( record* )                      little-endian
///     record = length(2) [originalLength(2), version 2] delta(4) type(1) data(length - 1)
///
/// `lastTime`: microseconds since 1970 of the last record; `delta`: since the previous record. Types: 10 event, 11 ACL,
/// 12 SCO, 17 ISO received; 20 command, 21 ACL, 22 SCO, 2D ISO sent. Source: Android's `btif_debug_btsnoop.cc` and its
/// script `btsnooz.py`.
enum PackedLog {
    /// The maximum size in bytes: far more than a phone keeps in memory.
    static let longest = 64 << 20
    static let headerLength = 9

    /// The deflated bytes of a log, with zlib's header and trailer.
    /// - Throws: `CaptureError` if the bytes are not a packed log.
    static func deflated(_ log: [UInt8]) throws(CaptureError) -> [UInt8] {
        guard log.count >= headerLength + 6 else {
            throw CaptureError(.malformed, at: 0, "invalid packed log: \(log.count) bytes, fewer than its own header")
        }
        guard log[0] == 1 || log[0] == 2 else {
            throw CaptureError(.malformed, at: 0, "invalid packed log: version \(log[0]), expected 1 or 2")
        }
        let (method, flags) = (log[headerLength], log[headerLength + 1])
        guard method & 0x0F == 8, (Int(method) << 8 | Int(flags)) % 31 == 0, flags & 0x20 == 0 else {
            throw CaptureError(.malformed, at: 0, "invalid packed log: not deflate data")
        }
        return Array(log[headerLength...])
    }

    /// The btsnoop file of a log.
    /// - Parameters:
    ///   - head: the first nine bytes of the log.
    ///   - records: the unpacked bytes after them.
    /// - Returns: the file, and a message if the records are incomplete.
    static func btsnoop(head: [UInt8], records: [UInt8]) -> (file: [UInt8], readingError: String?) {
        let headerLength = head[0] == 1 ? 7 : 9
        var starts: [Int] = [], at = 0, sum = Duration.zero
        while at + headerLength <= records.count {
            let next = at + headerLength + number(records, at, 2) - 1
            guard next >= at + headerLength, next <= records.count else { break }
            starts.append(at)
            sum += .microseconds(number(records, at + headerLength - 5, 4))
            at = next
        }
        var time = Duration.microseconds(number(head, 1, 8)) - sum
        var writer = CaptureWriter(CaptureFormat(.btsnoop, .h4))
        for start in starts {
            let length = number(records, start, 2)
            let original = headerLength == 9 ? number(records, start + 2, 2) : length
            time += .microseconds(number(records, start + headerLength - 5, 4))
            guard let (type, direction) = kind(records[start + headerLength - 1]) else { continue }
            let packet = CapturePacket(
                number: 0, time: time, direction: direction, missing: max(0, original - length), content: .hci(type))
            let data = Array(records[(start + headerLength)..<(start + headerLength + length - 1)])
            _ = try? writer.write(packet, data.span.bytes)
        }
        return (
            writer.takeOutput(),
            at < records.count ? "the packed log ends in the middle of record \(starts.count + 1)" : nil
        )
    }

    private static func kind(_ type: UInt8) -> (type: HCIPacketType, direction: TrafficDirection)? {
        switch type {
        case 0x10: (.event, .received)
        case 0x11: (.acl, .received)
        case 0x12: (.sco, .received)
        case 0x17: (.iso, .received)
        case 0x20: (.command, .sent)
        case 0x21: (.acl, .sent)
        case 0x22: (.sco, .sent)
        case 0x2D: (.iso, .sent)
        default: nil
        }
    }

    /// A little-endian number.
    private static func number(_ bytes: [UInt8], _ at: Int, _ size: Int) -> Int {
        (0..<size).reduce(0) { $0 | Int(bytes[at + $1]) << ($1 * 8) }
    }
}
