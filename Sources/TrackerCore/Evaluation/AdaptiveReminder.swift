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
        now >= start && now < end ? grid(at: now, lastDrink: lastDrink)?.point(at: now) : nil
    }

    package func nextTime(after now: Instant, lastDrink: Instant?) -> Instant? {
        guard now < end, let next = grid(at: now, lastDrink: lastDrink)?.nextPoint(after: now) else { return nil }
        return next < end ? next : nil
    }

    /// The intervals after the last drink, or after `start` if that drink was before the adaptive hours.
    private func grid(at now: Instant, lastDrink: Instant?) -> TimeGrid? {
        guard intervalHours > 0 else { return nil }
        return TimeGrid(
            start: max(start, min(lastDrink ?? start, now)),
            interval: max(1, Int64(saturating: (intervalHours * 3_600_000).rounded())))
    }
}
