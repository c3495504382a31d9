/// What a token is good for. Each includes the ones before it.
package enum Scope: String, Sendable, CaseIterable, Comparable, Encodable {
    /// Look.
    case read
    /// Log, change and delete drinks; run a session.
    case log
    /// Settings of the day, presets, the bottle.
    case control
    /// Let others in, say with whom the service speaks, and purge.
    case admin

    package static func < (left: Scope, right: Scope) -> Bool { left.rank < right.rank }

    /// What who has it may do, in words.
    package var words: String {
        switch self {
        case .read: "look"
        case .log: "look, and log, change and delete drinks and sessions"
        case .control: "log, and change settings, presets and the bottle"
        case .admin: "do everything: let others in, and delete everything, too"
        }
    }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
