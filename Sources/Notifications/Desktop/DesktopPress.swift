import TrackerCore

/// A press of a notification's button, or a click on the notification.
package struct DesktopPress: Hashable, Sendable, Codable {
    package var kind: NotificationKind
    package var notificationId: String
    package var action: NotificationAction
    /// The same in every process that receives this press, so that it acts once.
    package var key: String
    /// Allows a window to get the focus (xdg-activation).
    package var activationToken: String?
}
