/// A pause of the hydration reminders by the user. Waterline reminders are not paused.
package enum Snooze: Hashable, Sendable {
    /// A number of minutes from now; 0 ends a pause.
    case minutes(Int)
    /// Until the next day of the tracker.
    case tomorrow

    /// The pause of a notification's button, in minutes.
    package static let buttonMinutes = 30
    package static let longestMinutes = 1440

    /// The end of the pause; `nil` if the reminders continue at once.
    package func end(at now: Instant, calendar: DayCalendar) -> Instant? {
        switch self {
        case .minutes(let minutes): minutes > 0 ? now.advanced(seconds: Double(minutes) * 60) : nil
        case .tomorrow: calendar.start(of: calendar.day(of: now).adding(days: 1))
        }
    }
}
