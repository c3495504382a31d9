/// How long to wait before the next attempt: longer each time, never all clients at the same moment.
package struct Backoff: Hashable, Sendable {
    /// After the first failure, at most.
    package var first: Duration
    /// It never becomes more, however often it fails.
    package var longest: Duration
    private var failures = 0

    /// - Parameters:
    ///   - first: after the first failure, at most; doubles with each failure.
    ///   - longest: where it stops growing.
    package init(first: Duration = .seconds(1), longest: Duration = .seconds(60)) {
        (self.first, self.longest) = (first, longest)
    }

    /// Between half and the whole of what doubles with each failure: 1 s to 60 s, unless other lengths were given.
    ///
    /// - Parameter chance: from 0 (half) to 1 (the whole); where many clients wait for one server, drawn anew each
    ///   time.
    package mutating func next(chance: Double) -> Duration {
        let whole = min(longest, first * (1 << min(failures, 16)))
        failures += 1
        return whole / 2 + (whole / 2) * min(1, max(0, chance))
    }

    /// It works again.
    package mutating func reset() { failures = 0 }
}
