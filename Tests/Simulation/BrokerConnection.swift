import Bluetooth
import Utilities
import TrackerCore

/// The service's connection with the gateway's broker in simulated time: one message at a time, each with a delay. The
/// broker confirms a batch after its last message. The next connection resends what the broker did not confirm.
struct BrokerConnection {
    private enum State {
        /// The time of the next attempt.
        case closed(MonotonicInstant)
        case idle
        /// The batch in transit and the arrival time of its next message.
        case delivery([PublishedDrink], next: Int, at: MonotonicInstant)
    }

    private let publisher: any ScenarioPublisher
    private let latency: Duration
    private var state = State.idle
    /// The pauses before a reconnection: a second first, and always a whole minute after an outage.
    private static let pauses = Backoff()
    private var hasPendingChanges = false
    private var isUnreachable = false
    private var outages = 0
    /// Messages that the broker received but had not confirmed when the connection ended.
    private var unconfirmed: Set<PublishedDrink> = []
    private(set) var observer = BrokerObserver()

    init(_ publisher: any ScenarioPublisher, latency: Duration) {
        (self.publisher, self.latency) = (publisher, latency)
    }

    var nextDeadline: MonotonicInstant? {
        switch state {
        case .closed(let at): isUnreachable ? nil : at
        case .idle: hasPendingChanges ? MonotonicInstant(nanoseconds: 0) : nil
        case .delivery(_, _, let at): at
        }
    }

    mutating func wake() { hasPendingChanges = true }

    /// The broker is unreachable from now on.
    /// - Returns: the number of the outage, for `endOutage`.
    mutating func startOutage(at now: MonotonicInstant) -> Int {
        (isUnreachable, outages) = (true, outages + 1)
        close(at: now)
        return outages
    }

    /// The broker is reachable again, unless a later outage applies.
    /// - Parameter outage: `nil`: any outage.
    mutating func endOutage(_ outage: Int?, at now: MonotonicInstant) -> Bool {
        guard isUnreachable, outage.map({ $0 == outages }) ?? true else { return false }
        isUnreachable = false
        if case .closed(let at) = state { state = .closed(max(at, now.advanced(by: Self.pauses.longest))) }
        return true
    }

    /// Ends the connection to the broker.
    /// - Parameter until: the earliest time of the next attempt.
    mutating func close(at now: MonotonicInstant, until: MonotonicInstant? = nil) {
        if case .delivery(let batch, let next, _) = state { unconfirmed.formUnion(batch[..<next]) }
        state = .closed(max(now.advanced(by: Self.pauses.first), until ?? now))
    }

    /// Processes the due events.
    /// - Returns: the number of drinks that the broker has just confirmed.
    mutating func tick(at now: MonotonicInstant, wall: Instant) throws -> Int {
        switch state {
        case .closed(let at):
            guard at <= now, !isUnreachable else { return 0 }
            // A new connection reads the pending entries.
            (state, hasPendingChanges) = (.idle, true)
        case .idle:
            guard hasPendingChanges else { return 0 }
            hasPendingChanges = false
            let due = try publisher.due(now: wall)
            if !due.isEmpty { state = .delivery(due, next: 0, at: now.advanced(by: latency)) }
        case .delivery(let batch, let next, let at):
            guard at <= now else { return 0 }
            if next < batch.count {
                observer.receive(batch[next], mayRepeat: unconfirmed.remove(batch[next]) != nil)
                state = .delivery(batch, next: next + 1, at: now.advanced(by: latency))
            } else if let last = batch.last {
                try publisher.confirmed(through: last.sequence)
                (state, hasPendingChanges) = (.idle, true)
                return batch.count
            }
        }
        return 0
    }
}
