import Foundation
package import TrackerCore

/// A press of a notification's button, or a click on the notification.
package struct DesktopPress: Hashable, Sendable, Codable {
    package let kind: NotificationKind
    package let notificationId: String
    package let action: NotificationAction
    /// A key that is the same in all processes that receive the press, so that it takes effect once.
    package let key: String
    /// The token that allows a window to get the focus (xdg-activation).
    package let activationToken: String?
    private let since: ContinuousClock.Instant
    private let at: Date

    init(_ action: NotificationAction, on notice: ShownNotifications.Notice, key: String, activationToken: String?) {
        (kind, notificationId, self.action) = (notice.kind, notice.notificationId, action)
        (self.key, self.activationToken, since, at) = (key, activationToken, .now, Date())
    }

    /// The waiting time by the monotonic clock; by the wall clock after a reboot.
    private var age: Duration {
        let waited = ContinuousClock.now - since
        return waited >= .zero ? waited : .seconds(max(0, Date().timeIntervalSince(at)))
    }

    /// The waiting time in seconds of a press that counts at its own time; `nil` for the current time.
    package var delay: Double? { age < .seconds(30) ? nil : age / .seconds(1) }

    var logText: String { "\(action.rawValue) of \(kind.id)" }

    /// Whether to keep the press for a later process. Opening a page is not kept.
    var isKeptForNextProcess: Bool { action != .open && action != .dismiss }
}
