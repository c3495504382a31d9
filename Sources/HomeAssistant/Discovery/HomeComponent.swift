/// An entity in Home Assistant's discovery message.
struct HomeComponent: Encodable {
    enum Value: Hashable, Encodable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
        ExpressibleByBooleanLiteral
    {
        case text(String)
        case whole(Int)
        case flag(Bool)
        case texts([String])

        init(stringLiteral text: String) { self = .text(text) }
        init(integerLiteral whole: Int) { self = .whole(whole) }
        init(booleanLiteral flag: Bool) { self = .flag(flag) }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .whole(let whole): try container.encode(whole)
            case .flag(let flag): try container.encode(flag)
            case .texts(let texts): try container.encode(texts)
            }
        }
    }

    let platform: String
    /// A part of ids that must never change.
    let key: String
    var fields: [String: Value]

    /// - Parameters:
    ///   - isOffered: `false` leaves out all fields, so that Home Assistant removes the entity.
    ///   - kind: fields that several entities share.
    init(
        _ platform: String, _ key: String, _ name: String, isOffered: Bool = true, like kind: [String: Value] = [:],
        _ fields: [String: Value]
    ) {
        (self.platform, self.key) = (platform, key)
        self.fields = isOffered ? fields.merging(kind) { own, _ in own }.merging(["name": .text(name)]) { $1 } : [:]
    }

    var isOffered: Bool { !fields.isEmpty }

    func encode(to encoder: any Encoder) throws {
        try fields.merging(["platform": .text(platform)]) { $1 }.encode(to: encoder)
    }
}
