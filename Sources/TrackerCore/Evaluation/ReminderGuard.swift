/// Why a service holds back hydration notifications.
package enum ReminderHold: Hashable, Sendable {
    /// The user has not finished setup: no hydration notification is sent.
    case setup
    /// No poll has ended since the service started: drinks in the bottle are unknown, and no reminder is sent.
    case firstPoll
}

/// A condition of a reminder. A reminder is sent if all its conditions hold; the failing ones explain why it is not.
package struct ReminderGuard: Hashable, Sendable {
    /// Stable names, used in JSON.
    package enum Name: String, Hashable, Sendable, Codable, CaseIterable {
        // All hydration reminders.
        case goalOpen, remindersOn, activeHours, underDailyLimit, engineChosen
        /// No more important notification at the same moment.
        case noOtherWord
        /// The user has not paused the reminders.
        case notSnoozed
        /// A service sends nothing before setup, and no reminder before its first poll.
        case setupFinished, firstPollEnded
        // Behind pace.
        case behindPace, urgencyRisen, deficitLargeEnough
        // A drink is due.
        case drinkDue, drinkUntold
        // No drink for a long time.
        case pauseLongEnough, pauseUntold
        // Goal reached, and back on pace.
        case goalReached, goalUntold
        case recovered, onPace, backOnTrackOn
        // All Waterline reminders.
        case sessionRuns
        case timeRemindersOn, gridPointCome, gridPointUntold, stillLogging
        case drinkLogged, waterOwed
        case thresholdCrossed, valueHigh
        case openForLong, questionUnasked
    }

    package var name: Name
    package var holds: Bool

    package init(_ name: Name, _ holds: Bool) {
        self.name = name
        self.holds = holds
    }
}
