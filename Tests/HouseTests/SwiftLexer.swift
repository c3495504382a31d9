import Foundation

/// Splits a Swift file into its code and its texts, as far as the rules of the house need it: raw and multi-line texts,
/// code inside of texts, block comments in block comments, and regular expressions, whose quotes and braces are none of
/// the code's.
struct SwiftLexer {
    /// What stands between two quotes.
    struct Text {
        let line: Int
        /// Without its quotes, escapes as the characters that they stand for, and `interpolation` for each `\(…)`.
        var value: String
        /// What a test or a suite of tests is called.
        var isTitle = false
    }

    /// Stands in a text for what is only known at run time.
    static let interpolation: Character = "\u{FFFC}"

    /// Comments are one blank, a text is `""`, and what is interpolated stands between these quotes in parentheses.
    /// Line ends stay where they were, but for those in comments and texts.
    private(set) var code: [UInt8] = []
    /// In the order of their beginnings; those that are put together with `+` are one.
    private(set) var texts: [Text] = []
    /// Without their marks, in the order of the file.
    private(set) var comments: [Text] = []

    private let bytes: [UInt8]
    private var index = 0
    private var line = 1
    /// Where in the code the last text ended, when nothing but `+` came since.
    private var lastText: (index: Int, codeEnd: Int)?

    init(_ text: String) {
        bytes = Array(text.utf8)
        code.reserveCapacity(bytes.count)
        readCode(isInterpolated: false)
    }

    private func byte(_ ahead: Int = 0) -> UInt8 { index + ahead < bytes.count ? bytes[index + ahead] : 0 }

    private func starts(_ word: StaticString) -> Bool {
        guard index + word.utf8CodeUnitCount <= bytes.count else { return false }
        for offset in 0..<word.utf8CodeUnitCount where bytes[index + offset] != word.utf8Start[offset] { return false }
        return true
    }

