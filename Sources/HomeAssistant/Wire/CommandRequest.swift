import Foundation
import TrackerCore
import TrackerService

/// A command as it comes: its name from the topic; a JSON object, or one plain word, or nothing.
struct CommandRequest: Hashable {
    /// Larger ones are not looked at.
    static let limit = 1 << 14
    /// Under this key one plain word stands.
    static let plainKey = ""

    /// Lights and reminders that a bottle has, as the service's door calls them.
    static let lights = ["blue", "breathe", "calm", "rainbow", "warmth", "christmas"]
    static let bottleReminders = ["off", "periodic", "smart"]

    let name: String
    var fields: RequestFields
    /// The sender's own id: the same one again is answered as before and not done again.
    let transaction: String?
    /// When a button was pressed, by the sender's clock, seconds since 1970: a press may wait at the broker for long.
    var pressed: Double?
    let payload: [UInt8]

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
            fields = RequestFields(word.isEmpty ? [:] : [Self.plainKey: .text(word)])
            transaction = nil
            return
        }
        var values: [String: RequestFields.Value]
        do {
            values = try JSONDecoder().decode([String: RequestFields.Value].self, from: Data(payload))
        } catch DecodingError.typeMismatch(_, let context) {
            let key = context.codingPath.first?.stringValue ?? ""
            throw WrongInput(
                "notPlain", "\"\(key.prefix(64))\" is to be a text, a number, true, false, null, or a list of texts.")
        } catch {
            throw WrongInput("notJSON", "The command is not JSON.")
        }
        if let key = RepeatedKey.first(in: payload) {
            throw WrongInput(
                "repeatedField", "\"\(key.prefix(64))\" stands in the command more than once.", values: ["key": key])
        }
        let given = values.removeValue(forKey: "transaction")
        transaction = given?.word
        if let given, given != .null {
            guard let transaction, (1...128).contains(transaction.utf8.count) else {
                throw WrongInput("transaction", "\"transaction\" is a text or a number of 1 to 128 characters.")
            }
        }
        switch values.removeValue(forKey: "pressed") {
        case nil: break
        case .number(let seconds): pressed = seconds
        default: throw WrongInput("wrongType", "\"pressed\" is to be a number: seconds since 1970.")
        }
        values[Self.plainKey] = nil
        fields = RequestFields(values)
    }

    /// The one word, or what stands under this key.
    mutating func main(_ key: String) throws -> String? { try fields.word(Self.plainKey) ?? fields.word(key) }
}
