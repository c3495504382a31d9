/// A line of a text capture: bytes and a place in them. No strings are made for packets.
struct TextLine {
    /// Offset in the window of the next byte to be looked at, and of the line's end.
    var at: Int
    let end: Int

    /// Offset of the first byte behind the next word's blanks; moves there.
    mutating func skipBlanks(_ bytes: RawSpan) {
        while at < end, bytes.u8(at) == 0x20 || bytes.u8(at) == 0x09 { at += 1 }
    }

    /// The same, and behind the marks of a quotation (`> `).
    mutating func skipQuotes(_ bytes: RawSpan) {
        while at < end, bytes.u8(at) == 0x20 || bytes.u8(at) == 0x09 || bytes.u8(at) == UInt8(ascii: ">") { at += 1 }
    }

    /// The next word, without the blanks around it; `nil` at the end of the line or at a comment.
    mutating func word(_ bytes: RawSpan) -> Range<Int>? {
        skipBlanks(bytes)
        guard at < end, bytes.u8(at) != UInt8(ascii: "#") else { return nil }
        let start = at
        while at < end, bytes.u8(at) != 0x20, bytes.u8(at) != 0x09 { at += 1 }
        return start..<at
    }

    /// Everything up to the end of the line, without the blanks around it.
    mutating func rest(_ bytes: RawSpan) -> Range<Int> {
        skipBlanks(bytes)
        var last = end
        while last > at, bytes.u8(last - 1) == 0x20 || bytes.u8(last - 1) == 0x09 { last -= 1 }
        defer { at = end }
        return at..<last
    }

    /// Moves behind `text` if the line goes on with it.
    mutating func take(_ text: StaticString, _ bytes: RawSpan) -> Bool {
        guard end - at >= text.utf8CodeUnitCount, bytes.has(text, at: at) else { return false }
        at += text.utf8CodeUnitCount
        return true
    }

    /// The next line of a window, without its line end, and where the one after it begins; `nil` where it is not
    /// complete.
    static func next(_ bytes: RawSpan, from start: Int, isLast: Bool) -> (line: TextLine, next: Int, isComplete: Bool)?
    {
        guard start < bytes.byteCount else { return nil }
        let found: Int? = bytes.withUnsafeBytes { raw in
            raw[start...].firstIndex(of: 0x0A)
        }
        guard found != nil || isLast else { return nil }
        var end = found ?? bytes.byteCount
        let next = found.map { $0 + 1 } ?? end
        if end > start, bytes.u8(end - 1) == 0x0D { end -= 1 }
        return (TextLine(at: start, end: end), next, found != nil)
    }
}

extension RawSpan {
    /// Whether these bytes are this text, in any case.
    func equals(_ range: Range<Int>, _ text: StaticString) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        for index in 0..<range.count {
            var byte = u8(range.lowerBound + index)
            if (0x41...0x5A).contains(byte) { byte |= 0x20 }
            if byte != text.utf8Start[index] { return false }
        }
        return true
    }

    /// For people and for names: invalid UTF-8 is repaired.
    func text(_ range: Range<Int>) -> String {
        String(decoding: range.map { u8($0) }, as: UTF8.self)
    }

    /// The same for a message: short, and nothing in it moves a terminal's cursor.
    func quotation(_ range: Range<Int>) -> String {
        TextEncoding.oneLine(text(range.prefix(40))) + (range.count > 40 ? "…" : "")
    }

    func nibble(_ offset: Int) -> UInt8? {
        switch u8(offset) {
        case let digit where (0x30...0x39).contains(digit): digit - 0x30
        case let digit where (0x41...0x46).contains(digit): digit - 0x37
        case let digit where (0x61...0x66).contains(digit): digit - 0x57
        default: nil
        }
    }

    /// Decimal digits; `nil` for none, for anything else, or for a number beyond 18 digits.
    func decimal(_ range: Range<Int>) -> Int64? {
        guard !range.isEmpty, range.count <= 18 else { return nil }
        var value: Int64 = 0
        for index in range {
            guard (0x30...0x39).contains(u8(index)) else { return nil }
            value = value * 10 + Int64(u8(index) - 0x30)
        }
        return value
    }

    /// Hex bytes: pairs of digits, with or without blanks, `-`, `:` or `,` between them and `0x` before them.
    /// - Returns: `false` where something else stands there, or half a byte.
    func hexBytes(_ range: Range<Int>, into bytes: inout [UInt8]) -> Bool {
        bytes.removeAll(keepingCapacity: true)
        var at = range.lowerBound
        while at < range.upperBound {
            switch u8(at) {
            case 0x20, 0x09, UInt8(ascii: "-"), UInt8(ascii: ":"), UInt8(ascii: ","):
                at += 1
            case UInt8(ascii: "0") where at + 1 < range.upperBound && u8(at + 1) | 0x20 == UInt8(ascii: "x"):
                at += 2
            default:
                guard at + 1 < range.upperBound, let high = nibble(at), let low = nibble(at + 1) else { return false }
                bytes.append(high << 4 | low)
                at += 2
            }
        }
        return true
    }

    /// A Bluetooth address, `A4:C1:38:01:02:03` (also with `-`), as 48 bits.
    func address(_ range: Range<Int>) -> UInt64? {
        guard range.count == 17 else { return nil }
        var value: UInt64 = 0
        for part in 0..<6 {
            let at = range.lowerBound + part * 3
            guard let high = nibble(at), let low = nibble(at + 1) else { return nil }
            if part < 5, u8(at + 2) != UInt8(ascii: ":"), u8(at + 2) != UInt8(ascii: "-") { return nil }
            value = value << 8 | UInt64(high << 4 | low)
        }
        return value
    }

    /// A characteristic: `FFE4`, `0xFFE4`, a full UUID with dashes, or `handle:0x0025`.
    func characteristic(_ range: Range<Int>) -> CharacteristicName? {
        var range = range
        let isHandle = range.count > 7 && equals(range.lowerBound..<range.lowerBound + 7, "handle:")
        if isHandle { range = range.lowerBound + 7..<range.upperBound }
        if range.count > 2, has("0x", at: range.lowerBound) || has("0X", at: range.lowerBound) {
            range = range.lowerBound + 2..<range.upperBound
        }
        var high: UInt64 = 0
        var low: UInt64 = 0
        var digits = 0
        for index in range {
            if u8(index) == UInt8(ascii: "-"), range.count == 36 { continue }
            guard let nibble = nibble(index), digits < 32 else { return nil }
            high = high << 4 | low >> 60
            low = low << 4 | UInt64(nibble)
            digits += 1
        }
        switch digits {
        case 1...4 where isHandle: return .handle(UInt16(truncatingIfNeeded: low))
        case 4 where !isHandle: return .short(UInt16(truncatingIfNeeded: low))
        case 8 where !isHandle: return .uuid(high: low << 32 | 0x1000, low: 0x8000_0080_5F9B_34FB)
        case 32 where !isHandle: return .uuid(high: high, low: low)
        default: return nil
        }
    }
}
