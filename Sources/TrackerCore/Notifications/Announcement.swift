/// What a person is told, without what that changes: all that it takes to show it, here or in another program.
public struct Announcement: Hashable, Sendable, Codable {
    /// Which kind of notification.
    public var kind: NotificationKind
    /// As `TrackerNotification.notificationId`.
    public var id: String
    /// Its heading.
    public var title: String
    /// Empty where the text is discreet.
    public var body: String
    /// How pressing it is.
    public var urgency: NotificationUrgency
    /// Whether it makes a sound.
    public var sound: Bool
    /// Nothing of what it is about shows on a locked screen.
    public var isDiscreet: Bool

    public init(
        kind: NotificationKind, id: String, title: String, body: String, urgency: NotificationUrgency, sound: Bool,
        isDiscreet: Bool = false
    ) {
        (self.kind, self.id, self.title, self.body) = (kind, id, title, body)
        (self.urgency, self.sound, self.isDiscreet) = (urgency, sound, isDiscreet)
    }
}

extension TrackerNotification {
    /// The same without what it changes.
    public var announcement: Announcement {
        Announcement(
            kind: kind, id: notificationId, title: title, body: body, urgency: urgency, sound: sound,
            isDiscreet: isDiscreet)
    }
}
