import Glibc

/// The clock of a link. Tests supply their own.
package struct MonotonicClock: Sendable {
    package var now: @Sendable () -> MonotonicInstant

    /// - Parameter now: returns the current time; it must never go backwards.
    package init(now: @escaping @Sendable () -> MonotonicInstant) {
        self.now = now
    }

    /// CLOCK_MONOTONIC.
    package static let system = MonotonicClock {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
