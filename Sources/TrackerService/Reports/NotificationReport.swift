import TrackerCore

/// A notification, and whether anybody could see it.
package struct NotificationReport: Hashable, Sendable, Encodable {
    /// The decision.
    package let notification: TrackerNotification
    /// Somebody could see it: it counts as told.
    package let isShown: Bool

    /// A decision, and whether somebody could see it.
    package init(_ notification: TrackerNotification, isShown: Bool) {
        self.notification = notification
        self.isShown = isShown
    }

    enum CodingKeys: String, CodingKey { case id, kind, title, body, urgency, actions, sound, haptic, shown }

    package func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode(notification.notificationId, forKey: .id)
        try keys.encode(notification.kind.id, forKey: .kind)
        try keys.encode(notification.title, forKey: .title)
        try keys.encode(notification.body, forKey: .body)
        try keys.encode(notification.urgency.rawValue, forKey: .urgency)
        try keys.encode(notification.kind.actions.map(\.rawValue), forKey: .actions)
        try keys.encode(notification.sound, forKey: .sound)
        try keys.encode(notification.haptic, forKey: .haptic)
        try keys.encode(isShown, forKey: .shown)
    }
}

/// What a check answers.
package struct CheckReport: Hashable, Sendable, Encodable {
    /// What was decided, most important first.
    package let notifications: [NotificationReport]
    /// How the day stands.
    package let state: TrackerSnapshot
    /// What nobody could see: not counted, it comes again.
    package let unseen: [TrackerNotification]
    /// When something next changes by the mere passing of time.
    package let nextChange: Instant

    enum CodingKeys: String, CodingKey { case notifications, state }
}
