/// What the core says of one moment: how things stand, what to tell, and what to remember.
///
/// The way to use it, in one transaction of the store: evaluate, save `engineDay` and `waterlineReminders`; then offer
/// each decision to the sinks, and for each that at least one accepted call `accept` and save again. A process that
/// dies in between offers the same decision, under the same id, at its next evaluation.
package struct Evaluation: Sendable {
    /// How things stand.
    package var snapshot: TrackerSnapshot
    /// Most important first; at most one hydration reminder.
    package var decisions: [TrackerNotification]
    /// Ids of notifications that should no longer be shown; closing one that is not shown does nothing.
    package var closes: [String]
    /// The reminder engine's state to save, before anything was accepted.
    package var engineDay: EngineDay
    /// Of the active session; `nil` without one.
    package var waterlineReminders: WaterlineReminderState?
    /// What a bottle's light is to show, where a bottle's settings let it (`light(by:)`).
    package var light: BottleLight
    /// When something next changes by the mere passing of time. Evaluate then, and at least every 60 s.
    package var nextChange: Instant

    /// At least one sink accepted the decision: the state to save.
    package mutating func accept(_ notification: TrackerNotification) {
        engineDay.accept(notification)
        waterlineReminders?.accept(notification)
    }

    /// Offers every decision to every sink, closes what is over, and takes in what was accepted: for what-ifs, without
    /// a store.
    package mutating func deliver(to sinks: [MemorySink]) {
        for id in closes { sinks.forEach { $0.close(id: id) } }
        for decision in decisions {
            let accepted = sinks.map { $0.deliver(decision) }
            if accepted.contains(true) { accept(decision) }
        }
    }
}

/// The door to the core.
package enum Tracker {
    /// Decides everything for one moment. May be called at any time, any number of times: with the state of the last
    /// evaluation the same moment decides nothing new.
    package static func evaluate(_ facts: TrackerFacts, now: Instant) -> Evaluation {
        let calendar = facts.calendar
        let intake = facts.today(at: now)
        let pace = PaceSnapshot(now: now, intake: intake, settings: facts.settings, calendar: calendar)
        let nextDrink = NextDrink(facts: facts, intake: intake, now: now)
        let hydration = HydrationReminders(now: now, facts: facts, pace: pace, nextDrink: nextDrink)
        let waterline = facts.waterline.map {
            WaterlineReminders(now: now, facts: $0, settings: facts.settings, calendar: calendar)
        }
        let snapshot = TrackerSnapshot(
            now: now, facts: facts, intake: intake, pace: pace, nextDrink: nextDrink, engineDay: hydration.state,
            waterline: waterline.map { WaterlineSnapshot($0) })
        return Evaluation(
            snapshot: snapshot, decisions: hydration.decisions + (waterline?.decisions ?? []),
            closes: hydration.closes + closes(waterline), engineDay: hydration.state,
            waterlineReminders: waterline?.state,
            light: hydration.light,
            nextChange: nextChange(after: now, facts: facts, nextDrink: nextDrink, waterline: waterline))
    }

    /// With no session nothing of Waterline is shown.
    private static func closes(_ waterline: WaterlineReminders?) -> [String] {
        if let waterline, waterline.session.isActive { return waterline.closes.map(\.id) }
        return NotificationKind.allCases.filter(\.isWaterline).map(\.id)
    }

    private static func nextChange(
        after now: Instant, facts: TrackerFacts, nextDrink: NextDrink, waterline: WaterlineReminders?
    ) -> Instant {
        let calendar = facts.calendar
        let date = calendar.date(of: now)
        let window = Pace.Window(now: now, calendar: calendar, wake: facts.settings.wake, sleep: facts.settings.sleep)
        let hours = facts.settings.intervalHours
        let intake = facts.today(at: now)
        let candidates: [Instant?] = [
            calendar.start(of: date), calendar.start(of: date.adding(days: 1)), window.start, window.end,
            calendar.instant(on: date, at: hours.wake), calendar.instant(on: date, at: hours.sleep), nextDrink.due,
            AdaptiveReminder(facts: facts, now: now).nextFiring(after: now, lastDrink: intake.lastDrink),
            waterline?.nextReminder, facts.snoozedUntil,
            waterline.map {
                max($0.session.startTime, $0.state.keepGoingAt ?? $0.session.startTime)
                    .advanced(seconds: AbandonedSession.limitSeconds + 0.001)
            },
        ]
        return candidates.compactMap(\.self).filter { $0 > now }.min() ?? now.advanced(seconds: 60)
    }
}

extension NextDrink {
    /// The next drink of the day that runs at that moment.
    init(facts: TrackerFacts, intake: DayIntake, now: Instant) {
        let settings = facts.settings
        let hours = settings.intervalHours
        self.init(
            now: now, wake: facts.calendar.instant(on: intake.day, at: hours.wake),
            sleep: facts.calendar.instant(on: intake.day, at: hours.sleep), totalMl: intake.totalMl,
            goalMl: settings.goalMl, glassMl: settings.glassMl, lastDrink: intake.lastDrink)
    }
}
