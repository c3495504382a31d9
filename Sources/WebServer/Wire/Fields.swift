import Foundation
import Hummingbird
import TrackerService

/// Parses the JSON object of a request key by key. Unknown keys are rejected, so that a misspelt one is reported.
struct Fields {
    enum Value: Hashable, Sendable {
        case null
        case flag(Bool)
        case number(Double)
        case text(String)
        case list([Value])
    }

    private var rest: [String: Value]

    init() { rest = [:] }

    /// - Throws: `HTTPProblem` for anything but one JSON object of plain values.
    init(_ bytes: ByteBuffer) throws {
        guard bytes.readableBytes > 0 else {
            rest = [:]
            return
        }
        let text = Data(bytes.readableBytesView)
        // The decoder would accept UTF-16 and UTF-32, in which the check for repeated keys fails.
        guard !text.contains(0), String(validating: text, as: UTF8.self) != nil else {
            throw HTTPProblem.unreadable("The body is not text in UTF-8.")
        }
        do {
            rest = try JSONDecoder().decode([String: Value].self, from: text)
        } catch DecodingError.typeMismatch(_, let context) where context.codingPath.isEmpty {
            throw HTTPProblem.wrong("notAnObject", "The body must be one JSON object.")
        } catch DecodingError.valueNotFound {
            throw HTTPProblem.wrong("notAnObject", "The body must be one JSON object.")
        } catch DecodingError.typeMismatch(_, let context) {
            throw HTTPProblem.wrong(
                "notPlain",
                "\(Self.name(context.codingPath)) must be a text, a number, true, false, null, or a list of those.")
        } catch {
            throw HTTPProblem.unreadable(
                "The body is not JSON, or it holds a number that is too large or half of a surrogate pair.")
        }
        if let key = RepeatedKey.first(in: text) {
            throw HTTPProblem.wrong("repeatedField", "\"\(key.prefix(64))\" is in the body more than once.")
        }
    }

    init(_ values: [String: Value]) { rest = values }

    /// Removes and returns all keys.
    mutating func all() -> [String: Value] {
        defer { rest = [:] }
        return rest
    }

    /// Rejects `null`, as the following methods do, because `null` does not remove a value here.
    mutating func text(_ key: String) throws -> String? {
        switch rest.removeValue(forKey: key) {
        case nil: return nil
        case .text(let text): return text
        default: throw Self.mismatch(key, "a text")
        }
    }

    /// Whether the key is `null`, for values that can be removed.
    mutating func takeNull(_ key: String) -> Bool {
        guard rest[key] == .null else { return false }
        rest[key] = nil
        return true
    }

    mutating func number(_ key: String) throws -> Double? {
        switch rest.removeValue(forKey: key) {
        case nil: return nil
        case .number(let number): return number
        default: throw Self.mismatch(key, "a number")
        }
    }

    mutating func whole(_ key: String) throws -> Int? {
        guard let number = try number(key) else { return nil }
        guard let whole = Int(exactly: number) else { throw Self.mismatch(key, "a whole number") }
        return whole
    }

    mutating func flag(_ key: String) throws -> Bool? {
        switch rest.removeValue(forKey: key) {
        case nil: return nil
        case .flag(let flag): return flag
        default: throw Self.mismatch(key, "true or false")
        }
    }

    mutating func texts(_ key: String) throws -> [String]? {
        switch rest.removeValue(forKey: key) {
        case nil, .null: return nil
        case .list(let values):
            return try values.map { value in
                switch value {
                case .text(let text): return text
                case .number(let number): return Self.words(number)
                case .flag(let flag): return "\(flag)"
                default: throw Self.mismatch(key, "a list of texts")
                }
            }
        default: throw Self.mismatch(key, "a list")
        }
    }

    /// One of the values of an enumeration.
    /// - Parameter code: the error's code.
    mutating func choice<Value: RawRepresentable & CaseIterable>(_ key: String, _ code: String) throws -> Value?
    where Value.RawValue == String {
        try text(key).map { text in
            guard let value = Value(rawValue: text) else {
                let all = Value.allCases.map(\.rawValue).joined(separator: ", ")
                throw HTTPProblem.wrong(code, "\"\(key)\" must be one of \(all).")
            }
            return value
        }
    }

    mutating func word(_ key: String) throws -> String? {
        switch rest[key] {
        case .number(let number):
            rest[key] = nil
            return Self.words(number)
        default: return try text(key)
        }
    }

    /// Rejects remaining keys. Call it after all known keys.
    func finish() throws {
        guard let key = rest.keys.min() else { return }
        throw HTTPProblem.wrong("unknownField", "\"\(key.prefix(64))\" is not a known field.")
    }

    /// A number as text: `250` rather than `250.0`.
    static func words(_ number: Double) -> String { Int(exactly: number).map(String.init) ?? "\(number)" }

    private static func mismatch(_ key: String, _ wanted: String) -> HTTPProblem {
        .wrong("wrongType", "\"\(key)\" must be \(wanted).")
    }

    private static func name(_ path: [any CodingKey]) -> String {
        "\"" + path.map(\.stringValue).joined(separator: ".").prefix(64) + "\""
    }
}

extension Fields.Value: Decodable {
    init(from decoder: any Decoder) throws {
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
            // No request needs nested lists; deeper nesting is rejected.
            var list: [Fields.Value] = []
            var values = try decoder.unkeyedContainer()
            guard decoder.codingPath.count < 2 else {
                throw DecodingError.typeMismatch(
                    Fields.Value.self, .init(codingPath: decoder.codingPath, debugDescription: "too deep"))
            }
            while !values.isAtEnd { list.append(try values.decode(Fields.Value.self)) }
            self = .list(list)
        }
    }
}
