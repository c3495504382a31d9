/// Replaces in a stream of XML what XML cannot hold and exports contain all the same: control characters,
/// noncharacters, damaged UTF-8 and numeric references to such characters become `?`, a blank in an attribute's name
/// becomes `_`. Each replacement keeps the number of bytes.
struct XMLRepair {
    private enum Place: Equatable {
        case text, elementName, tag, attributeName, attributeValue(quote: UInt8)
        /// A comment, CDATA, a processing instruction or an end tag, until this text.
        case until([UInt8])
    }

    /// How many places were repaired, and the line of the first.
    private(set) var count = 0
    private(set) var firstLine = 0
    private var place = Place.text
    private var line: Int
    /// The beginning of what could not be judged yet.
    private var pending: [UInt8] = []
    /// The longest that is held back: blanks in a name.
    private static let longestPending = 1 << 16

    init(line: Int) { self.line = line }

    /// - Returns: the bytes that can be judged by now, repaired; with `isLast` all of them.
    mutating func repair(_ bytes: UnsafeRawBufferPointer, isLast: Bool) -> [UInt8] {
        pending += bytes
        let isLast = isLast || pending.count - bytes.count > Self.longestPending
        var at = 0
        var buffer = pending
        buffer.withUnsafeMutableBufferPointer { buffer in
            while at < buffer.count, let next = step(buffer, at, isLast: isLast) { at = next }
        }
        pending = Array(buffer[at...])
        buffer.removeLast(buffer.count - at)
        return buffer
    }

    /// Judges what stands at that place.
    /// - Returns: the place behind it; `nil` where more bytes are needed.
    private mutating func step(_ bytes: UnsafeMutableBufferPointer<UInt8>, _ at: Int, isLast: Bool) -> Int? {
        let byte = bytes[at]
        guard byte < 0x80 else { return character(bytes, at, isLast: isLast) }
        if byte == UInt8(ascii: "\n") {
            line += 1
        } else if byte < 0x20, byte != UInt8(ascii: "\t"), byte != UInt8(ascii: "\r") {
            replace(bytes, at..<(at + 1))
            return at + 1
        }
        switch place {
        case .text where byte == UInt8(ascii: "<"): return markup(bytes, at, isLast: isLast)
        case .text where byte == UInt8(ascii: "&"), .attributeValue where byte == UInt8(ascii: "&"):
            return reference(bytes, at, isLast: isLast)
        case .attributeValue(let quote): if byte == quote { place = .tag }
        case .elementName where FileHead.isSpace(byte): place = .tag
        case .elementName, .tag, .attributeName: return tag(bytes, at, isLast: isLast)
        case .until(let end):
            guard byte == end[0] else { break }
            guard isLast || at + end.count <= bytes.count else { return nil }
            guard bytes[at...].starts(with: end) else { break }
            place = .text
            return at + end.count
        case .text: break
        }
        return at + 1
    }

    private mutating func tag(_ bytes: UnsafeMutableBufferPointer<UInt8>, _ at: Int, isLast: Bool) -> Int? {
        switch bytes[at] {
        case UInt8(ascii: ">"): place = .text
        case UInt8(ascii: "\""), UInt8(ascii: "'"): place = .attributeValue(quote: bytes[at])
        case UInt8(ascii: "="): place = .tag
        case let byte where FileHead.isSpace(byte) && place == .attributeName:
            guard let end = bytes[at...].firstIndex(where: { !FileHead.isSpace($0) }) else {
                return isLast ? at + 1 : nil
            }
            if Self.isNameStart(bytes[end]) {
                replace(bytes, at..<end, with: UInt8(ascii: "_"))
            } else {
                place = .tag
            }
            line += bytes[(at + 1)..<end].count { $0 == UInt8(ascii: "\n") }
            return end
        case let byte where Self.isNameStart(byte) && place == .tag: place = .attributeName
        default: break
        }
        return at + 1
    }

    private static func isNameStart(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte & 0xDF) || byte == UInt8(ascii: "_") || byte >= 0x80
    }

    private mutating func markup(_ bytes: UnsafeMutableBufferPointer<UInt8>, _ at: Int, isLast: Bool) -> Int? {
        for (start, end) in [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<!", ">"), ("<?", "?>"), ("</", ">")] {
            let known = bytes[at...].prefix(start.utf8.count)
            guard start.utf8.starts(with: known) else { continue }
            guard known.count == start.utf8.count else {
                if isLast { break }
                return nil
            }
            place = .until(Array(end.utf8))
            return at + known.count
        }
        place = .elementName
        return at + 1
    }

    /// `&#11;` and `&#xB;`; everything else that begins with `&` is left to the parser.
    private mutating func reference(_ bytes: UnsafeMutableBufferPointer<UInt8>, _ at: Int, isLast: Bool) -> Int? {
        let text = bytes[at...].prefix(16)
        guard let end = text.firstIndex(of: UInt8(ascii: ";")) else { return text.count == 16 || isLast ? at + 1 : nil }
        let digits = String(decoding: text[(at + 1)..<end], as: UTF8.self).lowercased()
        guard digits.hasPrefix("#") else { return at + 1 }
        let isHex = digits.hasPrefix("#x")
        guard let value = UInt32(digits.dropFirst(isHex ? 2 : 1), radix: isHex ? 16 : 10), !Self.isInXML(value) else {
            return at + 1
        }
        replace(bytes, at..<(end + 1))
        return end + 1
    }

    private static func isInXML(_ value: UInt32) -> Bool {
        value == 9 || value == 10 || value == 13
            || value >= 32 && value != 0xFFFE && value != 0xFFFF && Unicode.Scalar(value) != nil
    }

    /// A character of several bytes.
    private mutating func character(_ bytes: UnsafeMutableBufferPointer<UInt8>, _ at: Int, isLast: Bool) -> Int? {
        let lead = bytes[at]
        let count = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2
        let known = bytes[at...].prefix(count)
        // So few bytes show no scalar that is whole, but may be the beginning of one.
        guard known.count == count || isLast || known.dropFirst().contains(where: { $0 & 0xC0 != 0x80 }) else {
            return nil
        }
        if let text = String(validating: known, as: UTF8.self), let scalar = text.unicodeScalars.first,
            text.unicodeScalars.count == 1, Self.isInXML(scalar.value)
        {
            if place == .tag { place = .attributeName }
            return at + count
        }
        let bad = known.count == count && count == 3 && known.dropFirst().allSatisfy { $0 & 0xC0 == 0x80 } ? 3 : 1
        replace(bytes, at..<(at + bad))
        return at + bad
    }

    private mutating func replace(
        _ bytes: UnsafeMutableBufferPointer<UInt8>, _ range: Range<Int>, with mark: UInt8 = UInt8(ascii: "?")
    ) {
        if count == 0 { firstLine = line }
        count += 1
        bytes[range].update(repeating: mark)
    }
}
