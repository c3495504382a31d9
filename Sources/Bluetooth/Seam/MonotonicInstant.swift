/// A point on a monotonic clock, in nanoseconds since a start that nobody names.
///
/// Deadlines are made of these; wall time is only data. Machines never ask for "now": it is handed in,
/// so a simulation can hand in any.
package struct MonotonicInstant: InstantProtocol, Sendable, Hashable {
    /// Nanoseconds since the clock's start.
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package func advanced(by duration: Duration) -> MonotonicInstant {
        let (seconds, attoseconds) = duration.components
        return MonotonicInstant(nanoseconds: nanoseconds + seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    package func duration(to other: MonotonicInstant) -> Duration {
        .nanoseconds(other.nanoseconds - nanoseconds)
    }

    package static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}
