import Bluetooth

/// The parser of a text format, line by line.
protocol LineParser: FormatParser {
    static var format: CaptureFormat { get }
    mutating func begin(info: inout CaptureFileInfo)
    /// Parses one line. - Throws: `MalformedLine` if the line is invalid.
    mutating func parse(_ line: TextLine, info: inout CaptureFileInfo, _ body: PacketSink) throws
    /// Delivers the last packet. - Parameter end: the file offset of the end.
    mutating func finish(end: Int, info: inout CaptureFileInfo, _ body: PacketSink) throws
}

/// A line of a text capture, without its line break.
struct TextLine {
    var text: Text
    /// The number of the line, from 1.
    var number: Int
    /// The file offset of the line.
    var offset: Int
    /// Whether the line ends with a line break.
    var isComplete: Bool
}

/// The error for an invalid line, without the line number.
struct MalformedLine: Error {
    var reason: String
}

extension LineParser {
    mutating func begin(info: inout CaptureFileInfo) { info.linkTypes = [Self.format.linkType] }
    mutating func finish(end: Int, info: inout CaptureFileInfo, _ body: PacketSink) throws {}

    mutating func read(_ window: RawSpan, isLast: Bool, info: inout CaptureFileInfo, _ body: PacketSink) throws -> Int {
        var at = 0
        if info.format == nil {
            info.format = Self.format
            begin(info: &info)
            at = window.textStart
        }
        let end = info.offset + window.byteCount
        while let (text, next, isComplete) = window.line(from: at, isLast: isLast) {
            info.lines += 1
            let line = TextLine(text: text, number: info.lines, offset: info.offset + at, isComplete: isComplete)
            do {
                try parse(line, info: &info, body)
            } catch let error as MalformedLine {
                throw isComplete
                    ? CaptureError(
                        .malformed, at: line.offset,
                        "line \(line.number): \(error.reason); everything before it was read")
                    : CaptureError(
                        .truncated, at: line.offset,
                        """
                        the file ends at byte \(end), in the middle of line \(line.number); everything before it \
                        was read
                        """)
            }
            at = next
        }
        if !isLast, window.byteCount - at > longestPacket {
            throw CaptureError.malformed(at: info.offset + at, "line \(info.lines + 1) is too long for a packet")
        }
        if isLast { try finish(end: end, info: &info, body) }
        return at
    }

    /// Checks the first lines of a file. `decide` gets each line that is not blank and returns `true` for this format,
    /// `false` for another, or `nil` to continue.
    /// - Parameter maximumLines: the number of lines after which the file does not have this format.
    static func detectLines(
        _ head: RawSpan, isLast: Bool, maximumLines: Int = .max, _ decide: (Text, _ isCompleteLine: Bool) -> Bool?
    ) -> Detection {
        var at = head.textStart, count = 0
        while let (line, next, isComplete) = head.line(from: at, isLast: isLast) {
            // A text file has no zero bytes.
            if line.contains(0) { return .noMatch }
            if !line.trimmed.isEmpty {
                if let isMatch = decide(line, isComplete || isLast) { return isMatch ? .match : .noMatch }
                count += 1
                if count == maximumLines { return .noMatch }
            }
            at = next
        }
        return isLast || (at..<head.byteCount).contains { head.u8($0) == 0 } ? .noMatch : .undecided
    }
}

extension RawSpan {
    /// The offset at which the text starts, after a byte order mark.
    var textStart: Int { has("\u{FEFF}", at: 0) ? 3 : 0 }

    /// The line at an offset without its line break, and the offset of the next line. `isComplete` is whether the line
    /// has a line break. Returns `nil` at the end, or if the line might continue after these bytes.
    /// - Parameter isLast: whether the file ends with these bytes.
    func line(from start: Int, isLast: Bool) -> (line: Text, next: Int, isComplete: Bool)? {
        guard start < byteCount else { return nil }
        return withUnsafeBytes { bytes -> (line: Text, next: Int, isComplete: Bool)? in
            let lineBreak = bytes[start...].firstIndex(of: 0x0A)
            guard lineBreak != nil || isLast else { return nil }
            var line = Array(bytes[start..<(lineBreak ?? bytes.count)])
            if line.last == 0x0D { line.removeLast() }
            // Text from a web page or an email can have no-break spaces.
            if line.contains(0xC2) { line.replace([0xC2, 0xA0], with: [0x20]) }
            return (line[...], lineBreak.map { $0 + 1 } ?? bytes.count, lineBreak != nil)
        }
    }
}

