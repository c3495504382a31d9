/// The small cloud icon (`tracker.md` E8).
public enum SyncStatus: Hashable, Sendable {
    case idle
    case pending(Int)
    case syncing
    case offline
    case error

    /// `idle`, `pending`, `syncing`, `offline`, `error`.
    public var name: String {
        switch self {
        case .idle: "idle"
        case .pending: "pending"
        case .syncing: "syncing"
        case .offline: "offline"
        case .error: "error"
        }
    }

    public var pending: Int { if case .pending(let count) = self { count } else { 0 } }
}
