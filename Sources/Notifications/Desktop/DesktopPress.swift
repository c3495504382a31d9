import TrackerCore

/// Somebody pressed a button of a notification, or the notification itself.
package struct DesktopPress: Hashable, Sendable, Codable {
    /// Which kind of notification it was.
    package var kind: NotificationKind
    /// Its id.
    package var notificationId: String
    /// The button.
    package var action: NotificationAction
    /// The same for everybody who hears of this press, and for no other: so it acts once, however many programs listen.
    package var key: String
    /// With it a window may come to the front (xdg-activation).
    package var activationToken: String?
}
