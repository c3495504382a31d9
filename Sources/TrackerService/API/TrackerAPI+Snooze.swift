import Store
package import TrackerCore

extension TrackerAPI {
    /// Pauses the hydration reminders. Reminders that are still due at the end are then sent.
    package func snooze(_ length: Snooze) throws -> SnoozeReport {
        if case .minutes(let minutes) = length, !(0...Snooze.longestMinutes).contains(minutes) {
            throw Refusal(
                "notALength", "invalid minutes \(minutes): expected 0–\(Snooze.longestMinutes)", category: .invalid)
        }
        return try change {
            let calendar = DayCalendar(zone: zone, boundaryHour: try store.settings().boundaryHour)
            try store.snooze(until: length.end(at: now, calendar: calendar), context)
            return SnoozeReport(state: try state())
        }
    }
}

package struct SnoozeReport: Hashable, Sendable, Encodable {
    package let state: TrackerSnapshot
    /// The end of the pause; `nil` if the reminders are not paused.
    package var until: Instant? { state.snoozedUntil }

    package func encode(to encoder: any Encoder) throws {
        try encoder.encode(["snoozedUntil": until?.wholeSeconds, "state": state])
    }
}

extension Snooze {
    /// - Parameter until: the text `tomorrow`.
    /// - Throws: `WrongInput` unless exactly one of the two is given.
    package init(minutes: Int?, until: String?) throws {
        switch (minutes, until) {
        case (let minutes?, nil): self = .minutes(minutes)
        case (nil, "tomorrow"): self = .tomorrow
        default:
            throw WrongInput("missingField", "Give \"minutes\" (0–\(Self.longestMinutes)) or \"until\": \"tomorrow\".")
        }
    }
}
