/// One entity of a Home Assistant device, as its discovery names it.
struct HomeComponent: Encodable {
    enum Value: Hashable, Encodable {
        case text(String)
        case whole(Int)
        case flag(Bool)
        case texts([String])

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
    /// What this device's message calls it; part of ids that must never change.
    let key: String
    var fields: [String: Value]

    /// - Parameter isOffered: a component that is not offered is named without its fields: Home Assistant removes it
    ///   then.
    init(_ platform: String, _ key: String, _ name: String, isOffered: Bool = true, _ fields: [String: Value]) {
        (self.platform, self.key) = (platform, key)
        self.fields = isOffered ? fields.merging(["name": .text(name)]) { given, _ in given } : [:]
    }

    var isOffered: Bool { !fields.isEmpty }

    func encode(to encoder: any Encoder) throws {
        try fields.merging(["platform": .text(platform)]) { $1 }.encode(to: encoder)
    }
}
