package import Bluetooth
import Synchronization

/// Counts the clients that view today's data, by open event streams and by single requests.
package final class ActiveViewers: Sendable {
    private let now: @Sendable () -> MonotonicInstant
    private let state = Mutex((streams: 0, last: MonotonicInstant?.none))

    package init(now: @escaping @Sendable () -> MonotonicInstant) { self.now = now }

    /// Records that a client opens an event stream.
    /// - Returns: whether it is the first client.
    package func begin() -> Bool { update { $0 + 1 } }

    package func end() { _ = update { max(0, $0 - 1) } }

    /// Records a single request of a client.
    /// - Returns: whether it is the first client.
    package func recordRequest() -> Bool { update { $0 } }

    /// The time until which the bottle's connection is kept for the clients; `nil` without clients.
    package var until: MonotonicInstant? {
        let now = now()
        return state.withLock { state in
            (state.streams > 0 ? now : state.last)?.advanced(by: HoldTimes.afterLastRequest)
        }
    }

    private func update(_ change: (Int) -> Int) -> Bool {
        let now = now()
        return state.withLock { state in
            let wasActive =
                state.streams > 0 || state.last.map { now < $0.advanced(by: HoldTimes.afterLastRequest) } == true
            state = (change(state.streams), now)
            return !wasActive
        }
    }
}
