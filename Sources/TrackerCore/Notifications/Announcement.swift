/// What a person is told, without what that changes: all that it takes to show it, here or in another program.
public struct Announcement: Hashable, Sendable, Codable {
    public var kind: NotificationKind
    /// As `TrackerNotification.notificationId`.
    public var id: String
    public var title: String
    /// Empty where the text is discreet.
    public var body: String
    public var urgency: NotificationUrgency
    public var sound: Bool
    public var isDiscreet: Bool

    public init(kind: NotificationKind, id: String, title: String, body: String, urgency: NotificationUrgency, sound: Bool, isDiscreet: Bool = false) {
        (self.kind, self.id, self.title, self.body) = (kind, id, title, body)
        (self.urgency, self.sound, self.isDiscreet) = (urgency, sound, isDiscreet)
    }
}

extension TrackerNotification {
    public var announcement: Announcement {
        Announcement(kind: kind, id: notificationId, title: title, body: body, urgency: urgency, sound: sound, isDiscreet: isDiscreet)
    }
}
