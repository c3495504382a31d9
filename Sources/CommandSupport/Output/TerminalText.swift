/// Escapes text for a terminal. Names from the radio and from files can contain control characters, which could move
/// the cursor, change the title or reverse the line.
package enum TerminalText {
    /// Escapes every control character, as in `\\u001b`: C0 and C1, direction marks, invisible characters, line
    /// separators and noncharacters. A JSON string keeps its value.
    /// - Parameter keepsLines: whether to keep line breaks.
    package static func safe(_ text: String, keepsLines: Bool = false) -> String {
        var bytes: [UInt8] = []
        append(text, to: &bytes, keepsLines: keepsLines, isColoured: false)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Like `safe`, but converts markers of `TextColour` to escape sequences or removes them.
    static func append(_ text: String, to bytes: inout [UInt8], keepsLines: Bool, isColoured: Bool) {
        var text = text
        let isPlain = text.withUTF8 { utf8 in
            guard !utf8.contains(where: startsControl) else { return false }
            bytes.append(contentsOf: utf8)
            return true
        }
        guard !isPlain else { return }
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            if let colour = TextColour.escape(of: scalar, before: rest.first) {
                rest.removeFirst()
                if isColoured { bytes += colour.utf8 }
            } else if isControl(scalar), !(scalar == "\n" && keepsLines) {
                let digits = String(scalar.value, radix: 16)
                bytes += ("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).utf8
            } else {
                bytes += String(scalar).utf8
            }
        }
    }

    /// Whether a byte can be the first one of a control character in UTF-8.
    private static func startsControl(_ byte: UInt8) -> Bool {
        byte < 0x20
            ? byte != 0x09
            : byte >= 0x7F && (byte == 0x7F || byte == 0xC2 || byte == 0xD8 || byte == 0xE2 || byte == 0xEF)
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09: false
        case 0..<0x20, 0x7F...0x9F: true
        case 0xAD, 0x61C, 0x200B, 0x200E, 0x200F, 0x2028...0x202E, 0x2060...0x2069, 0xFEFF: true
        case 0xFDD0...0xFDEF, 0xFFFE, 0xFFFF: true
        default: false
        }
    }
}

/// The colours of terminal output. Coloured text contains markers, which `TextOutput` converts to escape sequences.
package enum TextColour: String, CaseIterable, Sendable {
    case blue = "34"
    case amber = "33"
    case red = "31"
    case green = "32"
    case grey = "90"
    case bold = "1"

    /// Returns the text between colour markers.
    package func paint(_ text: String) -> String {
        Self.marker(Self.allCases.firstIndex(of: self) ?? 0) + text + Self.marker(Self.end)
    }

    /// The escape sequence of a marker; `nil` for other characters.
    /// - Parameter next: the next character.
    static func escape(of scalar: Unicode.Scalar, before next: Unicode.Scalar?) -> String? {
        guard (0xFDD0...0xFDEF).contains(scalar.value), next == markerSuffix else { return nil }
        let number = Int(scalar.value - 0xFDD0)
        return number == end ? "\u{1B}[0m" : number < allCases.count ? "\u{1B}[\(allCases[number].rawValue)m" : nil
    }

    private static let end = 31
    /// The character after each marker. It is random per process, because external text can contain the same markers.
    private static let markerSuffix = Unicode.Scalar(UInt32.random(in: 0x100000...0x10FFFD))
    /// A marker: a noncharacter, which Unicode reserves for internal use.
    private static func marker(_ number: Int) -> String {
        String(String.UnicodeScalarView([Unicode.Scalar(UInt32(0xFDD0 + number)), markerSuffix].compactMap { $0 }))
    }
}
