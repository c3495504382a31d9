/// The result of an evaluation: the snapshot, the notifications to deliver, and the state to save.
///
/// Use it in one transaction of the store: evaluate, save `engineDay` and `waterlineReminders`. Then offer each
/// decision to the channels. For each that at least one accepted, call `accept` of both states, and save them again. A
/// process that ends in between offers the same decision with the same id at its next evaluation.
package struct Evaluation: Sendable {
    package var snapshot: TrackerSnapshot
    /// The decisions, the most important first; at most one is a hydration reminder.
    package var decisions: [TrackerNotification]
    /// The ids of notifications to close. Closing one that is not shown has no effect.
    package var idsToClose: [String]
    /// The reminder engine's state to save. It contains no decision of this evaluation.
    package var engineDay: EngineDay
    /// The session's reminder state; `nil` without an active session.
    package var waterlineReminders: WaterlineReminderState?
    /// The light of bottles whose settings allow it (`light(by:)`).
    package var light: BottleLight
    /// The time of the next change without an event. Evaluate then, and at least every 60 s.
    package var nextChange: Instant
}

/// The entry point of the tracker core.
package enum Tracker {
    /// Decides which notifications to send at one moment. A repeated call with the saved state decides nothing new.
    package static func evaluate(_ facts: TrackerFacts, now: Instant) -> Evaluation {
        let hydration = HydrationReminders(now: now, facts: facts)
        let waterline = facts.waterline.map {
            WaterlineReminders(now: now, facts: $0, settings: facts.settings, calendar: facts.calendar)
        }
        let snapshot = TrackerSnapshot(
            now: now, facts: facts, hydration: hydration, waterline: waterline.map { WaterlineSnapshot($0) })
        return Evaluation(
            snapshot: snapshot, decisions: hydration.decisions + (waterline?.decisions ?? []),
            idsToClose: hydration.idsToClose + idsToClose(waterline), engineDay: hydration.state,
            waterlineReminders: waterline?.state,
            light: hydration.light,
            nextChange: nextChange(after: now, facts: facts, hydration: hydration, waterline: waterline))
    }

    private static func idsToClose(_ waterline: WaterlineReminders?) -> [String] {
        if let waterline, waterline.session.isActive { return waterline.kindsToClose.map(\.id) }
        return NotificationKind.allCases.filter(\.isWaterline).map(\.id)
    }

    private static func nextChange(
        after now: Instant, facts: TrackerFacts, hydration: HydrationReminders, waterline: WaterlineReminders?
    ) -> Instant {
        let calendar = facts.calendar
        let date = calendar.date(of: now)
        let window = hydration.activeHours
        let hours = facts.settings.intervalHours
        let candidates: [Instant?] = [
            calendar.start(of: date), calendar.start(of: date.adding(days: 1)), window.start, window.end,
            calendar.instant(on: date, at: hours.wake), calendar.instant(on: date, at: hours.sleep),
            hydration.nextDrink.due, hydration.adaptive.nextTime(after: now, lastDrink: hydration.lastDrink),
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
    init(facts: TrackerFacts, intake: DayIntake, now: Instant) {
        let settings = facts.settings
        let hours = settings.intervalHours
        self.init(
            now: now, wake: facts.calendar.instant(on: intake.day, at: hours.wake),
            sleep: facts.calendar.instant(on: intake.day, at: hours.sleep), totalMl: intake.totalMl,
            goalMl: settings.goalMl, glassMl: settings.glassMl, lastDrink: intake.lastDrink)
    }
}
