/// A reminder by the bottle's light. It is not a notification and is not counted.
package enum BottleLight: String, Hashable, Sendable, CaseIterable {
    case off
    /// A drink is due.
    case gentle
    /// A drink has been due for a long time.
    case strong

    /// The light goes off this many seconds before quiet hours, because a write to a bottle makes its light blink.
    static let leadSeconds: Double = 300
    /// The seconds after the due time at which the interval engine's light becomes strong.
    static let strongAfterSeconds: Double = 1800
}

extension Evaluation {
    /// The light of a bottle with these settings.
    package func light(by bottle: BottleSettings) -> BottleLight { bottle.light ? light : .off }
}

extension HydrationReminders {
    /// The light for the state of the selected reminder engines, whether or not a notification was sent.
    var light: BottleLight {
        guard settings.remindersEnabled, snoozedUntil == nil, !pace.isGoalAchieved, now >= activeHours.start,
            now < activeHours.end.advanced(seconds: -BottleLight.leadSeconds)
        else { return .off }
        if isSelected(.pace), pace.deficitMl >= settings.minDeficitMl, pace.urgency > .onTrack {
            return pace.urgency == .overdue ? .strong : .gentle
        }
        if isSelected(.interval), let due = nextDrink.due, dueAnchor != nil {
            return due.seconds(to: now) >= BottleLight.strongAfterSeconds ? .strong : .gentle
        }
        if isSelected(.adaptive), let dueSlot, dueSlot > adaptive.start { return .gentle }
        return .off
    }
}
