/// What the reminder engine remembers of one day. Keyed by the day, so that a process that slept through the boundary
/// is right without having reset anything (K-B16).
package struct EngineDay: Hashable, Sendable, Codable {
    /// The day that it is of.
    package var dayKey: LocalDay
    /// Reminders that at least one sink accepted (K-B15): what the daily limit counts.
    package var remindersSent = 0
    /// The urgency of the last accepted pace reminder, lowered when urgency falls; `nil` is none.
    package var lastNotified: Urgency?
    /// The goal's word was accepted, or reminders were off when it was reached; for the day, whatever happens to the
    /// drinks.
    package var goalNotified = false
    /// Anchor of the last accepted interval reminder: one reminder an anchor.
    package var lastDueAnchor: Instant?
    /// The last accepted adaptive firing.
    package var lastAdaptiveSlot: Instant?
    /// How many words of being back on pace were accepted.
    package var backOnTrackSent = 0
    /// A drink brought the day back on pace, and nobody has been told yet. Not stored by older versions.
    package var recoveryIsDue: Bool?
    /// The day's total at the last evaluation: tells a drink from the mere passing of time.
    package var lastTotalMl = 0

    /// The fresh state of a day.
    package init(dayKey: LocalDay) { self.dayKey = dayKey }

    /// This state if it is of that day, else that day's fresh one.
    package func rolled(to day: LocalDay) -> EngineDay { dayKey == day ? self : EngineDay(dayKey: day) }

    /// The user paused the reminders: what was already announced may be announced again after the pause.
    package mutating func rearm() { (lastNotified, lastDueAnchor, lastAdaptiveSlot) = (nil, nil, nil) }

    /// At least one sink accepted the notification. What was refused changes nothing and comes again.
    package mutating func accept(_ notification: TrackerNotification) {
        guard notification.dayKey == dayKey else { return }
        switch notification.acceptance {
        case .pace(let urgency): lastNotified = urgency
        case .recovery:
            backOnTrackSent = backOnTrackSent.saturatingAdd(1)
            recoveryIsDue = nil
        case .goal: goalNotified = true
        case .interval, .adaptive, .waterlineTime, .perDrink, .warning, .abandoned, .live: break
        }
        lastDueAnchor = notification.answeredAnchor ?? lastDueAnchor
        lastAdaptiveSlot = notification.answeredSlot ?? lastAdaptiveSlot
        if notification.kind.countsInLimit { remindersSent = remindersSent.saturatingAdd(1) }
    }
}
