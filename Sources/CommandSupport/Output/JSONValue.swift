/// A JSON value that keeps the order of its keys.
package indirect enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    case array([JSONValue])
    /// Keys are lowerCamelCase and unique.
    case object([Member])

    package struct Member: Hashable, Sendable {
        package let key: String
        package let value: JSONValue
        package init(_ key: String, _ value: JSONValue) {
            self.key = key
            self.value = value
        }
    }

    package init(_ value: Int?) { self = value.map(JSONValue.int) ?? .null }
    package init(_ value: String?) { self = value.map(JSONValue.string) ?? .null }
    package init(_ value: Bool?) { self = value.map(JSONValue.bool) ?? .null }
    package init(_ value: Double?) { self = value.map(JSONValue.double) ?? .null }

    /// The text on one line without spaces.
    package var text: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func append(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .int(let value): bytes += String(value).utf8
        case .double(let value): bytes += Self.number(value).utf8
        case .string(let value): Self.append(value, to: &bytes)
        case .array(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                value.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                Self.append(member.key, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// A number as JSON. Infinity and NaN become null.
    private static func number(_ value: Double) -> String {
        guard value.isFinite else { return "null" }
        if let whole = Int(exactly: value) { return String(whole) }
        return String(value)
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): bytes += "\\\"".utf8
            case UInt8(ascii: "\\"): bytes += "\\\\".utf8
            case UInt8(ascii: "\n"): bytes += "\\n".utf8
            case UInt8(ascii: "\r"): bytes += "\\r".utf8
            case UInt8(ascii: "\t"): bytes += "\\t".utf8
            case 0..<0x20, 0x7F:
                let digits = String(byte, radix: 16)
                bytes += ("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).utf8
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}

extension JSONValue: ExpressibleByDictionaryLiteral, ExpressibleByBooleanLiteral {
    package init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(elements.map(Member.init)) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
}
