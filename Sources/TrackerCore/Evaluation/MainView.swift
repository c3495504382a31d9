/// tracker spec D1: by the hour on the wall.
package enum Greeting {
    /// The greeting of the hour: morning from 4, afternoon from 12, evening from 17, night from 22.
    package static func text(at time: TimeOfDay) -> String {
        switch time.hour {
        case 4..<12: "Good morning!"
        case 12..<17: "Good afternoon!"
        case 17..<22: "Good evening!"
        default: "Good night!"
        }
    }
}

/// The age of the last drink (tracker spec B6): whole units, rounded down.
package enum RelativeAge {
    /// `just now` under a minute and for what lies ahead, then `5 min ago`, `2 h ago`, `3 days ago`.
    package static func text(from past: Instant, to now: Instant) -> String {
        let minutes = Int(saturating: max(0, past.seconds(to: now)) / 60)
        switch minutes {
        case 0: return "just now"
        case ..<60: return "\(minutes) min ago"
        case ..<1440: return "\(minutes / 60) h ago"
        default: return minutes < 2880 ? "1 day ago" : "\(minutes / 1440) days ago"
        }
    }
}

/// The main view in words (tracker spec A9).
package struct MainView: Hashable, Sendable {
    /// Heading of the main view.
    package static let title = "Hydration"
    /// Heading of the list.
    package static let sectionTitle = "Today"
    /// What stands in place of an empty list.
    package static let emptyList = "No drinks recorded yet"
    /// What stands there during a poll.
    package static let polling = "Checking bottle..."

    /// The large text: a countdown, or what there is instead of one.
    package var headline: String
    /// What the large text counts; `nil` where it counts nothing.
    package var caption: String?
    /// Paint the whole ring as a rainbow (K-A15).
    package var isRainbow: Bool
    /// A poll is under way.
    package var isPolling: Bool
    /// The red line.
    package var error: String?

    /// Of one moment.
    package init(_ snapshot: TrackerSnapshot) {
        isPolling = snapshot.connection.state == .polling
        error = snapshot.connection.hint ?? snapshot.connection.error
        isRainbow = snapshot.nextDrink.isAlerting
        switch snapshot.nextDrink.phase {
        case .counting:
            headline = Countdown.text(snapshot.nextDrink.secondsLeft ?? 0)
            caption = "until next drink"
        case .alerting: headline = "00:00"
        case .outsideHours: headline = "Outside drinking hours"
        case .goalReached: headline = StatusText.goalReached
        }
    }
}
