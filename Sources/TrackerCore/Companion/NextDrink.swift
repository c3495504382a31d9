/// When the next drink is due (tracker spec A5): anchored at the last drink, so that the countdown runs out and a
/// reminder comes. The founding arithmetic spread the rest of the day anew from every "now" and never came due (K-A5).
package struct NextDrink: Hashable, Sendable {
    /// What the countdown stands for just now.
    package enum Phase: String, Hashable, Sendable, Codable, CaseIterable {
        case counting, alerting, outsideHours, goalReached
    }

    /// Four phases in place of one missing countdown (K-A6).
    package var phase: Phase
    /// What the spacing counts from: one interval reminder an anchor. `nil` when nothing is due.
    package var anchor: Instant?
    /// To the millisecond.
    package var due: Instant?
    /// Until due: negative while alerting.
    package var secondsLeft: Double?

    /// - Parameters:
    ///   - wake: first instant of the current day's drinking hours; `sleep` is the end, exclusive.
    ///   - lastDrink: the latest drink of the current day.
    package init(
        now: Instant, wake: Instant, sleep: Instant, totalMl: Int, goalMl: Int, glassMl: Int, lastDrink: Instant?
    ) {
        guard now >= wake, now < sleep else {
            self.init(phase: .outsideHours)
            return
        }
        guard totalMl < goalMl else {
            self.init(phase: .goalReached)
            return
        }
        let anchor = max(wake, lastDrink.map { min($0, now) } ?? wake)
        let glasses = Int128(ceilDivide(goalMl.saturatingSubtract(totalMl), max(1, glassMl)))
        let window = Int128(sleep.milliseconds) - Int128(anchor.milliseconds)
        let elapsed = Int128(now.milliseconds) - Int128(anchor.milliseconds)
        // In glasses times milliseconds, so that "due" is exact; the last call is half an hour before sleep (K-A13).
        let lastCall = window > Self.lastCallMilliseconds ? window - Self.lastCallMilliseconds : window
        let spacing = min(window, lastCall * glasses)
        let left = spacing - elapsed * glasses
        let (whole, rest) = spacing.quotientAndRemainder(dividingBy: glasses)
        self.init(
            phase: left <= 0 ? .alerting : .counting, anchor: anchor,
            due: Instant(
                milliseconds: Int64(clamping: Int128(anchor.milliseconds) + whole + (2 * rest >= glasses ? 1 : 0))),
            secondsLeft: Double(left) / Double(glasses) / 1000)
    }

    private init(phase: Phase, anchor: Instant? = nil, due: Instant? = nil, secondsLeft: Double? = nil) {
        self.phase = phase
        self.anchor = anchor
        self.due = due
        self.secondsLeft = secondsLeft
    }

    /// Due, or past it.
    package var isAlerting: Bool { phase == .alerting }

    private static let lastCallMilliseconds: Int128 = 30 * 60 * 1000
}