    /// - Parameter isInterpolated: ends behind the parenthesis that closes the one before.
    private mutating func readCode(isInterpolated: Bool) {
        var depth = 0
        while index < bytes.count {
            switch byte() {
            case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "/"):
                let begin = index + 2
                while index < bytes.count, byte() != 0x0A { index += 1 }
                comments.append(Text(line: line, value: String(decoding: bytes[begin..<index], as: UTF8.self)))
                code.append(0x20)
            case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "*"):
                readBlockComment()
            case UInt8(ascii: "/"):
                if !skipExpression(hashes: 0) { take() }
            case UInt8(ascii: "\""):
                readText(hashes: 0)
            case UInt8(ascii: "#"):
                var hashes = 1
                while byte(hashes) == UInt8(ascii: "#") { hashes += 1 }
                if byte(hashes) == UInt8(ascii: "\"") {
                    index += hashes
                    readText(hashes: hashes)
                } else if byte(hashes) == UInt8(ascii: "/"), skipExpression(hashes: hashes) {
                } else {
                    take()
                }
            case UInt8(ascii: "("):
                depth += 1
                take()
            case UInt8(ascii: ")"):
                take()
                depth -= 1
                if isInterpolated && depth < 0 { return }
            default:
                take()
            }
        }
    }

    private mutating func take() {
        if byte() == 0x0A { line += 1 }
        code.append(byte())
        index += 1
    }

    private mutating func readBlockComment() {
        var depth = 0
        let (begin, first) = (index + 2, line)
        repeat {
            if starts("/*") {
                depth += 1
                index += 2
            } else if starts("*/") {
                depth -= 1
                index += 2
            } else {
                if byte() == 0x0A { line += 1 }
                index += 1
            }
        } while depth > 0 && index < bytes.count
        comments.append(
            Text(
                line: first,
                value: String(
                    decoding: bytes[min(begin, index)..<max(begin, depth == 0 ? index - 2 : index)], as: UTF8.self)))
        code.append(0x20)
    }

    /// Whether the word before can be followed by a value, and not by a sign that divides it: `return /a/`.
    private var isBehindKeyword: Bool {
        let word = code.suffix(12).reversed().drop { $0 == 0x20 || $0 == 0x0A }.prefix {
            $0 >= 0x61 && $0 <= 0x7A || $0 == 0x5F || $0 >= 0x30 && $0 <= 0x39 || $0 >= 0x41 && $0 <= 0x5A
                || $0 == UInt8(ascii: ".")
        }
        return ["return", "in", "case", "else", "try", "await", "where", "is", "throw"].contains(
            String(decoding: word.reversed(), as: UTF8.self))
    }

    /// A regular expression literal, which ends on its line; otherwise the slash divides.
    private mutating func skipExpression(hashes: Int) -> Bool {
        var at = index + hashes + 1
        if hashes == 0 {
            guard ![0x20, 0x09, 0x0A, 0x29, 0x2C].contains(byte(1)) else { return false }
            let before = code.last { $0 != 0x20 && $0 != 0x0A }
            guard before.map({ "(,=:[{;!&|?".utf8.contains($0) }) ?? true || isBehindKeyword else { return false }
        }
        while at < bytes.count {
            if bytes[at] == 0x5C {
                at += 2
                continue
            }
            if bytes[at] == 0x0A && hashes == 0 { return false }
            if bytes[at] == 0x2F,
                hashes == 0 || at + hashes < bytes.count && (1...hashes).allSatisfy({ bytes[at + $0] == 0x23 })
            {
                line += bytes[index..<at].count { $0 == 0x0A }
                index = at + hashes + 1
                code.append(contentsOf: "\"\"".utf8)
                return true
            }
            at += 1
        }
        return false
    }

    /// From the quotes behind the hashes to behind those that close them; a text of one line ends with it at the
    /// latest.
    private mutating func readText(hashes: Int) {
        let isLong = starts("\"\"\"")
        var value: [UInt8] = []
        let place = begin()
        code.append(0x22)
        index += isLong ? 3 : 1
        while index < bytes.count {
            if byte() == 0x22, !isLong || starts("\"\"\""), hashesFollow(isLong ? 3 : 1, hashes) {
                index += (isLong ? 3 : 1) + hashes
                break
            }
            if byte() == 0x0A {
                if !isLong { break }
                line += 1
            }
            guard byte() == 0x5C, hashesFollow(1, hashes) else {
                value.append(byte())
                index += 1
                continue
            }
            index += 1 + hashes
            if byte() == UInt8(ascii: "(") {
                value.append(contentsOf: String(Self.interpolation).utf8)
                code.append(byte())
                index += 1
                readCode(isInterpolated: true)
            } else {
                value.append(contentsOf: escape())
            }
        }
        code.append(0x22)
        texts[place].value += String(decoding: value, as: UTF8.self)
        // `"--" + key`: what follows is only known at run time.
        let rest = bytes[index...].prefix(80).drop { $0 == 0x20 || $0 == 0x0A }
        if rest.first == UInt8(ascii: "+"), let next = rest.dropFirst().first(where: { $0 != 0x20 && $0 != 0x0A }),
            next != 0x22, next != UInt8(ascii: "="), next != UInt8(ascii: "#")
        {
            texts[place].value.append(Self.interpolation)
        }
        lastText = (place, code.count)
    }

    /// The text that begins here: a new one, or the last where only `+` came since.
    private mutating func begin() -> Int {
        if let last = lastText, last.codeEnd <= code.count {
            let between = code[last.codeEnd...].filter { $0 != 0x20 && $0 != 0x0A && $0 != 0x09 }
            if between == [UInt8(ascii: "+")] { return last.index }
        }
        lastText = nil
        let before = code.suffix(40).filter { $0 != 0x20 && $0 != 0x0A }
        texts.append(
            Text(
                line: line, value: "",
                isTitle: before.suffix(6).elementsEqual("@Test(".utf8) || before.suffix(7).elementsEqual("@Suite(".utf8)
            ))
        return texts.count - 1
    }

    private func hashesFollow(_ ahead: Int, _ hashes: Int) -> Bool {
        for offset in 0..<hashes where byte(ahead + offset) != 0x23 { return false }
        return true
    }

    /// Behind the backslash: `n`, `u{2D}`, a quote; goes on behind it.
    private mutating func escape() -> [UInt8] {
        defer { index += 1 }
        switch byte() {
        case UInt8(ascii: "n"), UInt8(ascii: "r"): return [0x0A]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "0"): return [0]
        case UInt8(ascii: "u") where byte(1) == UInt8(ascii: "{"):
            let digits = bytes[(index + 2)...].prefix { $0 != UInt8(ascii: "}") }.prefix(8)
            index += digits.count + 2
            return UInt32(String(decoding: digits, as: UTF8.self), radix: 16).flatMap(Unicode.Scalar.init).map {
                Array(String($0).utf8)
            } ?? []
        case 0x0A:
            line += 1
            return []
        default: return [byte()]
        }
    }
}
