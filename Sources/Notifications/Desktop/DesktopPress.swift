package import TrackerCore

/// A press of a notification's button, or a click on the notification.
package struct DesktopPress: Hashable, Sendable, Codable {
    package var kind: NotificationKind
    package var notificationId: String
    package var action: NotificationAction
    /// A key that is the same in all processes that receive the press, so that it takes effect once.
    package var key: String
    /// The token that allows a window to get the focus (xdg-activation).
    package var activationToken: String?
}
