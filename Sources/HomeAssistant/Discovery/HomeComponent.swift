/// An entity in Home Assistant's discovery message.
struct HomeComponent: Encodable {
    enum Value: Hashable, Codable {
        case text(String)
        case whole(Int)
        case flag(Bool)
        case texts([String])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let flag = try? container.decode(Bool.self) {
                self = .flag(flag)
            } else if let whole = try? container.decode(Int.self) {
                self = .whole(whole)
            } else if let text = try? container.decode(String.self) {
                self = .text(text)
            } else {
                self = .texts(try container.decode([String].self))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .whole(let whole): try container.encode(whole)
            case .flag(let flag): try container.encode(flag)
            case .texts(let texts): try container.encode(texts)
            }
        }

        var text: String? { if case .text(let text) = self { text } else { nil } }
    }

    let platform: String
    /// A part of ids that must never change.
    let key: String
    /// All other fields. Without fields, Home Assistant removes the entity.
    var fields: [String: Value]

    /// - Parameters:
    ///   - entry: an entity of `entities.json`, with `{prefix}` for the prefix of topics.
    ///   - offers: the values of `if` with which an entity is offered.
    init?(_ entry: [String: Value], prefix: String, offers: Set<String>) {
        var fields = entry
        let condition = fields.removeValue(forKey: "if")?.text
        guard let platform = fields.removeValue(forKey: "platform")?.text,
            let key = fields.removeValue(forKey: "key")?.text
        else { return nil }
        (self.platform, self.key) = (platform, key)
        self.fields =
            condition.map(offers.contains) ?? true
            ? fields.mapValues { value in value.text.map { .text($0.replacing("{prefix}", with: prefix)) } ?? value }
            : [:]
    }

    var isOffered: Bool { !fields.isEmpty }

    func encode(to encoder: any Encoder) throws {
        try fields.merging(["platform": .text(platform)]) { $1 }.encode(to: encoder)
    }
}
