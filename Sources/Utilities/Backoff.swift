/// How long to wait before the next attempt: longer each time, never all clients at the same moment.
public struct Backoff: Hashable, Sendable {
    /// After the first failure, at most.
    public var first: Duration
    /// It never becomes more, however often it fails.
    public var longest: Duration
    private var failures = 0

    /// - Parameters:
    ///   - first: after the first failure, at most; doubles with each failure.
    ///   - longest: where it stops growing.
    public init(first: Duration = .seconds(1), longest: Duration = .seconds(60)) {
        (self.first, self.longest) = (first, longest)
    }

    /// Between half and the whole of what doubles with each failure: 1 s to 60 s, unless other lengths were given.
    ///
    /// - Parameter chance: from 0 (half) to 1 (the whole); where many clients wait for one server, drawn anew each
    ///   time.
    public mutating func next(chance: Double) -> Duration {
        let whole = min(longest, first * (1 << min(failures, 16)))
        failures += 1
        return whole / 2 + (whole / 2) * min(1, max(0, chance))
    }

    /// It works again.
    public mutating func reset() { failures = 0 }
}
