import TrackerCore
import TrackerService

/// What is said at `<p>/notify`: the one-shot channel of tracker law B7, the only copy of the state that asks to
/// notify. What is told long after it was decided is history: it asks for nothing.
struct NotifyPayload: Encodable {
    /// As for drinks: one that is told later than this after it was decided is `historical`.
    static let lateSeconds = SipPayload.lateSeconds

    var notification: TrackerNotification
    var snapshot: TrackerSnapshot
    /// When it is said.
    var now: Instant

    /// Every kind that there is, for who has to know them before.
    static let events = (Set(NotificationKind.allCases.map(\.id)).sorted() + [historical])

    private static let historical = "historical"

    private enum CodingKeys: String, CodingKey {
        case eventType = "event_type", kind, at, timestamp, historical, shouldNotify, title, body, notificationUrgency,
            actions, sound, haptic
    }

    func encode(to encoder: any Encoder) throws {
        let at = notification.decidedAt ?? now
        let isHistorical = at.seconds(to: now) > Self.lateSeconds
        try snapshot.pace.notifying(notification).encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(isHistorical ? Self.historical : notification.kind.id, forKey: .eventType)
        try container.encode(notification.kind.id, forKey: .kind)
        try container.encode(at.description, forKey: .at)
        try container.encode(isHistorical, forKey: .historical)
        if isHistorical {
            try container.encode(false, forKey: .shouldNotify)
            try container.encode(at.wholeSeconds, forKey: .timestamp)
        }
        try container.encode(notification.title, forKey: .title)
        try container.encode(notification.body, forKey: .body)
        try container.encode(notification.urgency.rawValue, forKey: .notificationUrgency)
        try container.encode(notification.kind.actions.map(\.rawValue), forKey: .actions)
        try container.encode(notification.sound, forKey: .sound)
        try container.encode(notification.haptic, forKey: .haptic)
    }
}
