import TrackerCore

/// Somebody pressed a button of a notification, or the notification itself.
public struct DesktopPress: Hashable, Sendable, Codable {
    /// Which kind of notification it was.
    public var kind: NotificationKind
    /// Its id.
    public var notificationId: String
    /// The button.
    public var action: NotificationAction
    /// The same for everybody who hears of this press, and for no other: so it acts once, however many programs listen.
    public var key: String
    /// With it a window may come to the front (xdg-activation).
    public var activationToken: String?
}
