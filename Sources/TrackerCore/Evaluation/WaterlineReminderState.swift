/// The reminder state of one session, updated when a channel accepts a notification.
package struct WaterlineReminderState: Hashable, Sendable, Codable {
    package var sessionID: String
    /// The time from which the intervals of reminders count: the session's start, or the last change of the interval.
    package var gridStart: Instant
    package var gridIntervalMinutes: Int
    package var lastSlot: Instant?
    /// The sequence number of the newest alcohol entry that the per-drink reminder has handled.
    package var lastDrinkSeq = 0
    /// The value that the warning has handled, and the sequence number of its newest entry.
    package var lastValueThousandths = 0
    package var lastValueSeq = 0
    package var keepGoingAt: Instant?
    package var abandonedNotified = false
    /// The last accepted text of the resident notification.
    package var lastLiveText: String?
    /// The number of accepted notifications by id, for the id of the next one.
    package var sent: [String: Int] = [:]

    package init(session: WaterlineSession, intervalMinutes: Int) {
        sessionID = session.id
        gridStart = session.startTime
        gridIntervalMinutes = intervalMinutes
    }

    package mutating func accept(_ notification: TrackerNotification) {
        guard notification.sessionID == sessionID else { return }
        switch notification.acceptance {
        case .waterlineTime(let slot): lastSlot = slot
        case .perDrink(let seq): lastDrinkSeq = seq
        case .warning(let value, let seq): (lastValueThousandths, lastValueSeq) = (value, seq)
        case .abandoned: abandonedNotified = true
        case .live(let text): lastLiveText = text
        case .pace, .interval, .adaptive, .goal, .recovery, .none: return
        }
        sent[notification.kind.id] = sent[notification.kind.id, default: 0].saturatingAdd(1)
    }

    /// Restarts the grid after a change of the interval (E4).
    package mutating func restartGrid(at now: Instant, intervalMinutes: Int) {
        guard intervalMinutes != gridIntervalMinutes else { return }
        gridIntervalMinutes = intervalMinutes
        gridStart = now
    }

    /// Delays the question about an abandoned session by 12 hours ("Keep Going").
    package mutating func keepGoing(at now: Instant) {
        keepGoingAt = now
        abandonedNotified = false
    }
}

/// Detection of an abandoned session (tracker spec E3).
package enum AbandonedSession {
    /// Seconds after which an open session counts as abandoned.
    package static let limitSeconds: Double = 12 * 3600

    /// Whole hours since the start, if more than 12 have passed since the start or "Keep Going"; else `nil`.
    package static func hours(start: Instant, keepGoingAt: Instant?, now: Instant) -> Int? {
        guard max(start, keepGoingAt ?? start).seconds(to: now) > limitSeconds else { return nil }
        return Int(saturating: start.seconds(to: now) / 3600)
    }
}
