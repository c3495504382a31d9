import TrackerCore

/// A press of a notification's button, or a click on the notification.
package struct DesktopPress: Hashable, Sendable, Codable {
    package var kind: NotificationKind
    package var notificationId: String
    package var action: NotificationAction
    /// Identifies the press. Every process that receives it has the same key, so the press acts once.
    package var key: String
    /// The token that allows a window to get the focus (xdg-activation).
    package var activationToken: String?
}
