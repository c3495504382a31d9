/// The content of a notification without the state that its acceptance changes.
package struct Announcement: Hashable, Sendable, Codable {
    package var kind: NotificationKind
    /// The notification id, as in `TrackerNotification.notificationId`.
    package var id: String
    package var title: String
    /// The body; empty for a discreet notification.
    package var body: String
    package var urgency: NotificationUrgency
    package var sound: Bool
    /// Whether a locked screen shows no content.
    package var isDiscreet: Bool

    package init(
        kind: NotificationKind, id: String, title: String, body: String, urgency: NotificationUrgency, sound: Bool,
        isDiscreet: Bool = false
    ) {
        (self.kind, self.id, self.title, self.body) = (kind, id, title, body)
        (self.urgency, self.sound, self.isDiscreet) = (urgency, sound, isDiscreet)
    }
}

extension TrackerNotification {
    package var announcement: Announcement {
        Announcement(
            kind: kind, id: notificationId, title: title, body: body, urgency: urgency, sound: sound,
            isDiscreet: isDiscreet)
    }
}
