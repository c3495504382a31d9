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

    let name: String
    /// The sender's id of the request: a repetition gets the first answer, and is not done again.
    let transaction: String?
    /// The time of the press by the sender's clock, in seconds since 1970. The message can have waited at the broker.
    let pressed: Double?
    let payload: [UInt8]
    /// The fields of the object. Home Assistant's templates send numbers as text.
    var fields: Fields

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
            fields = Fields(word.isEmpty ? [:] : [Self.plainKey: .text(word)], acceptsTextNumbers: true)
            (transaction, pressed) = (nil, nil)
            return
        }
        fields = try Fields(json: Data(payload), of: "command", acceptsTextNumbers: true)
        guard fields.take(Self.plainKey) == nil else { throw WrongInput("unknownField", "\"\" is not a known field.") }
        transaction = fields.takeNull("transaction") ? nil : try fields.word("transaction")
        if let transaction, !(1...128).contains(transaction.utf8.count) {
            throw WrongInput("transaction", "\"transaction\" is a text or a number of 1 to 128 characters.")
        }
        pressed = try fields.number("pressed")
    }

    /// The plain text, or the value of a key.
    mutating func main(_ key: String) throws -> String? { try fields.word(Self.plainKey) ?? fields.word(key) }
}
