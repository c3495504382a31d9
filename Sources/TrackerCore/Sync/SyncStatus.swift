/// The state of synchronisation, as the sync icon shows it (tracker spec E8).
package enum SyncStatus: String, Hashable, Sendable, Encodable {
    case idle, pending, offline, error
}

/// The result of the last synchronisation, and the number of waiting changes.
package struct SyncReport: Hashable, Sendable, Encodable {
    package var waiting: Int
    package var problem: String?
    /// The number of the server's rows that were rejected at the last attempt.
    package var rejected: Int
    /// The first rows that were rejected, as one sentence each.
    package var rejections: [String]

    package init(waiting: Int = 0, problem: String? = nil, rejected: Int = 0, rejections: [String] = []) {
        self.waiting = waiting
        self.problem = problem
        self.rejected = rejected
        self.rejections = rejections
    }

    /// Whether there are changes to send or to fetch.
    package var isPending: Bool { waiting > 0 || problem != nil }

    package func encode(to encoder: any Encoder) throws {
        try encoder.encode(["waiting": waiting, "trouble": problem, "refused": rejected, "refusals": rejections])
    }
}
