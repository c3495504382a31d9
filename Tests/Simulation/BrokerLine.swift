import Bluetooth
import Utilities
import TrackerCore

/// The service's connection with the broker of the house, on simulated time: one message after the other, each so long
/// under way, and behind the last of a batch the broker's word that it has them. What the broker does not confirm
/// before the connection ends is told again by the next one.
struct BrokerLine {
    private enum State {
        /// It is tried again then.
        case closed(MonotonicInstant)
        case idle
        /// What is under way, and when the next of it arrives.
        case telling([HeardDrink], next: Int, at: MonotonicInstant)
    }

    private let outlet: any ScenarioOutlet
    private let latency: Duration
    private var state = State.idle
    /// It is tried again a second after the connection ended, and where that was long ago within a minute, the whole of
    /// which passes here.
    private static let pauses = Backoff()
    private var isNews = false
    private var isAway = false
    private var absences = 0
    /// The broker has it, and the service does not know that.
    private var unconfirmed: Set<HeardDrink> = []
    private(set) var ear = BrokerEar()

    init(_ outlet: any ScenarioOutlet, latency: Duration) { (self.outlet, self.latency) = (outlet, latency) }

    /// When something happens next.
    var nextDeadline: MonotonicInstant? {
        switch state {
        case .closed(let at): isAway ? nil : at
        case .idle: isNews ? MonotonicInstant(nanoseconds: 0) : nil
        case .telling(_, _, let at): at
        }
    }

    /// Something was written.
    mutating func wake() { isNews = true }

    /// The broker cannot be reached from now on.
    /// - Returns: which absence it is, for `back`.
    mutating func leave(at now: MonotonicInstant) -> Int {
        (isAway, absences) = (true, absences + 1)
        close(at: now)
        return absences
    }

    /// It can be reached again, where nothing took it away since.
    /// - Parameter absence: `nil`: whatever took it away.
    mutating func back(from absence: Int?, at now: MonotonicInstant) -> Bool {
        guard isAway, absence.map({ $0 == absences }) ?? true else { return false }
        isAway = false
        if case .closed(let at) = state { state = .closed(max(at, now.advanced(by: Self.pauses.longest))) }
        return true
    }

    /// The connection ends.
    /// - Parameter until: nothing is tried before.
    mutating func close(at now: MonotonicInstant, until: MonotonicInstant? = nil) {
        if case .telling(let batch, let next, _) = state { unconfirmed.formUnion(batch[..<next]) }
        state = .closed(max(now.advanced(by: Self.pauses.first), until ?? now))
    }

    /// Does what is due.
    /// - Returns: how many drinks the broker has just confirmed.
    mutating func tick(at now: MonotonicInstant, wall: Instant) throws -> Int {
        switch state {
        case .closed(let at):
            guard at <= now, !isAway else { return 0 }
            // Whoever connects looks what there is.
            (state, isNews) = (.idle, true)
        case .idle:
            guard isNews else { return 0 }
            isNews = false
            let due = try outlet.due(now: wall)
            if !due.isEmpty { state = .telling(due, next: 0, at: now.advanced(by: latency)) }
        case .telling(let batch, let next, let at):
            guard at <= now else { return 0 }
            if next < batch.count {
                ear.hear(batch[next], mayRepeat: unconfirmed.remove(batch[next]) != nil)
                state = .telling(batch, next: next + 1, at: now.advanced(by: latency))
            } else if let last = batch.last {
                try outlet.confirmed(through: last.sequence)
                (state, isNews) = (.idle, true)
                return batch.count
            }
        }
        return 0
    }
}
