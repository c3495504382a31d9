/// How often a bottle is to be polled, as the day of its person asks for it (tracker spec A7).
package enum PollRhythm: Hashable, Sendable {
    /// So many seconds after the end of the last poll.
    case every(seconds: Double)
    /// Not before drinking hours begin, so many seconds from now: `bottle.pollWhenIdle` is off.
    case resting(seconds: Double)
}

/// When the gateway should poll the bottle next (tracker spec A7).
package enum PollPlan {
    /// The rhythm at a moment. Ask again after a change of settings, a drink, a poll by hand, and a resume from
    /// suspend.
    package static func rhythm(_ facts: TrackerFacts, now: Instant) -> PollRhythm {
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
