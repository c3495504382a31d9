/// The small cloud icon (tracker spec E8).
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

/// What stands behind the icon.
package struct SyncReport: Hashable, Sendable, Encodable {
    /// Changes that the server has not got yet.
    package var waiting: Int
    /// Why the last pass stopped, in words; `nil` where it came to its end.
    package var trouble: String?
    /// Rows of the server that were not taken at the last pass.
    package var refused: Int
    /// The first of them, a sentence each.
    package var refusals: [String]

    package init(waiting: Int = 0, trouble: String? = nil, refused: Int = 0, refusals: [String] = []) {
        self.waiting = waiting
        self.trouble = trouble
        self.refused = refused
        self.refusals = refusals
    }

    /// Something is still to be told or to be asked.
    package var isPending: Bool { waiting > 0 || trouble != nil }

    enum CodingKeys: CodingKey { case waiting, trouble, refused, refusals }

    /// `null` where there was no trouble.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(waiting, forKey: .waiting)
        try container.encode(trouble, forKey: .trouble)
        try container.encode(refused, forKey: .refused)
        try container.encode(refusals, forKey: .refusals)
    }
}
