import TrackerCore

/// A server for notifications. The raw value is its name in the store and in the settings.
package enum NotificationChannel: String, Hashable, Sendable, CaseIterable {
    case ntfy, webhook

    package var title: String {
        switch self {
        case .ntfy: "ntfy"
        case .webhook: "Webhook"
        }
    }

    var credentialSetting: String { self == .webhook ? "secret" : "token" }

    /// Whether outdated notifications are sent too. A webhook's receiver records all; a phone shows only the latest.
    var sendsLate: Bool { self == .webhook }

    /// Whether the channel gets notifications of this kind. A phone would show resident notifications for too long.
    func sends(_ kind: NotificationKind) -> Bool { sendsLate || !kind.isResident }

    /// The maximum age of a notification in seconds at sending.
    var lifetime: Double { self == .webhook ? 24 * 3600 : 15 * 60 }
}