/// A line of a text capture, or a part of one, as UTF-8.
typealias Text = ArraySlice<UInt8>

extension Text {
    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    mutating func skipBlanks() { self = drop(while: Self.isBlank) }

    /// Removes spaces and email quote marks (`> `) at the start.
    mutating func skipQuotes() { self = drop { Self.isBlank($0) || $0 == UInt8(ascii: ">") } }

    /// Removes the next word; `nil` at the end of the line or at a comment.
    mutating func takeWord() -> Text? {
        skipBlanks()
        guard let first, first != UInt8(ascii: "#") else { return nil }
        let word = prefix { !Self.isBlank($0) }
        self = self[word.endIndex...]
        return word
    }

    /// Removes the prefix. Returns `false` if the text does not have it.
    mutating func removePrefix(_ prefix: String) -> Bool {
        guard hasPrefix(prefix) else { return false }
        removeFirst(prefix.utf8.count)
        return true
    }

    func hasPrefix(_ prefix: String) -> Bool { starts(with: prefix.utf8) }

    func hasSuffix(_ suffix: String) -> Bool { suffix.utf8.elementsEqual(self.suffix(suffix.utf8.count)) }

    /// The text without the spaces and tabs around it.
    var trimmed: Text {
        let end = lastIndex { !Self.isBlank($0) }.map { $0 + 1 } ?? startIndex
        return self[..<end].drop(while: Self.isBlank)
    }

    /// The text up to a comment (`#`), without the spaces around it.
    var withoutComment: Text { prefix { $0 != UInt8(ascii: "#") }.trimmed }

    /// The text as a string. Invalid UTF-8 is replaced.
    var string: String { String(decoding: self, as: UTF8.self) }

    /// The text for a message: short, without control characters.
    var quotation: String { TextEncoding.oneLine(prefix(40).string) + (count > 40 ? "…" : "") }

    /// The value of decimal digits; `nil` for other text or more than 18 digits.
    var decimal: Int64? {
        guard (1...18).contains(count), allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }

    /// Pairs of hex digits, with or without spaces, `-`, `:` or `,` between them and `0x` before them; `nil` for any
    /// other text, or half a byte.
    var hexBytes: [UInt8]? {
        var bytes: [UInt8] = [], rest = self
        bytes.reserveCapacity(count / 2)
        while let first = rest.first {
            if Self.isBlank(first) || "-:,".utf8.contains(first) {
                rest.removeFirst()
            } else if rest.hasPrefix("0x") || rest.hasPrefix("0X") {
                rest.removeFirst(2)
            } else {
                guard let byte = rest.firstHexPair else { return nil }
                bytes.append(byte)
                rest.removeFirst(2)
            }
        }
        return bytes
    }

    /// The byte of the first two characters, if they are hex digits.
    var firstHexPair: UInt8? {
        guard count >= 2, let high = self[startIndex].hexDigit, let low = self[startIndex + 1].hexDigit else {
            return nil
        }
        return high << 4 | low
    }

    /// A Bluetooth address, `A4:C1:38:01:02:03`.
    var address: BluetoothAddress? { count == 17 ? BluetoothAddress(string) : nil }

    /// A characteristic: `FFE4`, `0xFFE4`, a full UUID with dashes, or `handle:0x0025`.
    var characteristic: (uuid: BluetoothUUID?, handle: UInt16?)? {
        let word = string.lowercased()
        guard word.hasPrefix("handle:") else {
            // Only a 128-bit UUID has dashes.
            guard !word.contains("-") || count == 36 else { return nil }
            return BluetoothUUID(word).map { ($0, nil) }
        }
        let digits = word.dropFirst(word.hasPrefix("handle:0x") ? 9 : 7)
        guard (1...4).contains(digits.utf8.count), let handle = UInt16(digits, radix: 16) else { return nil }
        return (nil, handle)
    }
}

extension UInt8 {
    /// The value of an ASCII hex digit.
    fileprivate var hexDigit: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x37
        case 0x61...0x66: self - 0x57
        default: nil
        }
    }
}
