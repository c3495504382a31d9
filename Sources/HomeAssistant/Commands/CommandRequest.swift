import Foundation
import TrackerCore
import TrackerService

/// A command: its name from the topic, and a JSON object, one plain text, or nothing.
struct CommandRequest: Hashable {
    /// The maximum length of a payload in bytes.
    static let limit = 1 << 14
    static let lights = ["blue", "breathe", "calm", "rainbow", "warmth", "christmas"]
    static let bottleReminders = ["off", "periodic", "smart"]
    /// The key of a plain text.
    private static let plainKey = ""

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

        /// The value as a user would type it.
        var word: String? {
            switch self {
            case .null, .texts: nil
            case .flag(let flag): "\(flag)"
            case .number(let number): Int(exactly: number).map(String.init) ?? "\(number)"
            case .text(let text): text
            }
        }
    }

    let name: String
    /// The sender's id of the request: a repetition gets the first answer, and is not done again.
    let transaction: String?
    /// The time of the press by the sender's clock, in seconds since 1970. The message can have waited at the broker.
    let pressed: Double?
    let payload: [UInt8]
    /// Fields that were not read yet. `finish` rejects the rest.
    private var fields: [String: Value]

    /// - Throws: `WrongInput`.
    init(name: String, payload: [UInt8]) throws {
        (self.name, self.payload) = (name, payload)
        guard payload.count <= Self.limit else {
            throw WrongInput("tooLarge", "A command has \(Self.limit) bytes at most.")
        }
        guard !payload.contains(0), let text = String(validating: payload, as: UTF8.self) else {
            throw WrongInput("notText", "A command is text in UTF-8.")
        }
        let word = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard word.hasPrefix("{") else {
            guard word.utf8.count <= 256, !word.hasPrefix("[") else {
                throw WrongInput("notAnObject", "A command is a JSON object or one word.")
            }
            fields = word.isEmpty ? [:] : [Self.plainKey: .text(word)]
            (transaction, pressed) = (nil, nil)
            return
        }
        var values = try Self.object(payload)
        let given = values.removeValue(forKey: "transaction")
        transaction = given?.word
        if let given, given != .null {
            guard let transaction, (1...128).contains(transaction.utf8.count) else {
                throw WrongInput("transaction", "\"transaction\" is a text or a number of 1 to 128 characters.")
            }
        }
        switch values.removeValue(forKey: "pressed") {
        case nil: pressed = nil
        case .number(let seconds): pressed = seconds
        default: throw Self.mismatch("pressed", "a number: seconds since 1970")
        }
        values[Self.plainKey] = nil
        fields = values
    }

    private static func object(_ payload: [UInt8]) throws -> [String: Value] {
        let values: [String: Value]
        do {
            values = try JSONDecoder().decode([String: Value].self, from: Data(payload))
        } catch DecodingError.typeMismatch(_, let context) {
            let key = context.codingPath.first?.stringValue ?? ""
            throw WrongInput(
                "notPlain", "\"\(key.prefix(64))\" must be a text, a number, true, false, null, or a list of texts.")
        } catch {
            throw WrongInput("notJSON", "The command is not JSON.")
        }
        guard let key = RepeatedKey.first(in: payload) else { return values }
        throw WrongInput("repeatedField", "\"\(key.prefix(64))\" is in the command twice.", values: ["key": key])
    }

    // MARK: - Fields

    /// The plain text, or the value of a key.
    mutating func main(_ key: String) throws -> String? { try word(Self.plainKey) ?? word(key) }

    /// Rejects `null`, because it differs from an absent key: a drink without its time would be logged now.
    mutating func text(_ key: String) throws -> String? {
        switch fields.removeValue(forKey: key) {
        case nil: return nil
        case .text(let text): return text
        default: throw Self.mismatch(key, "a text")
        }
    }

    mutating func number(_ key: String) throws -> Double? {
        switch fields.removeValue(forKey: key) {
        case nil: return nil
        case .number(let number): return number
        case .text(let text):
            guard let number = Double(text), number.isFinite else { throw Self.mismatch(key, "a number") }
            return number
        default: throw Self.mismatch(key, "a number")
        }
    }

    mutating func whole(_ key: String) throws -> Int? {
        guard let number = try number(key) else { return nil }
        guard let whole = Int(exactly: number) else { throw Self.mismatch(key, "a whole number") }
        return whole
    }

    mutating func word(_ key: String) throws -> String? {
        switch fields.removeValue(forKey: key) {
        case nil: return nil
        case .texts, .null: throw Self.mismatch(key, "a word")
        case let value?: return value.word
        }
    }

    mutating func all() throws -> [(name: String, text: String)] {
        defer { fields = [:] }
        return try fields.sorted { $0.key < $1.key }.map { key, value in
            guard let word = value.word ?? (value == .null ? "" : nil) else { throw Self.mismatch(key, "a word") }
            return (key, word)
        }
    }

    /// Call this after all known fields were read.
    /// - Throws: `WrongInput` for any other field, because a misspelt one must not be ignored.
    func finish() throws {
        guard let key = fields.keys.min() else { return }
        throw WrongInput("unknownField", "unknown field \"\(key.prefix(64))\"")
    }

    private static func mismatch(_ key: String, _ wanted: String) -> WrongInput {
        WrongInput("wrongType", "\"\(key.prefix(64))\" must be \(wanted).")
    }
}
