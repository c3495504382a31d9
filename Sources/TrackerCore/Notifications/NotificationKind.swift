/// The catalogue of notifications (tracker spec Section 8).
package enum NotificationKind: String, Hashable, Sendable, CaseIterable, Codable {
    case pace, interval, adaptive
    case goal, recovery
    /// A bottle has been in range for a week and was not adopted.
    case unadopted
    case waterlineTime, waterlinePerDrink, waterlineWarning, waterlineAbandoned, waterlineLive

    /// The id, the buttons, and the urgency of a kind.
    private var properties: (id: String, actions: [NotificationAction], urgency: NotificationUrgency) {
        let reminder: [NotificationAction] = [.open, .logCup, .snooze, .notToday, .dismiss]
        return switch self {
        case .pace, .adaptive: ("hydration-reminder", reminder, .normal)
        case .interval: ("hydration-reminder", reminder, .critical)
        case .goal: ("hydration-goal-reached", [.open], .normal)
        case .recovery: ("hydration-back-on-track", [.open], .low)
        case .unadopted: ("bottle-in-range", [.open], .low)
        case .waterlineTime: ("waterline-time", [.logWater, .dismiss], .normal)
        case .waterlinePerDrink: ("waterline-per-drink", [.logWater, .dismiss], .normal)
        case .waterlineWarning: ("waterline-warning", [.logWater, .dismiss], .critical)
        case .waterlineAbandoned: ("waterline-abandoned", [.endSession, .keepGoing], .normal)
        case .waterlineLive: ("waterline-live", [.logWater, .logDrink], .low)
        }
    }

    /// The stable id. A new notification replaces a displayed one with the same id.
    package var id: String { properties.id }

    /// The buttons, identified by their D-Bus action keys.
    package var actions: [NotificationAction] { properties.actions }

    package var countsInLimit: Bool { id == "hydration-reminder" }

    package var isHeldInQuietHours: Bool { countsInLimit || self == .recovery }

    /// Whether the notification stays until closed, is replaced when its text changes, and has no sound.
    package var isResident: Bool { self == .waterlineLive }

    /// Whether the kind is about a Waterline session. Shared interfaces hide it unless Waterline is enabled there.
    package var isWaterline: Bool { id.hasPrefix("waterline-") }

    /// The path of the page that a click opens (tracker spec C).
    package var page: String { isWaterline ? "/waterline" : "/" }

    /// `reminder`, `goalReached` or empty, as in the state payload (B7).
    package var payloadType: String { countsInLimit ? "reminder" : self == .goal ? "goalReached" : "" }

    /// The urgency of a kind. Time-sensitive kinds are critical only with `notify.timeSensitiveCritical`.
    /// - Parameter pace: the urgency of a pace reminder.
    package func urgency(for pace: Urgency?, settings: Settings) -> NotificationUrgency {
        let level = self == .pace && pace == .overdue ? .critical : properties.urgency
        return level == .critical && !settings.timeSensitiveCritical ? .normal : level
    }
}

/// A button of a notification; the raw value is its D-Bus key.
package enum NotificationAction: String, Hashable, Sendable, Codable, CaseIterable {
    case open = "default"
    case logCup = "log-cup"
    case snooze
    case notToday = "not-today"
    case dismiss
    case logWater = "log-water"
    case logDrink = "log-drink"
    case endSession = "end-session"
    case keepGoing = "keep-going"

    package var label: String {
        switch self {
        case .open: "Open"
        case .logCup: "Log a cup"
        case .snooze: "In 30 minutes"
        case .notToday: "Not today"
        case .dismiss: "Dismiss"
        case .logWater: "Log Water"
        case .logDrink: "Log Drink"
        case .endSession: "End Now"
        case .keepGoing: "Keep Going"
        }
    }
}

/// The urgency byte of the D-Bus notification specification.
package enum NotificationUrgency: Int, Hashable, Sendable, Codable {
    case low = 0
    case normal = 1
    case critical = 2
}
