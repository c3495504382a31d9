import Bluetooth
import Synchronization

/// Who looks at one person's day right now: streams that are open, and single looks.
package final class Onlookers: Sendable {
    private let now: @Sendable () -> MonotonicInstant
    private let state = Mutex((streams: 0, last: MonotonicInstant?.none))

    /// With nobody looking, by that clock.
    package init(now: @escaping @Sendable () -> MonotonicInstant) { self.now = now }

    /// Somebody follows what happens, until `end`.
    /// - Returns: whether nobody looked before.
    package func begin() -> Bool { note { $0 + 1 } }

    /// Somebody who looked looks no more.
    package func end() { _ = note { max(0, $0 - 1) } }

    /// Somebody looked once.
    /// - Returns: whether nobody looked before.
    package func glance() -> Bool { note { $0 } }

    /// Until when the bottle's connection is wanted; `nil` or past: not any more.
    package var until: MonotonicInstant? {
        let now = now()
        return state.withLock { state in (state.streams > 0 ? now : state.last)?.advanced(by: HoldTimes.afterLook) }
    }

    private func note(_ change: (Int) -> Int) -> Bool {
        let now = now()
        return state.withLock { state in
            let wasLooked = state.streams > 0 || state.last.map { now < $0.advanced(by: HoldTimes.afterLook) } == true
            state = (change(state.streams), now)
            return !wasLooked
        }
    }
}
