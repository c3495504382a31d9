/// How long to wait before the next attempt: longer each time, never all clients at the same moment.
public struct Backoff: Hashable, Sendable {
    public var first: Duration
    public var longest: Duration
    private var failures = 0

    public init(first: Duration = .seconds(1), longest: Duration = .seconds(60)) {
        (self.first, self.longest) = (first, longest)
    }

    /// Between half and the whole of what doubles with each failure.
    /// - Parameter chance: from 0 to 1.
    public mutating func next(chance: Double) -> Duration {
        let whole = min(longest, first * (1 << min(failures, 16)))
        failures += 1
        return whole / 2 + (whole / 2) * min(1, max(0, chance))
    }

    /// It works again.
    public mutating func reset() { failures = 0 }
}
