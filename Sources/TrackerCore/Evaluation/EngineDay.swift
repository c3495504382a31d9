/// The reminder engine's state of one day. Each day has its own state, so a process that was suspended over the day
/// boundary needs no reset (K-B16).
package struct EngineDay: Hashable, Sendable, Codable {
    package var dayKey: LocalDay
    /// The number of accepted reminders (K-B15), which the daily limit counts.
    package var remindersSent = 0
    /// The urgency of the last accepted pace reminder, lowered when the urgency falls.
    package var lastNotified: Urgency?
    /// Whether today's goal notification was accepted, or reminders were off when the goal was reached.
    package var goalNotified = false
    /// The anchor of the last accepted interval reminder.
    package var lastDueAnchor: Instant?
    package var lastAdaptiveSlot: Instant?
    package var backOnTrackSent = 0
    /// Whether a notification about being back on pace is pending. `nil` in data of older versions.
    package var recoveryIsDue: Bool?
    /// The day's total at the last evaluation, to distinguish a drink from elapsed time.
    package var lastTotalMl = 0

    package init(dayKey: LocalDay) { self.dayKey = dayKey }

    package func state(on day: LocalDay) -> EngineDay { dayKey == day ? self : EngineDay(dayKey: day) }

    /// Allows every reminder again, after the user has paused them.
    package mutating func clearSentReminders() { (lastNotified, lastDueAnchor, lastAdaptiveSlot) = (nil, nil, nil) }

    /// Records an accepted notification. A rejected notification changes nothing and is offered again.
    package mutating func accept(_ notification: TrackerNotification) {
        guard notification.dayKey == dayKey else { return }
        switch notification.acceptance {
        case .pace(let urgency): lastNotified = urgency
        case .recovery:
            backOnTrackSent = backOnTrackSent.saturatingAdd(1)
            recoveryIsDue = nil
        case .goal: goalNotified = true
        case .interval, .adaptive, .waterlineTime, .perDrink, .warning, .abandoned, .live, .none: break
        }
        lastDueAnchor = notification.answeredAnchor ?? lastDueAnchor
        lastAdaptiveSlot = notification.answeredSlot ?? lastAdaptiveSlot
        if notification.kind.countsInLimit { remindersSent = remindersSent.saturatingAdd(1) }
    }
}
