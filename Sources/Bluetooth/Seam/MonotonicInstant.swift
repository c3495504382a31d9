/// A point on a monotonic clock, in nanoseconds since a start that nobody names.
///
/// Deadlines are made of these; wall time is only data. Machines never ask for "now": it is handed in,
/// so a simulation can hand in any.
public struct MonotonicInstant: InstantProtocol, Sendable, Hashable {
    /// Nanoseconds since the clock's start.
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    public func advanced(by duration: Duration) -> MonotonicInstant {
        let (seconds, attoseconds) = duration.components
        return MonotonicInstant(nanoseconds: nanoseconds + seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    public func duration(to other: MonotonicInstant) -> Duration {
        .nanoseconds(other.nanoseconds - nanoseconds)
    }

    public static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}
