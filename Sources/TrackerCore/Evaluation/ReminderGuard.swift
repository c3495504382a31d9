/// Why a service holds back hydration notifications.
package enum ReminderHold: Hashable, Sendable {
    /// The user has not finished setup: no hydration notification is sent.
    case setup
    /// No poll has ended since the service started: drinks in the bottle are unknown, and no reminder is sent.
    case firstPoll
}

/// One condition of a reminder, and whether it holds. A reminder is told when all of its guards hold; where it is
/// silent, those that do not hold are why, and changing exactly those makes it speak.
package struct ReminderGuard: Hashable, Sendable {
    /// Stable, for programs: JSON has these words.
    package enum Name: String, Hashable, Sendable, Codable, CaseIterable {
        // Of all hydration reminders.
        case goalOpen, remindersOn, activeHours, underDailyLimit, engineChosen
        /// Nothing more important is told at the same moment: one word at a time.
        case noOtherWord
        /// The user has not paused the reminders.
        case notSnoozed
        /// A service sends nothing before setup, and no reminder before its first poll.
        case setupFinished, firstPollEnded
        // Behind pace.
        case behindPace, urgencyRisen, deficitLargeEnough
        // A drink is due.
        case drinkDue, drinkUntold
        // Nothing drunk for long.
        case pauseLongEnough, pauseUntold
        // The goal's word, and that the day is back on pace.
        case goalReached, goalUntold
        case recovered, onPace, backOnTrackOn
        // Of all Waterline reminders.
        case sessionRuns
        case timeRemindersOn, gridPointCome, gridPointUntold, stillLogging
        case drinkLogged, waterOwed
        case thresholdCrossed, valueHigh
        case openForLong, questionUnasked
    }

    /// Which condition it is.
    package var name: Name
    /// Whether it holds.
    package var holds: Bool

    package init(_ name: Name, _ holds: Bool) {
        self.name = name
        self.holds = holds
    }
}
