/// The reason why a service holds back hydration notifications.
package enum ReminderHold: Hashable, Sendable {
    /// The user has not finished setup. No hydration notification is sent.
    case setup
    /// No poll has ended since the service started, so drinks in the bottle are unknown. No reminder is sent.
    case firstPoll
}

/// A condition of a reminder. A reminder is sent if all its conditions hold; the failing ones explain why it is not.
package struct ReminderGuard: Hashable, Sendable {
    /// Stable names, used in JSON.
    package enum Name: String, Hashable, Sendable, Codable, CaseIterable {
        case goalOpen, remindersOn, activeHours, underDailyLimit, engineChosen
        /// No notification with a higher priority is due at the same moment.
        case noOtherNotification = "noOtherWord"
        case notSnoozed
        /// A service sends nothing before setup, and no reminder before its first poll.
        case setupFinished, firstPollEnded
        case behindPace, urgencyRisen, deficitLargeEnough
        case drinkDue
        case intervalNotSent = "drinkUntold"
        case pauseLongEnough
        case adaptiveNotSent = "pauseUntold"
        case goalReached
        case goalNotSent = "goalUntold"
        case recovered, onPace, backOnTrackOn
        case sessionRuns
        case timeRemindersOn
        case gridPointReached = "gridPointCome"
        case gridPointNotSent = "gridPointUntold"
        case stillLogging
        case drinkLogged
        case waterDue = "waterOwed"
        case thresholdCrossed, valueHigh
        case openForLong
        case questionNotSent = "questionUnasked"
    }

    package var name: Name
    package var holds: Bool

    package init(_ name: Name, _ holds: Bool) {
        self.name = name
        self.holds = holds
    }
}
