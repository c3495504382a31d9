/// The interval between polls for the current day (tracker spec A7).
package enum PollSchedule: Hashable, Sendable {
    /// Seconds after the end of the last poll.
    case every(seconds: Double)
    /// The interval in seconds after the end of the last poll.
    case resting(seconds: Double)
}

package enum PollPlan {
    /// The seconds until the drinking hours begin, if `bottle.pollWhenIdle` is off.
    package static func rhythm(_ facts: TrackerFacts, now: Instant) -> PollSchedule {
        let intake = facts.today(at: now)
        let nextDrink = NextDrink(facts: facts, intake: intake, now: now)
        if nextDrink.phase != .outsideHours || facts.settings.bottle.pollWhenIdle {
            return .every(seconds: PollInterval.calculatePollInterval(secondsToDue: nextDrink.secondsLeft))
        }
        let wake = facts.settings.intervalHours.wake
        let today = facts.calendar.instant(on: intake.day, at: wake)
        let next = today > now ? today : facts.calendar.instant(on: intake.day.adding(days: 1), at: wake)
        return .resting(seconds: max(0, now.seconds(to: next)))
    }
}
