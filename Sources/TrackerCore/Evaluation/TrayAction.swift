/// What a click in a status item's menu does.
public enum TrayAction: Hashable, Sendable {
    /// A drink of so much.
    case ml(Int)
    case water, drink, end
    case undo
    /// Polls the bottle.
    case check
    /// Shows the page.
    case open
}

extension TrayAction: RawRepresentable, Codable {
    private static let words: [String: TrayAction] = [
        "water": .water, "drink": .drink, "end": .end, "undo": .undo, "check": .check, "open": .open,
    ]

    /// `water`, or an amount in millilitres.
    public init?(rawValue: String) {
        if let action = Self.words[rawValue] {
            self = action
        } else if let ml = Int(rawValue), (1...2000).contains(ml) {
            self = .ml(ml)
        } else {
            return nil
        }
    }

    /// As an agent tells it its service.
    public var rawValue: String {
        switch self {
        case .ml(let ml): "\(ml)"
        case .water: "water"
        case .drink: "drink"
        case .end: "end"
        case .undo: "undo"
        case .check: "check"
        case .open: "open"
        }
    }
}
