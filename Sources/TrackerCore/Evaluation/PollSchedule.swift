/// The time of the next poll, in seconds after the end of the last one (tracker spec A7).
package enum PollSchedule: Hashable, Sendable {
    /// The interval during the drinking hours, or at any time with `bottle.pollWhenIdle`.
    case every(seconds: Double)
    /// The pause until the next drinking hours.
    case paused(seconds: Double)

    /// The schedule at a moment: an interval, or a pause outside the drinking hours.
    package init(_ facts: TrackerFacts, now: Instant) {
        let intake = facts.today(at: now)
        let nextDrink = NextDrink(facts: facts, intake: intake, now: now)
        if nextDrink.phase != .outsideHours || facts.settings.bottle.pollWhenIdle {
            self = .every(seconds: Self.calculatePollInterval(secondsToDue: nextDrink.secondsLeft))
            return
        }
        let wake = facts.settings.intervalHours.wake
        let today = facts.calendar.instant(on: intake.day, at: wake)
        let next = today > now ? today : facts.calendar.instant(on: intake.day.adding(days: 1), at: wake)
        self = .paused(seconds: max(0, now.seconds(to: next)))
    }

    /// Seconds from the end of the last poll to the next one. `secondsToDue` is the time to the next drink; `nil`
    /// (outside hours, goal met) counts as 1800. The steps are half-open: 300 belongs to the longer interval.
    package static func calculatePollInterval(secondsToDue: Double?) -> Double {
        switch secondsToDue ?? 1800 {
        case ...0: 60
        case ..<300: 120
        case ..<600: 300
        default: 600
        }
    }
}
