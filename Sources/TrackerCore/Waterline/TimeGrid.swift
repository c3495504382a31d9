/// The time-based reminders of a session (tracker spec E4): every interval of real time since the start, whatever is
/// logged; silent while nothing was logged for 90 minutes.
package struct TimeGrid: Hashable, Sendable {
    /// The session's start, or when the interval was changed.
    package var start: Instant
    /// Minutes between two points, at least 1.
    package var intervalMinutes: Int
    /// The session's start: what silence is measured from when nothing is logged.
    package var sessionStart: Instant

    /// An interval of less than a minute counts as one.
    package init(start: Instant, intervalMinutes: Int, sessionStart: Instant) {
        self.start = start
        self.intervalMinutes = max(1, intervalMinutes)
        self.sessionStart = sessionStart
    }

    /// The latest grid point at or before now; the start itself is none.
    package func point(at now: Instant) -> Instant? {
        let passed = now.milliseconds.saturatingSubtract(start.milliseconds) / interval
        return passed >= 1 ? Instant(milliseconds: start.milliseconds.saturatingAdd(passed * interval)) : nil
    }

    /// The first grid point after now.
    package func nextPoint(after now: Instant) -> Instant {
        let passed = max(0, now.milliseconds.saturatingSubtract(start.milliseconds)) / interval
        return Instant(milliseconds: start.milliseconds.saturatingAdd((passed + 1).saturatingMultiply(interval)))
    }

    /// Whether nothing was logged for 90 minutes before that point.
    package func isSilent(at point: Instant, logs: [LogEntry]) -> Bool {
        let last = logs.reduce(sessionStart) { $1.timestamp <= point ? max($0, $1.timestamp) : $0 }
        return last.seconds(to: point) >= Self.silenceSeconds
    }

    /// All reminders up to an instant, with these entries. At most 1000 points are looked at.
    package func firings(until end: Instant, logs: [LogEntry]) -> [Instant] {
        var found: [Instant] = []
        var point = start
        for _ in 0..<1000 {
            let next = nextPoint(after: point)
            guard next > point, next <= end else { break }
            if !isSilent(at: next, logs: logs) { found.append(next) }
            point = next
        }
        return found
    }

    /// Seconds without an entry after which points are passed over: 90 minutes.
    package static let silenceSeconds: Double = 90 * 60

    private var interval: Int64 { Int64(intervalMinutes).saturatingMultiply(60_000) }
}
