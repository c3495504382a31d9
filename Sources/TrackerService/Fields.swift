package import Foundation
package import TrackerCore

extension PlainValue: Decodable {
    /// Rejects nested lists.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else {
            var list: [PlainValue] = []
            var values = try decoder.unkeyedContainer()
            while !values.isAtEnd {
                let value = try values.decode(PlainValue.self)
                if case .list = value {
                    throw DecodingError.typeMismatch(
                        PlainValue.self, .init(codingPath: decoder.codingPath, debugDescription: "too deep"))
                }
                list.append(value)
            }
            self = .list(list)
        }
    }
}

/// The JSON object of a request. An interface takes the values of all known keys, then calls `finish`, which rejects
/// unknown keys, such as misspelt ones.
package struct Fields: Hashable, Sendable {
    private var remaining: [String: PlainValue]
    /// Whether a number can also be given as text, such as "250".
    private var acceptsTextNumbers = false

    package init(_ values: [String: PlainValue] = [:], acceptsTextNumbers: Bool = false) {
        (remaining, self.acceptsTextNumbers) = (values, acceptsTextNumbers)
    }

    /// - Parameter name: the name of the JSON in errors, such as `body`.
    /// - Throws: `WrongInput` for anything but one JSON object of plain values.
    package init(json: Data, of name: String, acceptsTextNumbers: Bool = false) throws {
        self.acceptsTextNumbers = acceptsTextNumbers
        // The decoder would accept UTF-16 and UTF-32, in which the check for repeated keys fails.
        guard !json.contains(0), let text = String(validating: json, as: UTF8.self) else {
            throw WrongInput("notText", "The \(name) is not text in UTF-8.")
        }
        do {
            remaining = try JSONDecoder().decode([String: PlainValue].self, from: json)
        } catch DecodingError.typeMismatch(_, let context) where !context.codingPath.isEmpty {
            let key = context.codingPath.map(\.stringValue).joined(separator: ".").prefix(64)
            throw WrongInput("notPlain", "\"\(key)\" must be a text, a number, true, false, null, or a list of those.")
        } catch DecodingError.typeMismatch, DecodingError.valueNotFound {
            throw WrongInput("notAnObject", "The \(name) must be one JSON object.")
        } catch {
            throw WrongInput(
                "notJSON",
                "The \(name) is not JSON, or it holds a number that is too large or half of a surrogate pair.")
        }
        if let key = Self.repeatedKey(in: text) {
            throw WrongInput("repeatedField", "\"\(key.prefix(64))\" is in the \(name) more than once.")
        }
    }

    /// The first duplicate key of a JSON object without nested objects. Parsers differ in the value that they use
    /// (RFC 8259, section 4), so a proxy might have checked another one.
    package static func repeatedKey(in json: String) -> String? {
        var seen: Set<String> = []
        // Each match is one JSON string. It is a key if a colon follows.
        let strings = /("(?:[^"\\]++|\\.)*+")\s*(:)?/.matchingSemantics(.unicodeScalar)
        for match in json.matches(of: strings) where match.2 != nil {
            let key = (try? JSONDecoder().decode(String.self, from: Data(match.1.utf8))) ?? String(match.1)
            guard seen.insert(key).inserted else { return key }
        }
        return nil
    }

    /// Removes and returns all keys.
    package mutating func all() -> [String: PlainValue] {
        defer { remaining = [:] }
        return remaining
    }

    /// Removes and returns a value.
    package mutating func take(_ key: String) -> PlainValue? { remaining.removeValue(forKey: key) }

    /// Removes a key with the value `null`, by which a client unsets a value. Returns whether there was one.
    package mutating func takeNull(_ key: String) -> Bool {
        guard remaining[key] == .null else { return false }
        remaining[key] = nil
        return true
    }

    /// Removes and returns a text. Rejects `null`: if a client can unset the value, call `takeNull` first.
    package mutating func text(_ key: String) throws -> String? {
        switch take(key) {
        case nil: return nil
        case .text(let text): return text
        default: throw Self.mismatch(key, "a text")
        }
    }

    /// Removes and returns a text, number or flag as text.
    package mutating func scalarText(_ key: String) throws -> String? {
        switch take(key) {
        case nil: return nil
        case .null, .list: throw Self.mismatch(key, "a text")
        case let value?: return value.text
        }
    }

    package mutating func number(_ key: String) throws -> Double? {
        switch take(key) {
        case nil: return nil
        case .number(let number): return number
        case .text(let text) where acceptsTextNumbers:
            guard let number = Double(text), number.isFinite else { throw Self.mismatch(key, "a number") }
            return number
        default: throw Self.mismatch(key, "a number")
        }
    }

    package mutating func integer(_ key: String) throws -> Int? {
        guard let number = try number(key) else { return nil }
        guard let integer = Int(exactly: number) else { throw Self.mismatch(key, "a whole number") }
        return integer
    }

    package mutating func flag(_ key: String) throws -> Bool? {
        switch take(key) {
        case nil: return nil
        case .flag(let flag): return flag
        default: throw Self.mismatch(key, "true or false")
        }
    }

    package mutating func texts(_ key: String) throws -> [String]? {
        switch take(key) {
        case nil, .null: return nil
        case .list(let values) where !values.contains(.null): return values.map(\.text)
        default: throw Self.mismatch(key, "a list of texts")
        }
    }

    /// Removes and returns one of the values of an enumeration.
    /// - Parameter code: the error's code.
    package mutating func choice<Value: RawRepresentable & CaseIterable>(_ key: String, _ code: String) throws -> Value?
    where Value.RawValue == String {
        try text(key).map { text in
            guard let value = Value(rawValue: text) else {
                let all = Value.allCases.map(\.rawValue).joined(separator: ", ")
                throw WrongInput(code, "\"\(key)\" must be one of \(all).")
            }
            return value
        }
    }

    /// Rejects remaining keys. Call it after all known keys.
    package func finish() throws {
        guard let key = remaining.keys.min() else { return }
        throw WrongInput("unknownField", "\"\(key.prefix(64))\" is not a known field.")
    }

    private static func mismatch(_ key: String, _ wanted: String) -> WrongInput {
        WrongInput("wrongType", "\"\(key.prefix(64))\" must be \(wanted).")
    }
}
