import Foundation
import TrackerCore

/// The JSON object of a command, taken apart key by key. A key that nobody asked for is refused: a misspelt one must
/// not be silence.
struct RequestFields: Hashable {
    enum Value: Hashable, Decodable {
        case null
        case flag(Bool)
        case number(Double)
        case text(String)
        case texts([String])

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
                self = .texts(try container.decode([String].self))
            }
        }

        /// As a person would type it.
        var word: String? {
            switch self {
            case .null, .texts: nil
            case .flag(let flag): "\(flag)"
            case .number(let number): Int(exactly: number).map(String.init) ?? "\(number)"
            case .text(let text): text
            }
        }
    }

    private var rest: [String: Value]

    init(_ rest: [String: Value] = [:]) { self.rest = rest }

    /// `null` is refused, here and below: if it counted as a key that is absent, a drink without its time would be
    /// logged now.
    mutating func text(_ key: String) throws -> String? {
        switch rest.removeValue(forKey: key) {
        case nil: return nil
        case .text(let text): return text
        default: throw Self.mismatch(key, "a text")
        }
    }

    mutating func texts(_ key: String) throws -> [String]? {
        switch rest.removeValue(forKey: key) {
        case nil: return nil
        case .texts(let texts): return texts
        default: throw Self.mismatch(key, "a list of texts")
        }
    }

    mutating func number(_ key: String) throws -> Double? {
        switch rest.removeValue(forKey: key) {
        case nil: return nil
        case .number(let number): return number
        case .text(let text):
            if let number = Double(text), number.isFinite {
                return number
            } else {
                throw Self.mismatch(key, "a number")
            }
        default: throw Self.mismatch(key, "a number")
        }
    }

    mutating func whole(_ key: String) throws -> Int? {
        guard let number = try number(key) else { return nil }
        guard let whole = Int(exactly: number) else { throw Self.mismatch(key, "a whole number") }
        return whole
    }

    /// A number, a switch or a word, as a person would type it.
    mutating func word(_ key: String) throws -> String? {
        switch rest.removeValue(forKey: key) {
        case nil: return nil
        case .texts, .null: throw Self.mismatch(key, "a word")
        case let value?: return value.word
        }
    }

    /// Every key with its word; nothing is left.
    mutating func all() throws -> [(name: String, text: String)] {
        defer { rest = [:] }
        return try rest.sorted { $0.key < $1.key }.map { key, value in
            guard let word = value.word ?? (value == .null ? "" : nil) else { throw Self.mismatch(key, "a word") }
            return (key, word)
        }
    }

    /// To be called when everything known has been taken.
    func finish() throws {
        guard let key = rest.keys.min() else { return }
        throw WrongInput("unknownField", "\"\(key.prefix(64))\" is not known here.")
    }

    private static func mismatch(_ key: String, _ wanted: String) -> WrongInput {
        WrongInput("wrongType", "\"\(key.prefix(64))\" is to be \(wanted).")
    }
}
