/// The greeting by the local hour (tracker spec D1).
package enum Greeting {
    /// The greeting: morning from 04:00, afternoon from 12:00, evening from 17:00, night from 22:00.
    package static func text(at time: TimeOfDay) -> String {
        switch time.hour {
        case 4..<12: "Good morning!"
        case 12..<17: "Good afternoon!"
        case 17..<22: "Good evening!"
        default: "Good night!"
        }
    }
}

/// An age as text, for example of the last drink (tracker spec B6): whole units, rounded down.
package enum RelativeAge {
    /// `just now` under a minute and for future times, then `5 min ago`, `2 h ago`, `3 days ago`.
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
