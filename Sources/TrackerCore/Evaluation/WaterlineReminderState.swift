/// What the Waterline reminders remember of one session. Like `EngineDay`, it moves on when a sink accepted.
package struct WaterlineReminderState: Hashable, Sendable, Codable {
    /// The session that it is of.
    package var sessionID: String
    /// Where the time grid counts from: the start, or the last change of the interval.
    package var gridStart: Instant
    /// Minutes between two points of the grid.
    package var gridIntervalMinutes: Int
    /// The last grid point dealt with.
    package var lastSlot: Instant?
    /// Insertion sequence of the newest alcohol entry that the per-drink reminder has dealt with.
    package var lastDrinkSeq = 0
    /// The value after everything that the warning has dealt with, and the newest entry in it.
    package var lastValueThousandths = 0
    /// Insertion sequence of the newest entry in that value.
    package var lastValueSeq = 0
    /// "Keep Going" was chosen then.
    package var keepGoingAt: Instant?
    /// The question whether the session was forgotten has been accepted.
    package var abandonedNotified = false
    /// The session's resident word as it was accepted last.
    package var lastLiveText: String?
    /// Accepted notifications by id: the number in the next one's name.
    package var sent: [String: Int] = [:]

    /// Of a session that begins.
    package init(session: WaterlineSession, intervalMinutes: Int) {
        sessionID = session.id
        gridStart = session.startTime
        gridIntervalMinutes = intervalMinutes
    }

    /// At least one sink accepted the notification.
    package mutating func accept(_ notification: TrackerNotification) {
        guard notification.sessionID == sessionID else { return }
        switch notification.acceptance {
        case .waterlineTime(let slot): lastSlot = slot
        case .perDrink(let seq): lastDrinkSeq = seq
        case .warning(let value, let seq): (lastValueThousandths, lastValueSeq) = (value, seq)
        case .abandoned: abandonedNotified = true
        case .live(let text): lastLiveText = text
        case .pace, .interval, .adaptive, .goal, .recovery: return
        }
        sent[notification.kind.id] = sent[notification.kind.id, default: 0].saturatingAdd(1)
    }

    /// Another interval: the grid starts anew at the moment of the change (E4).
    package mutating func restartGrid(at now: Instant, intervalMinutes: Int) {
        guard intervalMinutes != gridIntervalMinutes else { return }
        gridIntervalMinutes = intervalMinutes
        gridStart = now
    }

    /// "Keep Going": silence for another 12 hours.
    package mutating func keepGoing(at now: Instant) {
        keepGoingAt = now
        abandonedNotified = false
    }
}

/// Whether a session was forgotten (tracker spec E3).
package enum AbandonedSession {
    /// Seconds after which an open session looks forgotten.
    package static let limitSeconds: Double = 12 * 3600

    /// Whole hours since the start, once more than 12 have passed since the start or since "Keep Going"; else `nil`.
    package static func hours(start: Instant, keepGoingAt: Instant?, now: Instant) -> Int? {
        guard max(start, keepGoingAt ?? start).seconds(to: now) > limitSeconds else { return nil }
        return Int(saturating: start.seconds(to: now) / 3600)
    }
}
