import TrackerCore

/// Somebody pressed a button of a notification, or the notification itself.
public struct DesktopPress: Hashable, Sendable {
    public var kind: NotificationKind
    public var notificationId: String
    public var action: NotificationAction
    /// The same for everybody who hears of this press, and for no other: so it acts once, however many programs listen.
    public var key: String
    /// With it a window may come to the front (xdg-activation).
    public var activationToken: String?
}
