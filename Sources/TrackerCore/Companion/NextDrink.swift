/// The due time of the next drink (tracker spec A5). It starts at the last drink, so that the countdown ends and a
/// reminder follows. The original arithmetic started again at every "now" (K-A5).
package struct NextDrink: Hashable, Sendable {
    package enum Phase: String, Hashable, Sendable, Codable, CaseIterable {
        case counting, alerting, outsideHours, goalReached
    }

    package var phase: Phase
    /// The start of the interval; `nil` if nothing is due. Each interval has one reminder.
    package var anchor: Instant?
    /// The due time, to the millisecond.
    package var due: Instant?
    /// The seconds until the drink is due; negative while alerting.
    package var secondsLeft: Double?

    /// - Parameters:
    ///   - wake: the first instant of the current day's drinking hours; `sleep` is the end, exclusive.
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
        // Glasses times milliseconds keep the due time exact. The last reminder is 30 min before sleep (K-A13).
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

    package var isAlerting: Bool { phase == .alerting }

    private static let lastCallMilliseconds: Int128 = 30 * 60 * 1000
}
