import Foundation
import TrackerCore
import TrackerService

/// A received command: its name from the topic, and a payload that is a JSON object, one plain text, or empty.
struct CommandRequest: Hashable {
    /// The maximum length of a payload in bytes.
    static let limit = 1 << 14
    static let lights = ["blue", "breathe", "calm", "rainbow", "warmth", "christmas"]
    static let bottleReminders = ["off", "periodic", "smart"]
    /// The key in `fields` for a plain text.
    private static let plainKey = ""

    let name: String
    /// The sender's id of the request. A repetition gets the first response and is not executed.
    let transaction: String?
    /// The time of sending by the sender's clock, in seconds since 1970. The broker can have queued the message.
    let pressed: Double?
    let payload: [UInt8]
    /// The fields of the object. Home Assistant's templates send numbers as text.
    var fields: Fields

    /// - Throws: `WrongInput`.
    init(name: String, payload: [UInt8]) throws {
        (self.name, self.payload) = (name, payload)
        guard payload.count <= Self.limit else {
            throw WrongInput("tooLarge", "The command is longer than \(Self.limit) bytes.")
        }
        guard !payload.contains(0), let text = String(validating: payload, as: UTF8.self) else {
            throw WrongInput("notText", "The command is not text in UTF-8.")
        }
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard trimmed.hasPrefix("{") else {
            guard trimmed.utf8.count <= 256, !trimmed.hasPrefix("[") else {
                throw WrongInput("notAnObject", "invalid command: expected a JSON object or one word")
            }
            fields = Fields(trimmed.isEmpty ? [:] : [Self.plainKey: .text(trimmed)], acceptsTextNumbers: true)
            (transaction, pressed) = (nil, nil)
            return
        }
        fields = try Fields(json: Data(payload), of: "command", acceptsTextNumbers: true)
        guard fields.take(Self.plainKey) == nil else { throw WrongInput("unknownField", "\"\" is not a known field.") }
        transaction = fields.takeNull("transaction") ? nil : try fields.scalarText("transaction")
        if let transaction, !(1...128).contains(transaction.utf8.count) {
            throw WrongInput("transaction", "invalid \"transaction\": expected a text or number of 1–128 characters")
        }
        pressed = try fields.number("pressed")
    }

    /// Removes and returns the plain text or, in an object, the value of a key.
    mutating func mainValue(_ key: String) throws -> String? {
        try fields.scalarText(Self.plainKey) ?? fields.scalarText(key)
    }
}
