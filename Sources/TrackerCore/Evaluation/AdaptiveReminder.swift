/// The adaptive reminder (tracker spec D2): after some hours without a drink, with the pace that would still reach
/// the goal. The pace deficit has no effect (K-D2).
package struct AdaptiveReminder: Hashable, Sendable {
    /// The start (inclusive). The end is exclusive.
    package var start: Instant
    package var end: Instant
    package var intervalHours: Double

    /// The remaining hours, rounded up; at least 1 inside the window.
    package func hoursLeft(at now: Instant) -> Int {
        max(1, Int(saturating: (now.seconds(to: end) / 3600).rounded(.up)))
    }

    /// The pace in the text: rounded to 10 ml (half up), at least 10; `nil` if nothing remains.
    package func displayedPace(remainingMl: Int, at now: Instant) -> Int? {
        guard remainingMl > 0 else { return nil }
        let hours = Int128(hoursLeft(at: now))
        return max(10, Int(clamping: (2 * Int128(remainingMl) + 10 * hours) / (20 * hours) * 10))
    }

    /// The latest reminder time that has passed. Earlier missed times are dropped.
    package func latestTime(at now: Instant, lastDrink: Instant?) -> Instant? {
        guard let interval = intervalMilliseconds, now >= start, now < end else { return nil }
        let anchor = min(anchor(lastDrink: lastDrink), now)
        let passed = now.milliseconds.saturatingSubtract(anchor.milliseconds) / interval
        return passed >= 1 ? Instant(milliseconds: anchor.milliseconds.saturatingAdd(passed * interval)) : nil
    }

    package func nextTime(after now: Instant, lastDrink: Instant?) -> Instant? {
        guard let interval = intervalMilliseconds, now < end else { return nil }
        let anchor = max(start, min(lastDrink ?? start, now))
        let passed = max(0, now.milliseconds.saturatingSubtract(anchor.milliseconds) / interval)
        let next = Instant(milliseconds: anchor.milliseconds.saturatingAdd((passed + 1).saturatingMultiply(interval)))
        return next < end ? next : nil
    }

    /// The start of the current interval: the last drink, or `start` if that drink was before the adaptive hours.
    private func anchor(lastDrink: Instant?) -> Instant { max(start, lastDrink ?? start) }

    private var intervalMilliseconds: Int64? {
        intervalHours > 0 ? max(1, Int64(saturating: (intervalHours * 3_600_000).rounded())) : nil
    }
}
