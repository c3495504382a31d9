/// A change to send to the sync server (tracker spec E8).
package struct OutboxItem: Hashable, Sendable, Codable, Identifiable {
    /// The changed entity. Changes of one entity are sent in order.
    package struct Entity: Hashable, Sendable, Codable {
        /// The kind: `user`, `session`, `logEntry`, `preset`.
        package var kind: String
        package var id: String

        package init(kind: String, id: String) {
            self.kind = kind
            self.id = id
        }
    }

    /// The operations of the sync server's interface.
    package enum Operation: String, Hashable, Sendable, Codable, CaseIterable {
        case createUser, upsertSession, addLogEntry, deleteLogEntry, upsertDrinkPreset
    }

    /// The position in the queue, ascending.
    package var id: Int64
    package var entity: Entity
    package var operation: Operation
    /// The entity as JSON.
    package var payload: String
    package var updatedAt: Instant
    package var attempts: Int
    package var notBefore: Instant?
    /// The reason of a 4xx rejection. The change is kept, displayed, and not retried automatically.
    package var rejection: String?

    package init(
        id: Int64, entity: Entity, operation: Operation, payload: String, updatedAt: Instant, attempts: Int = 0,
        notBefore: Instant? = nil, rejection: String? = nil
    ) {
        self.id = id
        self.entity = entity
        self.operation = operation
        self.payload = payload
        self.updatedAt = updatedAt
        self.attempts = attempts
        self.notBefore = notBefore
        self.rejection = rejection
    }
}

/// The result of sending one change to the sync server.
package enum SendOutcome: Hashable, Sendable {
    case sent
    /// An HTTP status other than 2xx.
    case failed(status: Int)
    /// The server requires another credential (401, 403, 407). The change itself is valid.
    case unauthorised(status: Int)
    /// The response is not from a sync server, for example from a captive portal.
    case invalidResponse
    /// The reason for a missing response: one sentence.
    case noResponse(String)

    /// Whether the server rejects the change itself. Timeouts and rate limits (408, 425, 429) are temporary.
    package var isRejection: Bool {
        guard case .failed(let status) = self else { return false }
        return (400..<500).contains(status) && ![408, 425, 429].contains(status)
    }
}

/// The queue of changes for the sync server. The store adds a row in the transaction of each change.
package struct Outbox: Hashable, Sendable {
    /// The items by id, ascending.
    package private(set) var items: [OutboxItem]

    package init(_ items: [OutboxItem] = []) { self.items = items.sorted { $0.id < $1.id } }

    /// The next change to send: the oldest that is neither rejected nor waiting, and whose entity has no earlier one.
    package func next(at now: Instant) -> OutboxItem? {
        var held = Set<OutboxItem.Entity>()
        for item in items {
            if !held.contains(item.entity), item.rejection == nil, !item.waits(at: now) { return item }
            held.insert(item.entity)
        }
        return nil
    }

    /// Records a result: a success removes the change, a rejection keeps it, any other failure doubles the wait. A
    /// newer change that has replaced `item` stays.
    package mutating func finish(_ item: OutboxItem, _ outcome: SendOutcome, at now: Instant) {
        guard let index = items.firstIndex(of: item) else { return }
        switch outcome {
        case .sent: items.remove(at: index)
        case .failed(let status) where outcome.isRejection:
            items[index].rejection = "The server rejected the change with HTTP status \(status)."
        case .failed, .unauthorised, .invalidResponse, .noResponse:
            items[index].attempts = items[index].attempts.saturatingAdd(1)
            items[index].notBefore = now.advanced(seconds: Self.backOffSeconds(afterFailures: items[index].attempts))
        }
    }

    package var status: SyncStatus {
        if items.isEmpty { return .idle }
        if items.contains(where: { $0.rejection != nil }) { return .error }
        return items.contains { $0.attempts > 0 } ? .offline : .pending
    }

    /// The wait after that many failures: 1, 2, 4 … 300 s.
    package static func backOffSeconds(afterFailures failures: Int) -> Double {
        failures <= 0 ? 0 : failures >= 10 ? longestWait : min(longestWait, Double(1 << (failures - 1)))
    }

    fileprivate static let longestWait: Double = 300
}

extension OutboxItem {
    /// Whether the change still waits. A wait longer than the maximum means that the clock was set back since then.
    fileprivate func waits(at now: Instant) -> Bool {
        notBefore.map { $0 > now && now.seconds(to: $0) <= Outbox.longestWait } ?? false
    }
}
