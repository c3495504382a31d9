/// Instants at a fixed interval after a start.
struct TimeGrid: Hashable, Sendable {
    var start: Instant
    /// The milliseconds between two points, at least 1.
    var interval: Int64

    /// The latest point at or before now, after the start.
    func point(at now: Instant) -> Instant? {
        let passed = now.milliseconds.saturatingSubtract(start.milliseconds) / interval
        return passed >= 1 ? Instant(milliseconds: start.milliseconds.saturatingAdd(passed * interval)) : nil
    }

    func nextPoint(after now: Instant) -> Instant {
        let passed = max(0, now.milliseconds.saturatingSubtract(start.milliseconds)) / interval
        let offset = passed.saturatingAdd(1).saturatingMultiply(interval)
        return Instant(milliseconds: start.milliseconds.saturatingAdd(offset))
    }
}
