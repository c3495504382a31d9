/// A reminder as a bottle's own light shows it. It is no message: it stands as long as it is so, and nothing of it is
/// counted.
package enum BottleLight: String, Hashable, Sendable, CaseIterable {
    case off
    /// A drink is due.
    case gentle
    /// It is long due.
    case strong

    /// So long before quiet hours it goes out: what is written to a bottle makes its light blink, and nothing of that
    /// is for the night.
    static let lead: Double = 300
    /// So long after a drink was due the interval engine's light becomes strong.
    static let patience: Double = 1800
}

extension Evaluation {
    /// What the light of a bottle with these settings is to show.
    package func light(by bottle: BottleSettings) -> BottleLight { bottle.light ? light : .off }
}

extension HydrationReminders {
    /// What the engines that are chosen have to say, whether or not anybody was told in words.
    var light: BottleLight {
        guard settings.remindersEnabled, snoozedUntil == nil, !pace.isGoalAchieved, now >= activeHours.start,
            now < activeHours.end.advanced(seconds: -BottleLight.lead)
        else { return .off }
        if isChosen(.pace), pace.deficitMl >= settings.minDeficitMl, pace.urgency > .onTrack {
            return pace.urgency == .overdue ? .strong : .gentle
        }
        if isChosen(.interval), let due = nextDrink.due, dueAnchor != nil {
            return due.seconds(to: now) >= BottleLight.patience ? .strong : .gentle
        }
        if isChosen(.adaptive), let dueSlot, dueSlot > adaptive.start { return .gentle }
        return .off
    }
}
