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

    private let outlet: any ScenarioPublisher
    private let latency: Duration
    private var state = State.idle
    /// Reconnects a second after the connection ended, or within a minute after a long absence. Here the whole minute
    /// passes.
    private static let pauses = Backoff()
    private var isNews = false
    private var isAway = false
    private var absences = 0
    /// Messages that the broker has and the service does not know to be delivered.
    private var unconfirmed: Set<PublishedDrink> = []
    private(set) var ear = BrokerObserver()

    init(_ outlet: any ScenarioPublisher, latency: Duration) { (self.outlet, self.latency) = (outlet, latency) }

    var nextDeadline: MonotonicInstant? {
        switch state {
        case .closed(let at): isAway ? nil : at
        case .idle: isNews ? MonotonicInstant(nanoseconds: 0) : nil
        case .delivery(_, _, let at): at
        }
    }

    mutating func wake() { isNews = true }

    /// The broker is unreachable from now on.
    /// - Returns: the number of the absence, for `back`.
    mutating func leave(at now: MonotonicInstant) -> Int {
        (isAway, absences) = (true, absences + 1)
        close(at: now)
        return absences
    }

    /// The broker is reachable again, unless a later absence applies.
    /// - Parameter absence: `nil`: any absence.
    mutating func back(from absence: Int?, at now: MonotonicInstant) -> Bool {
        guard isAway, absence.map({ $0 == absences }) ?? true else { return false }
        isAway = false
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
            guard at <= now, !isAway else { return 0 }
            // A new connection reads the pending entries.
            (state, isNews) = (.idle, true)
        case .idle:
            guard isNews else { return 0 }
            isNews = false
            let due = try outlet.due(now: wall)
            if !due.isEmpty { state = .delivery(due, next: 0, at: now.advanced(by: latency)) }
        case .delivery(let batch, let next, let at):
            guard at <= now else { return 0 }
            if next < batch.count {
                ear.hear(batch[next], mayRepeat: unconfirmed.remove(batch[next]) != nil)
                state = .delivery(batch, next: next + 1, at: now.advanced(by: latency))
            } else if let last = batch.last {
                try outlet.confirmed(through: last.sequence)
                (state, isNews) = (.idle, true)
                return batch.count
            }
        }
        return 0
    }
}
