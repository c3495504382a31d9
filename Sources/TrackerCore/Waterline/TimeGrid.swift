/// The reminders of a session by time (tracker spec E4): at every interval, except after 90 minutes without an entry.
package struct TimeGrid: Hashable, Sendable {
    package var start: Instant
    /// Minutes between two points, at least 1.
    package var intervalMinutes: Int
    package var sessionStart: Instant

    /// An interval of less than a minute counts as one minute.
    package init(start: Instant, intervalMinutes: Int, sessionStart: Instant) {
        self.start = start
        self.intervalMinutes = max(1, intervalMinutes)
        self.sessionStart = sessionStart
    }

    /// The latest grid point at or before now, after the start.
    package func point(at now: Instant) -> Instant? {
        let passed = now.milliseconds.saturatingSubtract(start.milliseconds) / interval
        return passed >= 1 ? Instant(milliseconds: start.milliseconds.saturatingAdd(passed * interval)) : nil
    }

    package func nextPoint(after now: Instant) -> Instant {
        let passed = max(0, now.milliseconds.saturatingSubtract(start.milliseconds)) / interval
        return Instant(milliseconds: start.milliseconds.saturatingAdd((passed + 1).saturatingMultiply(interval)))
    }

    /// Whether there was no entry in the 90 minutes before that point.
    package func isSilent(at point: Instant, logs: [LogEntry]) -> Bool {
        let last = logs.reduce(sessionStart) { $1.timestamp <= point ? max($0, $1.timestamp) : $0 }
        return last.seconds(to: point) >= Self.silenceSeconds
    }

    /// The seconds without an entry after which points are skipped.
    package static let silenceSeconds: Double = 90 * 60

    private var interval: Int64 { Int64(intervalMinutes).saturatingMultiply(60_000) }
}
