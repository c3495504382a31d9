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
    /// - Throws: an error with a sentence if it is not such a log.
    static func deflated(_ log: [UInt8]) throws(PackedLogError) -> [UInt8] {
        guard log.count >= headerLength + 6 else {
            throw PackedLogError(sentence: "invalid packed log: \(log.count) bytes, fewer than its own header")
        }
        guard log[0] == 1 || log[0] == 2 else {
            throw PackedLogError(sentence: "invalid packed log: version \(log[0]), expected 1 or 2")
        }
        let (method, flags) = (log[headerLength], log[headerLength + 1])
        guard method & 0x0F == 8, (Int(method) << 8 | Int(flags)) % 31 == 0, flags & 0x20 == 0 else {
            throw PackedLogError(sentence: "invalid packed log: not deflate data")
        }
        return Array(log[headerLength...])
    }

    /// The btsnoop file of a log.
    /// - Parameters:
    ///   - head: the first nine bytes of the log.
    ///   - records: the unpacked bytes after them.
    /// - Returns: the file, and a sentence if the records are incomplete.
    static func btsnoop(head: [UInt8], records: [UInt8]) -> (file: [UInt8], trouble: String?) {
        let headerLength = head[0] == 1 ? 7 : 9
        var sum: UInt64 = 0
        var at = 0, count = 0
        while at + headerLength <= records.count {
            let length = number(records, at, 2)
            guard length >= 1, at + headerLength + Int(length) - 1 <= records.count else { break }
            sum &+= number(records, at + headerLength - 5, 4)
            at += headerLength + Int(length) - 1
            count += 1
        }
        let end = at
        var time = number(head, 1, 8) &+ 0x00DC_DDB3_0F2F_8000 &- sum
        var file = Array("btsnoop\0".utf8) + [0, 0, 0, 1, 0, 0, 0x03, 0xEA]
        file.reserveCapacity(file.count + end + count * 20)
        at = 0
        while at < end {
            let length = Int(number(records, at, 2))
            time &+= number(records, at + headerLength - 5, 4)
            let original = headerLength == 9 ? Int(number(records, at + 2, 2)) : length
            if let (type, flags) = kind(records[at + headerLength - 1]) {
                for value in [UInt32(max(original, length)), UInt32(length), flags, 0] {
                    append(UInt64(value), 4, to: &file)
                }
                append(time, 8, to: &file)
                file.append(type)
                file += records[(at + headerLength)..<(at + headerLength + length - 1)]
            }
            at += headerLength + length - 1
        }
        return (file, end < records.count ? "the packed log ends in the middle of record \(count + 1)" : nil)
    }

    /// H4's type byte and btsnoop's flags: bit 0 received, bit 1 command or event.
    private static func kind(_ type: UInt8) -> (type: UInt8, flags: UInt32)? {
        switch type {
        case 0x10: (4, 3)
        case 0x11: (2, 1)
        case 0x12: (3, 1)
        case 0x17: (5, 1)
        case 0x20: (1, 2)
        case 0x21: (2, 0)
        case 0x22: (3, 0)
        case 0x2D: (5, 0)
        default: nil
        }
    }

    private static func number(_ bytes: [UInt8], _ at: Int, _ size: Int) -> UInt64 {
        (0..<size).reduce(0) { $0 | UInt64(bytes[at + $1]) << UInt64($1 * 8) }
    }

    private static func append(_ value: UInt64, _ size: Int, to bytes: inout [UInt8]) {
        for index in 0..<size { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64((size - 1 - index) * 8))) }
    }
}

struct PackedLogError: Error, Equatable {
    var sentence: String
}
