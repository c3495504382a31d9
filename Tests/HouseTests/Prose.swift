import Foundation

/// What people read of a file, line by line where it stands: all of a page; else comments, and what tests are called.
enum Prose {
    static func of(_ file: Repository.File) -> String {
        let ending = file.path.split(separator: "/").last?.split(separator: ".").dropFirst().last ?? ""
        if ending == "md" { return file.text }
        guard mayCite(file.text) else { return "" }
        return switch ending {
        case "swift": swift(file.text)
        case "js", "mjs", "c", "h", "modulemap": marked(file.text, line: "//", block: ("/*", "*/"))
        case "css": marked(file.text, line: nil, block: ("/*", "*/"))
        case "html", "svg", "xml": marked(file.text, line: nil, block: ("<!--", "-->"), quotes: "")
        case "py": marked(file.text, line: "#", block: ("\"\"\"", "\"\"\""))
        case "lua", "sql": marked(file.text, line: "--", block: ("/*", "*/"))
        case "json", "webmanifest": ""
        default: marked(file.text, line: "#", block: nil)
        }
    }

    /// Whether a letter of an id stands before a digit, and behind no other letter or digit.
    private static func mayCite(_ text: String) -> Bool {
        var (before, letter): (UInt8, UInt8) = (0, 0)
        for byte in text.utf8 {
            if byte >= 0x30, byte <= 0x39, letter >= 0x41, letter <= 0x58, !isWord(before) { return true }
            (before, letter) = (letter, byte)
        }
        return text.contains("ule ") || text.contains("ection ")
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        byte >= 0x30 && byte <= 0x39 || byte >= 0x41 && byte <= 0x5A || byte >= 0x61 && byte <= 0x7A || byte == 0x5F
    }

    private static func swift(_ text: String) -> String {
        let lexer = SwiftLexer(text)
        return placed(
            lexer.comments.map { ($0.line, $0.value) } + lexer.texts.filter(\.isTitle).map { ($0.line, $0.value) })
    }

    /// Texts at their lines, each ending like the line; several of one line stand behind each other.
    private static func placed(_ parts: [(line: Int, text: String)]) -> String {
        var lines: [String] = []
        for (first, text) in parts.sorted(by: { $0.line < $1.line }) {
            for (offset, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                while lines.count < first + offset { lines.append("") }
                lines[first + offset - 1] += (lines[first + offset - 1].isEmpty ? "" : " ") + line
            }
        }
        return lines.joined(separator: "\n")
    }

    /// Comments to the end of a line, and between two marks; neither begins inside of quotes, which end with their
    /// line.
    ///
    /// - Parameter line: counts at the beginning of a line and behind a blank, as `#` does in a shell, and where it is
    ///   two characters anywhere but behind a colon.
    private static func marked(
        _ text: String, line mark: String?, block: (begin: String, end: String)?, quotes: String = "\"'"
    ) -> String {
        let bytes = Array(text.utf8), quotes = Set(quotes.utf8)
        let (mark, begin, end) = (
            mark.map { Array($0.utf8) }, block.map { Array($0.begin.utf8) }, block.map { Array($0.end.utf8) }
        )
        var parts: [(line: Int, text: String)] = []
        var (index, line) = (0, 1)
        var quote: UInt8?
        func starts(_ word: [UInt8]?) -> Bool { word.map { bytes[index...].starts(with: $0) } ?? false }
        while index < bytes.count {
            let byte = bytes[index]
            if byte == 0x0A { (line, quote) = (line + 1, nil) }
            if let open = quote {
                if byte == 0x5C {
                    index += bytes.dropFirst(index + 1).first == 0x0A ? 0 : 1
                } else if byte == open {
                    quote = nil
                }
            } else if starts(begin), let begin, let end {
                let from = index + begin.count
                index = from
                while index < bytes.count, !starts(end) { index += 1 }
                parts.append((line, String(decoding: bytes[from..<min(index, bytes.count)], as: UTF8.self)))
                line += bytes[from..<min(index, bytes.count)].count { $0 == 0x0A }
                index += end.count - 1
            } else if starts(mark), let mark,
                index == 0
                    || (mark.count > 1
                        ? bytes[index - 1] != UInt8(ascii: ":") : [0x20, 0x09, 0x0A].contains(bytes[index - 1]))
            {
                let from = index + mark.count
                while index < bytes.count, bytes[index] != 0x0A { index += 1 }
                parts.append((line, String(decoding: bytes[min(from, index)..<index], as: UTF8.self)))
                continue
            } else if quotes.contains(byte) {
                quote = byte
            }
            index += 1
        }
        return placed(parts)
    }
}
