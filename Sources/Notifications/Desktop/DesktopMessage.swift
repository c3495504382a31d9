import DBus
import Utilities
import TrackerCore

/// A notification in the form of the Desktop Notifications Specification 1.2 (tracker spec C).
struct DesktopMessage {
    let capabilities: Set<String>
    /// Whether this process stays to receive the signals of pressed buttons. Otherwise no buttons are shown.
    let acceptsActions: Bool

    /// The arguments of `Notify`.
    /// - Parameter number: the D-Bus id of the notification to replace; 0 for none.
    func arguments(_ notification: Announcement, replacing number: UInt32) -> [DBusValue] {
        let (summary, body) = text(notification)
        return [
            .string("WaterH"), .uint32(number), .string("waterh"), .string(summary), .string(body),
            .strings(actions(notification)), hints(notification),
            // 0 means no expiry, −1 that the server decides.
            .int32(notification.kind.isResident ? 0 : -1),
        ]
    }

    /// The summary and the body. A server without the capability `body` gets all text in the summary, without markup.
    private func text(_ notification: Announcement) -> (summary: String, body: String) {
        guard capabilities.contains("body") else {
            return (notification.body.isEmpty ? notification.title : "\(notification.title): \(notification.body)", "")
        }
        return (
            notification.title,
            capabilities.contains("body-markup") ? Self.escaped(notification.body) : notification.body
        )
    }

    static func escaped(_ text: String) -> String {
        Escaping.replacing(text, ["&": "&amp;", "<": "&lt;", ">": "&gt;"])
    }

    /// The action keys and their labels, alternating; empty if no process receives the signals.
    private func actions(_ notification: Announcement) -> [String] {
        guard acceptsActions, capabilities.contains("actions") else { return [] }
        return notification.kind.actions.flatMap { [$0.rawValue, $0.label(discreet: notification.isDiscreet)] }
    }

    private func hints(_ notification: Announcement) -> DBusValue {
        var hints: [String: DBusValue] = [
            "urgency": .byte(UInt8(notification.urgency.rawValue)), "desktop-entry": .string("waterh"),
            "x-waterh-id": .string(notification.id),
        ]
        if notification.sound {
            hints["sound-name"] = .string("message-new-instant")
        } else {
            hints["suppress-sound"] = .boolean(true)
        }
        if notification.kind.isResident { hints["resident"] = .boolean(true) }
        return .properties(hints)
    }
}
