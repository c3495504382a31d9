/// Tags and attributes of an XML document, one by one: as much as health exports use. Texts, comments, processing
/// instructions and the document type are passed over. No entity but the five of XML and numbers is known, so nothing
/// expands.
struct XMLReader {
    struct Tag {
        enum Kind { case start, end }
        var kind: Kind
        var name: String
        var attributes: [String: String] = [:]
        /// `<name/>`.
        var isClosed = false
        var line: Int
    }

    private let bytes: [UInt8]
    private var index = 0
    private(set) var line = 1

    init(_ text: String) { bytes = Array(text.utf8) }

    /// `nil` at the end of the document.
    mutating func next() throws(HealthFileError) -> Tag? {
        while skip(past: "<") {
            if accept("!--") {
                try need(skip(past: "-->"), "A comment does not end")
            } else if accept("?") {
                try need(skip(past: "?>"), "A processing instruction does not end")
            } else if accept("![CDATA[") {
                try need(skip(past: "]]>"), "A CDATA section does not end")
            } else if accept("!") {
                try skipDocumentType()
            } else {
                return try tag()
            }
        }
        return nil
    }

    private mutating func tag() throws(HealthFileError) -> Tag {
        let isEnd = accept("/")
        var tag = Tag(kind: isEnd ? .end : .start, name: name(), line: line)
        try need(!tag.name.isEmpty, "A tag has no name")
        while true {
            skipSpace()
            if accept(">") { return tag }
            if !isEnd, accept("/>") {
                tag.isClosed = true
                return tag
            }
            let key = name()
            try need(!isEnd && !key.isEmpty, "The tag <\(tag.name)> does not end")
            skipSpace()
            try need(accept("="), "The attribute \(key) has no value")
            skipSpace()
            let quote = accept("\"") ? "\"" : accept("'") ? "'" : ""
            try need(!quote.isEmpty, "The value of \(key) has no quotes")
            let start = index
            try need(skip(past: quote), "The value of \(key) does not end")
            tag.attributes[key] = try unescaped(bytes[start..<(index - 1)])
        }
    }

    /// `<!DOCTYPE HealthData [ … ]>`, brackets included.
    private mutating func skipDocumentType() throws(HealthFileError) {
        var depth = 0
        while index < bytes.count {
            let byte = advance()
            if byte == UInt8(ascii: "[") { depth += 1 }
            if byte == UInt8(ascii: "]") { depth -= 1 }
            if byte == UInt8(ascii: ">"), depth <= 0 { return }
        }
        try need(false, "The document type does not end")
    }

    private func unescaped(_ value: ArraySlice<UInt8>) throws(HealthFileError) -> String {
        let text = String(decoding: value, as: UTF8.self)
        guard text.contains("&") else { return text }
        var result = ""
        var rest = Substring(text)
        while let ampersand = rest.firstIndex(of: "&") {
            result += rest[..<ampersand]
            let after = rest[rest.index(after: ampersand)...]
            guard let end = after.firstIndex(of: ";"), let scalar = Self.entity(after[..<end]) else {
                throw HealthFileError(line: line, reason: "There is an & that is no known entity.")
            }
            result.unicodeScalars.append(scalar)
            rest = after[after.index(after: end)...]
        }
        return result + rest
    }

    private static func entity(_ name: Substring) -> Unicode.Scalar? {
        switch name {
        case "amp": "&"
        case "lt": "<"
        case "gt": ">"
        case "quot": "\""
        case "apos": "'"
        default:
            if name.hasPrefix("#x") {
                UInt32(name.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
            } else {
                name.hasPrefix("#") ? UInt32(name.dropFirst()).flatMap(Unicode.Scalar.init) : nil
            }
        }
    }

    private mutating func name() -> String {
        let start = index
        while index < bytes.count, !" \t\r\n<>/='\"".utf8.contains(bytes[index]) { index += 1 }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    private mutating func skipSpace() {
        while index < bytes.count, " \t\r\n".utf8.contains(bytes[index]) { _ = advance() }
    }

    private mutating func advance() -> UInt8 {
        let byte = bytes[index]
        if byte == UInt8(ascii: "\n") { line += 1 }
        index += 1
        return byte
    }

    private mutating func accept(_ text: String) -> Bool {
        guard bytes[index...].starts(with: text.utf8) else { return false }
        index += text.utf8.count
        return true
    }

    private mutating func skip(past text: String) -> Bool {
        guard let first = text.utf8.first else { return true }
        while index < bytes.count {
            if bytes[index] == first, accept(text) { return true }
            _ = advance()
        }
        return false
    }

    private func need(_ condition: Bool, _ reason: String) throws(HealthFileError) {
        if !condition { throw HealthFileError(line: line, reason: reason + ": the file is cut or not XML.") }
    }
}
