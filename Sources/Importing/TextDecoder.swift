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
            try append(encoding == .utf16LittleEndian ? second << 8 | first : first << 8 | second, to: &text)
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

    private mutating func append(_ unit: UInt16, to text: inout [UInt8]) throws(HealthFileError) {
        var value = UInt32(unit)
        switch (highSurrogate, unit) {
        case (nil, 0xD800...0xDBFF):
            highSurrogate = unit
            return
        case (let high?, 0xDC00...0xDFFF):
            value = 0x10000 + (UInt32(high) - 0xD800) << 10 + UInt32(unit) - 0xDC00
            highSurrogate = nil
        case (nil, 0..<0xD800), (nil, 0xE000...): break
        default: throw Self.damaged
        }
        guard let scalar = Unicode.Scalar(value), let encoded = UTF8.encode(scalar) else { throw Self.damaged }
        text += encoded
    }

    private static let damaged = HealthFileError(reason: "The text is no whole UTF-16: the file is cut or damaged.")
}
