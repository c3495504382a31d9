/// Text in UTF-16, as Windows' editors and some mail programs keep it: with a byte order mark, or plainly so by its
/// zero bytes.
///
/// It is read as the UTF-8 that it would be; offsets of trouble are those in the file.
struct UTF16Parser {
    private let isBigEndian: Bool
    /// What reads the same text in UTF-8.
    private var inner: CaptureReader
    /// UTF-8 that the inner reader has not taken yet.
    private var pending: [UInt8] = []
    /// Where `pending` begins: in UTF-8, and in the file.
    private var place = (text: 0, file: 0)
    /// The first half of a pair.
    private var high: UInt16?

    /// - Parameter inner: must not look for UTF-16 itself.
    init(isBigEndian: Bool, inner: CaptureReader) { (self.isBigEndian, self.inner) = (isBigEndian, inner) }

    /// What the first bytes tell.
    enum Look: Equatable {
        case utf16(isBigEndian: Bool)
        case other
        /// More bytes are needed to tell.
        case undecided
    }

    /// Without a byte order mark eight letters tell, or as many as there are.
    private static let longestLook = 16

    static func look(_ head: RawSpan, isLast: Bool) -> Look {
        if head.byteCount >= 2, head.u8(0) == 0xFF, head.u8(1) == 0xFE { return .utf16(isBigEndian: false) }
        if head.byteCount >= 2, head.u8(0) == 0xFE, head.u8(1) == 0xFF { return .utf16(isBigEndian: true) }
        let count = min(head.byteCount, longestLook)
        for order in [false, true] {
            let fits = (0..<count).allSatisfy { at in
                let byte = head.u8(at)
                return at & 1 == (order ? 0 : 1)
                    ? byte == 0 : byte == 0x09 || byte == 0x0A || byte == 0x0D || (0x20..<0x7F).contains(byte)
            }
            guard fits else { continue }
            if count == longestLook || isLast && count >= 4 { return .utf16(isBigEndian: order) }
            if !isLast { return .undecided }
        }
        return .other
    }

    mutating func read(
        _ window: RawSpan, isLast: Bool, facts: inout CaptureFileFacts, _ body: (CapturePacket, RawSpan) throws -> Void
    ) throws -> Int {
        let taken = window.byteCount & ~1
        var at = 0
        while at < taken {
            append(
                isBigEndian
                    ? UInt16(window.u8(at)) << 8 | UInt16(window.u8(at + 1))
                    : UInt16(window.u8(at + 1)) << 8 | UInt16(window.u8(at)))
            at += 2
        }
        if isLast, high != nil { appendReplacement() }
        let start = facts.offset
        var reader = inner
        let text = pending
        defer {
            inner = reader
            facts = reader.facts
            facts.offset = start
        }
        let consumed: Int
        do {
            consumed = try reader.read(text.span.bytes, isLast: isLast, body)
        } catch var error as CaptureError {
            error.offset = place.file + Self.size(text.prefix(max(0, error.offset - place.text)))
            throw error
        }
        place = (place.text + consumed, place.file + Self.size(text.prefix(consumed)))
        pending.removeFirst(consumed)
        // An odd byte at the end is half a character.
        return isLast ? window.byteCount : taken
    }

    /// Bytes that this UTF-8 has as UTF-16.
    private static func size(_ text: ArraySlice<UInt8>) -> Int {
        text.reduce(0) { $0 + ($1 & 0xC0 == 0x80 ? 0 : $1 >= 0xF0 ? 4 : 2) }
    }

    private mutating func append(_ unit: UInt16) {
        if let first = high {
            high = nil
            guard (0xDC00..<0xE000).contains(unit) else {
                appendReplacement()
                return append(unit)
            }
            append(scalar: 0x10000 + (UInt32(first - 0xD800) << 10 | UInt32(unit - 0xDC00)))
        } else if (0xD800..<0xDC00).contains(unit) {
            high = unit
        } else if (0xDC00..<0xE000).contains(unit) {
            appendReplacement()
        } else {
            append(scalar: UInt32(unit))
        }
    }

    private mutating func appendReplacement() {
        high = nil
        append(scalar: 0xFFFD)
    }

    private mutating func append(scalar: UInt32) {
        switch scalar {
        case 0..<0x80: pending.append(UInt8(scalar))
        case 0x80..<0x800: pending += [UInt8(0xC0 | scalar >> 6), UInt8(0x80 | scalar & 0x3F)]
        case 0x800..<0x10000:
            pending += [UInt8(0xE0 | scalar >> 12), UInt8(0x80 | scalar >> 6 & 0x3F), UInt8(0x80 | scalar & 0x3F)]
        default:
            pending += [
                UInt8(0xF0 | scalar >> 18), UInt8(0x80 | scalar >> 12 & 0x3F), UInt8(0x80 | scalar >> 6 & 0x3F),
                UInt8(0x80 | scalar & 0x3F),
            ]
        }
    }
}
