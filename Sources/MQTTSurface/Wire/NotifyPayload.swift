import TrackerCore
import TrackerDesk

/// What is said at `<p>/notify`: the one-shot channel of tracker law B7, the only copy of the state that asks to notify.
struct NotifyPayload: Encodable {
    var notification: TrackerNotification
    var snapshot: TrackerSnapshot

    /// Every kind that there is, for who has to know them before.
    static let events = Set(NotificationKind.allCases.map(\.id)).sorted()

    private enum CodingKeys: String, CodingKey { case eventType = "event_type", title, body, notificationUrgency, actions, sound, haptic }

    func encode(to encoder: any Encoder) throws {
        try snapshot.pace.notifying(notification).encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(notification.kind.id, forKey: .eventType)
        try container.encode(notification.title, forKey: .title)
        try container.encode(notification.body, forKey: .body)
        try container.encode(notification.urgency.rawValue, forKey: .notificationUrgency)
        try container.encode(notification.kind.actions.map(\.rawValue), forKey: .actions)
        try container.encode(notification.sound, forKey: .sound)
        try container.encode(notification.haptic, forKey: .haptic)
    }
}
