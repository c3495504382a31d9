/// A JSON value without objects, for example the value of a setting. Decoding rejects lists within lists.
package enum PlainValue: Hashable, Sendable, Encodable {
    case null
    case flag(Bool)
    case number(Double)
    case text(String)
    case list([PlainValue])

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .flag(let flag): try container.encode(flag)
        case .number(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        case .list(let values): try container.encode(values)
        }
    }

    /// The value as a user types it, for example `2`, `0.5`, `true`, `07:00` or `100,250,500`; empty for `null`.
    package var text: String {
        switch self {
        case .null: ""
        case .flag(let flag): "\(flag)"
        case .number(let number): Int(exactly: number).map(String.init) ?? "\(number)"
        case .text(let text): text
        case .list(let values): values.map(\.text).joined(separator: ",")
        }
    }
}
