/// One change waiting for the server (tracker spec E8).
package struct OutboxItem: Hashable, Sendable, Codable, Identifiable {
    /// What the change is about: items of one entity go out in order.
    package struct Entity: Hashable, Sendable, Codable {
        /// `user`, `session`, `logEntry`, `preset`.
        package var kind: String
        /// Its id within its kind.
        package var id: String

        package init(kind: String, id: String) {
            self.kind = kind
            self.id = id
        }
    }

    /// The founding documents' operations.
    package enum Operation: String, Hashable, Sendable, Codable, CaseIterable {
        case createUser, upsertSession, addLogEntry, deleteLogEntry, upsertDrinkPreset

        /// A newer one of the same entity makes a queued one needless.
        var isUpsert: Bool { self != .deleteLogEntry }
    }

    /// Position in the queue; ascending.
    package var id: Int64
    /// What the change is about.
    package var entity: Entity
    /// What is done with it.
    package var operation: Operation
    /// JSON.
    package var payload: String
    /// When it was changed.
    package var updatedAt: Instant
    /// Failed attempts so far.
    package var attempts: Int
    /// Not before then.
    package var notBefore: Instant?
    /// The server said no (4xx): kept, shown, not tried again by itself.
    package var parkedReason: String?

    package init(
        id: Int64, entity: Entity, operation: Operation, payload: String, updatedAt: Instant, attempts: Int = 0,
        notBefore: Instant? = nil, parkedReason: String? = nil
    ) {
        self.id = id
        self.entity = entity
        self.operation = operation
        self.payload = payload
        self.updatedAt = updatedAt
        self.attempts = attempts
        self.notBefore = notBefore
        self.parkedReason = parkedReason
    }
}

/// What came of sending one item.
package enum SendOutcome: Hashable, Sendable {
    case sent
    /// HTTP status other than 2xx.
    case refused(status: Int)
    /// The server wants a credential, or another one (401, 403, 407): nothing is wrong with the item.
    case unauthorised(status: Int)
    /// An answer that no sync server gives, such as the page of a network that wants a login first.
    case nonsense
    /// No connection, no answer.
    case unreachable
}

/// The queue's arithmetic. The store keeps the rows, and enqueues in the transaction that made the change.
package struct Outbox: Hashable, Sendable {
    /// By id, ascending.
    package private(set) var items: [OutboxItem]

    /// With these items, in the order of their ids.
    package init(_ items: [OutboxItem] = []) { self.items = items.sorted { $0.id < $1.id } }

    /// Adds a change. A newer upsert takes the place of the entity's last one in the queue, at its position, so that
    /// what depends on it still comes later; an older one is dropped.
    package mutating func enqueue(
        _ operation: OutboxItem.Operation, _ entity: OutboxItem.Entity, payload: String, updatedAt: Instant
    ) {
        let queued = items.lastIndex { $0.entity == entity && $0.operation.isUpsert }
        if operation.isUpsert, let queued, items[queued].operation == operation,
            !items[(queued + 1)...].contains(where: { $0.entity == entity })
        {
            guard items[queued].updatedAt <= updatedAt else { return }
            let old = items[queued]
            items[queued] = OutboxItem(
                id: old.id, entity: entity, operation: operation, payload: payload, updatedAt: updatedAt)
            return
        }
        items.append(
            OutboxItem(
                id: (items.last?.id ?? 0).saturatingAdd(1), entity: entity, operation: operation, payload: payload,
                updatedAt: updatedAt))
    }

    /// What to send now: the oldest item that is neither parked nor waiting, and that no earlier one of its entity
    /// holds up.
    package func next(at now: Instant) -> OutboxItem? {
        var held = Set<OutboxItem.Entity>()
        for item in items {
            if !held.contains(item.entity), item.parkedReason == nil, !item.waits(at: now) { return item }
            held.insert(item.entity)
        }
        return nil
    }

    /// When the next attempt is due; `nil` when everything left is parked, or nothing is left.
    package func nextAttempt(at now: Instant) -> Instant? {
        if next(at: now) != nil { return now }
        var held = Set<OutboxItem.Entity>()
        var earliest: Instant?
        for item in items where held.insert(item.entity).inserted {
            guard item.parkedReason == nil, let time = item.notBefore else { continue }
            earliest = min(earliest ?? time, time)
        }
        return earliest
    }

    /// Takes in what came of an attempt: done items leave, 4xx parks, everything else waits twice as long each time.
    /// `item` is what was sent: where a newer change took its place meanwhile, that one still has to go.
    package mutating func finish(_ item: OutboxItem, _ outcome: SendOutcome, at now: Instant) {
        guard let index = items.firstIndex(of: item) else { return }
        switch outcome {
        case .sent: items.remove(at: index)
        case .refused(let status) where (400..<500).contains(status):
            items[index].parkedReason = "The server refused it with status \(status)."
        case .refused, .unauthorised, .nonsense, .unreachable:
            items[index].attempts = items[index].attempts.saturatingAdd(1)
            items[index].notBefore = now.advanced(seconds: Self.backOffSeconds(afterFailures: items[index].attempts))
        }
    }

    /// Parked items go again: after the owner changed the address or the token.
    package mutating func unpark() {
        for index in items.indices where items[index].parkedReason != nil {
            (items[index].parkedReason, items[index].attempts, items[index].notBefore) = (nil, 0, nil)
        }
    }

    /// Items not yet sent, parked ones included.
    package var pending: Int { items.count }

    /// The icon's state: nothing waiting, sending, parked items, offline, or how many wait.
    package func status(isSending: Bool, isOffline: Bool) -> SyncStatus {
        if items.isEmpty { return .idle }
        if isSending { return .syncing }
        if items.contains(where: { $0.parkedReason != nil }) { return .error }
        return isOffline ? .offline : .pending(items.count)
    }

    /// 1, 2, 4 … 300 s.
    package static func backOffSeconds(afterFailures failures: Int) -> Double {
        failures <= 0 ? 0 : failures >= 10 ? longestWait : min(longestWait, Double(1 << (failures - 1)))
    }

    fileprivate static let longestWait: Double = 300
}

extension OutboxItem {
    /// Whether a failure lets it wait. A time further ahead than any wait comes from a clock that was ahead, and has
    /// been set back since.
    fileprivate func waits(at now: Instant) -> Bool {
        notBefore.map { $0 > now && now.seconds(to: $0) <= Outbox.longestWait } ?? false
    }
}
