import Bluetooth
import TrackerCore

/// The clocks of a driver: monotonic for deadlines, wall for data. Parameters, so that tests bring their own.
package struct DriverClock: Sendable {
    /// Monotonic, for deadlines.
    package var now: @Sendable () -> MonotonicInstant
    /// The host's wall clock: only data.
    package var wall: @Sendable () -> Instant
    /// Returns at `deadline`, or earlier when the task is cancelled.
    package var sleep: @Sendable (_ deadline: MonotonicInstant) async -> Void

    package init(
        now: @escaping @Sendable () -> MonotonicInstant, wall: @escaping @Sendable () -> Instant,
        sleep: @escaping @Sendable (MonotonicInstant) async -> Void
    ) {
        self.now = now
        self.wall = wall
        self.sleep = sleep
    }

    /// Deadlines by the monotonic clock that includes suspend; the wall clock is the caller's.
    package static func system(wall: @escaping @Sendable () -> Instant) -> DriverClock {
        let clock = ContinuousClock()
        let start = clock.now
        let now: @Sendable () -> MonotonicInstant = {
            MonotonicInstant(nanoseconds: 0).advanced(by: start.duration(to: clock.now))
        }
        return DriverClock(now: now, wall: wall) { deadline in
            try? await clock.sleep(until: start.advanced(by: .nanoseconds(deadline.nanoseconds)), tolerance: .zero)
        }
    }
}
