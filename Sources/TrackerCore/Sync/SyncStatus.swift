/// The state of the sync icon (tracker spec E8).
package enum SyncStatus: Hashable, Sendable {
    case idle
    case pending(Int)
    case syncing
    case offline
    case error

    /// `idle`, `pending`, `syncing`, `offline`, `error`.
    package var name: String {
        switch self {
        case .idle: "idle"
        case .pending: "pending"
        case .syncing: "syncing"
        case .offline: "offline"
        case .error: "error"
        }
    }
}

package struct SyncReport: Hashable, Sendable, Encodable {
    package var waiting: Int
    package var trouble: String?
    /// The number of the server's rows that were rejected at the last attempt.
    package var refused: Int
    /// The first rejected rows, one sentence each.
    package var refusals: [String]

    package init(waiting: Int = 0, trouble: String? = nil, refused: Int = 0, refusals: [String] = []) {
        self.waiting = waiting
        self.trouble = trouble
        self.refused = refused
        self.refusals = refusals
    }

    /// Whether there are changes to send or to fetch.
    package var isPending: Bool { waiting > 0 || trouble != nil }

    enum CodingKeys: CodingKey { case waiting, trouble, refused, refusals }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(waiting, forKey: .waiting)
        try container.encode(trouble, forKey: .trouble)
        try container.encode(refused, forKey: .refused)
        try container.encode(refusals, forKey: .refusals)
    }
}
