/// What a person is told, without what that changes: all that it takes to show it, here or in another program.
package struct Announcement: Hashable, Sendable, Codable {
    /// Which kind of notification.
    package var kind: NotificationKind
    /// As `TrackerNotification.notificationId`.
    package var id: String
    /// Its heading.
    package var title: String
    /// Empty where the text is discreet.
    package var body: String
    /// How pressing it is.
    package var urgency: NotificationUrgency
    /// Whether it makes a sound.
    package var sound: Bool
    /// Nothing of what it is about shows on a locked screen.
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
    /// The same without what it changes.
    package var announcement: Announcement {
        Announcement(
            kind: kind, id: notificationId, title: title, body: body, urgency: urgency, sound: sound,
            isDiscreet: isDiscreet)
    }
}
