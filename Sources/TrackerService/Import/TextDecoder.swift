import TrackerCore

/// A file's bytes as UTF-8: without its byte order mark, and transcoded from UTF-16, which spreadsheets write. UTF-8
/// passes unseen; whether it is valid, the reader of the format says.
struct TextDecoder {
    private enum Encoding { case utf8, utf16LittleEndian, utf16BigEndian }
    private var encoding: Encoding?
    /// Bytes that wait for more: the first four of the file, or half a character.
    private var pending: [UInt8] = []
    private var highSurrogate: UInt16?

    mutating func decode(_ bytes: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) throws -> Void) throws {
        if encoding == .utf8 { return try take(bytes) }
        pending += bytes
        guard encoding != nil || pending.count >= 4 else { return }
        try drain(take)
    }

    mutating func finish(_ take: (UnsafeRawBufferPointer) throws -> Void) throws {
        try drain(take)
        guard pending.isEmpty, highSurrogate == nil else { throw Self.damaged }
    }

    private mutating func drain(_ take: (UnsafeRawBufferPointer) throws -> Void) throws {
        if encoding == nil { encoding = try begin() }
        let bytes = pending
        guard encoding != .utf8 else {
            pending = []
            return try bytes.withUnsafeBytes { try take($0) }
        }
        var text: [UInt8] = []
        for index in stride(from: 0, to: bytes.count - 1, by: 2) {
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            append(encoding == .utf16LittleEndian ? second << 8 | first : first << 8 | second, to: &text)
        }
        pending = bytes.count % 2 == 0 ? [] : [bytes[bytes.count - 1]]
        try text.withUnsafeBytes { try take($0) }
    }

    /// By the byte order mark; without one, text in UTF-16 shows itself by the zero in its first character.
    private mutating func begin() throws(HealthFileError) -> Encoding {
        let head = pending.prefix(4)
        if head.starts(with: [0xFF, 0xFE, 0, 0]) || head.starts(with: [0, 0, 0xFE, 0xFF]) {
            throw HealthFileError(
                reason: "The text is in UTF-32. Save it as UTF-8, for example: iconv -f UTF-32 -t UTF-8 FILE")
        }
        let marks: [(mark: [UInt8], encoding: Encoding)] = [
            ([0xEF, 0xBB, 0xBF], .utf8), ([0xFF, 0xFE], .utf16LittleEndian), ([0xFE, 0xFF], .utf16BigEndian),
        ]
        for (mark, encoding) in marks where head.starts(with: mark) {
            pending.removeFirst(mark.count)
            return encoding
        }
        guard head.count >= 2, (head[0] == 0) != (head[1] == 0) else { return .utf8 }
        return head[0] == 0 ? .utf16BigEndian : .utf16LittleEndian
    }

    /// Half a character stays what it is, in three bytes that are no UTF-8: the reader of the format judges it.
    private mutating func append(_ unit: UInt16, to text: inout [UInt8]) {
        if let high = highSurrogate {
            highSurrogate = nil
            if 0xDC00...0xDFFF ~= unit {
                let value = 0x10000 + (UInt32(high) - 0xD800) << 10 + UInt32(unit) - 0xDC00
                text += [0xF0 | UInt8(value >> 18), 0x80 | UInt8(value >> 12 & 0x3F)]
                text += [0x80 | UInt8(value >> 6 & 0x3F), 0x80 | UInt8(value & 0x3F)]
                return
            }
            text += Self.bytes(high)
        }
        if 0xD800...0xDBFF ~= unit { highSurrogate = unit } else { text += Self.bytes(unit) }
    }

    private static func bytes(_ unit: UInt16) -> [UInt8] {
        switch unit {
        case 0..<0x80: [UInt8(unit)]
        case 0x80..<0x800: [0xC0 | UInt8(unit >> 6), 0x80 | UInt8(unit & 0x3F)]
        default: [0xE0 | UInt8(unit >> 12), 0x80 | UInt8(unit >> 6 & 0x3F), 0x80 | UInt8(unit & 0x3F)]
        }
    }

    private static let damaged = HealthFileError(reason: "The text is no whole UTF-16: the file is cut or damaged.")
}
