/// What a caller may do. Each includes the ones before it.
public enum Scope: String, Sendable, CaseIterable, Comparable {
    /// Look.
    case read
    /// Log, change and delete drinks; run a session.
    case log
    /// Settings, presets, the bottle.
    case control
    /// Let others in, and purge.
    case admin

    public static func < (left: Scope, right: Scope) -> Bool { left.rank < right.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
