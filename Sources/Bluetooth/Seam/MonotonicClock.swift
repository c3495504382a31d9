import Glibc

/// Where a link's "now" comes from: a parameter, so that a test can bring its own.
package struct MonotonicClock: Sendable {
    /// What time it is.
    package var now: @Sendable () -> MonotonicInstant

    /// A clock that this closure reads; it never goes backwards.
    package init(now: @escaping @Sendable () -> MonotonicInstant) {
        self.now = now
    }

    /// The system's monotonic clock: never set, never stepped.
    package static let system = MonotonicClock {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
