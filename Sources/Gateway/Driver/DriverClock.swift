package import Bluetooth
package import TrackerCore

/// The clocks of a driver: monotonic for deadlines, wall clock for data. Tests pass their own.
package struct DriverClock: Sendable {
    package var now: @Sendable () -> MonotonicInstant
    package var wall: @Sendable () -> Instant
    /// Returns at `deadline`, or earlier when the task is cancelled.
    package var sleep: @Sendable (_ deadline: MonotonicInstant) async -> Void

    /// The clocks of the operating system. The monotonic clock also runs while the computer is suspended.
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
