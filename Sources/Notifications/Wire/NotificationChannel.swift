import TrackerCore

/// A server that notifications are sent to. The raw value is its name in the store and in the settings.
package enum NotificationChannel: String, Hashable, Sendable, CaseIterable {
    case ntfy, webhook

    /// As people write it.
    package var title: String {
        switch self {
        case .ntfy: "ntfy"
        case .webhook: "Webhook"
        }
    }

    /// What it is shown, as its setting is called.
    var credential: String { self == .webhook ? "secret" : "token" }

    /// Whether every one is sent, also late: a program writes them down. To a person they are of the moment: what came
    /// later takes the place of what still waits.
    var keepsAll: Bool { self == .webhook }

    /// Whether it gets notifications of this kind. One that stays until its reason is gone goes to programs only,
    /// because a phone would show it longer.
    func takes(_ kind: NotificationKind) -> Bool { keepsAll || !kind.isResident }

    /// For how long after its decision one is still worth sending, seconds.
    var lifetime: Double { self == .webhook ? 24 * 3600 : 15 * 60 }
}
