import Foundation
import TrackerCore

/// The body of a webhook as somebody wants it: JSON with `{{title}}` and the like in it. Within a text it is the
/// field's text, escaped; in the place of a value it is the field's value.
struct WebhookTemplate: Hashable, Sendable {
    private enum Part: Hashable, Sendable {
        case text(String)
        case inText(WebhookField)
        case value(WebhookField)
    }

    /// So many bytes at most.
    static let limit = 64 << 10
    private var parts: [Part] = []

    /// - Throws: `WrongInput` that names line and column.
    init(_ text: String) throws {
        var reader = Reader(text)
        try reader.document()
        parts = reader.parts
    }

    /// - Parameter value: of each field.
    func rendered(_ value: (WebhookField) -> WebhookField.Value) throws -> String {
        try parts.map { part in
            switch part {
            case .text(let text): return text
            case .value(let field): return try Self.json(value(field))
            case .inText(let field):
                return String(try Self.json(WebhookField.Value.text(value(field).text)).dropFirst().dropLast())
            }
        }.joined()
    }

    private static func json(_ value: WebhookField.Value) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// Reads JSON (RFC 8259) from the first to the last byte, and notes where fields stand.
    private struct Reader {
        private static let deepest = 64
        private let bytes: [UInt8]
        private var index = 0
        private var copied = 0
        private(set) var parts: [Part] = []

        init(_ text: String) { bytes = Array(text.utf8) }

        mutating func document() throws {
            try blanks()
            guard !isAtField, next == UInt8(ascii: "{") || next == UInt8(ascii: "[") else {
                throw wrong("it begins with { or [")
            }
            try value(depth: 0)
            try blanks()
            guard index == bytes.count else { throw wrong("nothing comes behind the end") }
            copy(to: index)
        }

        private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

        private func wrong(_ why: String, at place: Int? = nil) -> WrongInput {
            let before = String(decoding: bytes[..<min(place ?? index, bytes.count)], as: UTF8.self)
            let line = before.unicodeScalars.count { $0 == "\n" } + 1
            let column =
                (before.unicodeScalars.lastIndex(of: "\n").map { before.unicodeScalars[$0...].dropFirst() }
                ?? before.unicodeScalars[...]).count + 1
            return WrongInput("webhookTemplate", "line \(line), column \(column): \(why)")
        }

        private mutating func copy(to end: Int) {
            if end > copied { parts.append(.text(String(decoding: bytes[copied..<end], as: UTF8.self))) }
        }

        private mutating func blanks() throws { while let byte = next, [32, 9, 10, 13].contains(byte) { index += 1 } }

        private var isAtField: Bool {
            next == UInt8(ascii: "{") && index + 1 < bytes.count && bytes[index + 1] == UInt8(ascii: "{")
        }

        private mutating func value(depth: Int) throws {
            guard depth < Self.deepest else { throw wrong("it is nested too deeply") }
            try blanks()
            if isAtField {
                let field = try field()
                return parts.append(.value(field))
            }
            switch next {
            case UInt8(ascii: "{"): try list(depth, end: UInt8(ascii: "}"), isObject: true)
            case UInt8(ascii: "["): try list(depth, end: UInt8(ascii: "]"), isObject: false)
            case UInt8(ascii: "\""): try text()
            default: try word()
            }
        }

        private mutating func list(_ depth: Int, end: UInt8, isObject: Bool) throws {
            let closing = Character(Unicode.Scalar(end))
            index += 1
            try blanks()
            if next == end {
                index += 1
                return
            }
            while true {
                try blanks()
                if isObject {
                    guard next == UInt8(ascii: "\"") else { throw wrong("a name in quotes is missing") }
                    try text()
                    try blanks()
                    guard next == UInt8(ascii: ":") else { throw wrong("a colon is missing") }
                    index += 1
                }
                try value(depth: depth + 1)
                try blanks()
                if next == end { break }
                guard next == UInt8(ascii: ",") else { throw wrong("a comma or \(closing) is missing") }
                index += 1
            }
            index += 1
        }

        private mutating func text() throws {
            let start = index
            index += 1
            while let byte = next {
                if isAtField {
                    let field = try field()
                    parts.append(.inText(field))
                    continue
                }
                switch byte {
                case UInt8(ascii: "\""):
                    index += 1
                    return
                case UInt8(ascii: "\\"):
                    guard index + 1 < bytes.count else { throw wrong("the text is not closed", at: start) }
                    let escaped = bytes[index + 1]
                    if escaped == UInt8(ascii: "u") {
                        let digits = bytes[min(index + 2, bytes.count)..<min(index + 6, bytes.count)]
                        guard digits.count == 4, digits.allSatisfy({ Unicode.Scalar($0).properties.isASCIIHexDigit })
                        else { throw wrong("behind \\u come four digits") }
                    } else if !Array("\"\\/bfnrt".utf8).contains(escaped) {
                        throw wrong("this cannot be escaped")
                    }
                    index += 2
                case 0..<32: throw wrong("a text ends on its line")
                default: index += 1
                }
            }
            throw wrong("the text is not closed", at: start)
        }

        /// true, false, null, or a number.
        private mutating func word() throws {
            let start = index
            while let byte = next,
                Unicode.Scalar(byte).properties.isAlphabetic || (48...57).contains(byte) || "+-.".utf8.contains(byte)
            { index += 1 }
            let word = String(decoding: bytes[start..<index], as: UTF8.self)
            guard
                ["true", "false", "null"].contains(word)
                    || word.wholeMatch(of: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/) != nil
            else {
                throw wrong(
                    "a value is missing: a text in quotes, a number, true, false, null, or a field such as {{title}}",
                    at: start)
            }
        }

        private mutating func field() throws -> WebhookField {
            let start = index
            copy(to: start)
            guard
                let end = (index..<bytes.count).first(where: {
                    $0 + 1 < bytes.count && bytes[$0] == UInt8(ascii: "}") && bytes[$0 + 1] == UInt8(ascii: "}")
                })
            else {
                throw wrong("{{ is not closed", at: start)
            }
            let name = String(decoding: bytes[(start + 2)..<end], as: UTF8.self).trimmingCharacters(in: .whitespaces)
            guard let field = WebhookField(rawValue: name) else {
                throw wrong(
                    """
                    there is no field \"\(name.prefix(32))\"; there are \
                    \(WebhookField.allCases.map(\.rawValue).joined(separator: ", "))
                    """,
                    at: start)
            }
            index = end + 2
            copied = index
            return field
        }
    }
}
