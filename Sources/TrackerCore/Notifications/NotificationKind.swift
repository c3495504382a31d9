/// The catalogue of notifications (tracker spec Section 8).
package enum NotificationKind: String, Hashable, Sendable, CaseIterable, Codable {
    case pace, interval, adaptive
    case goal, recovery
    /// A bottle has been in range for a week and was not adopted.
    case unadopted
    case waterlineTime, waterlinePerDrink, waterlineWarning, waterlineAbandoned, waterlineLive

    /// The stable id. A new notification replaces a displayed one with the same id.
    package var id: String {
        switch self {
        case .pace, .interval, .adaptive: "hydration-reminder"
        case .goal: "hydration-goal-reached"
        case .recovery: "hydration-back-on-track"
        case .unadopted: "bottle-in-range"
        case .waterlineTime: "waterline-time"
        case .waterlinePerDrink: "waterline-per-drink"
        case .waterlineWarning: "waterline-warning"
        case .waterlineAbandoned: "waterline-abandoned"
        case .waterlineLive: "waterline-live"
        }
    }

    /// The buttons, identified by their D-Bus action keys.
    package var actions: [NotificationAction] {
        switch self {
        case .pace, .interval, .adaptive: [.open, .logCup, .snooze, .notToday, .dismiss]
        case .goal, .recovery, .unadopted: [.open]
        case .waterlineTime, .waterlinePerDrink, .waterlineWarning: [.logWater, .dismiss]
        case .waterlineAbandoned: [.endSession, .keepGoing]
        case .waterlineLive: [.logWater, .logDrink]
        }
    }

    package var countsInLimit: Bool { id == "hydration-reminder" }

    package var isHeldInQuietHours: Bool { countsInLimit || self == .recovery }

    /// Whether the notification stays until closed, is replaced when its text changes, and has no sound.
    package var isResident: Bool { self == .waterlineLive }

    /// Whether the kind is about a Waterline session. Shared interfaces hide it unless Waterline is enabled there.
    package var isWaterline: Bool {
        switch self {
        case .pace, .interval, .adaptive, .goal, .recovery, .unadopted: false
        case .waterlineTime, .waterlinePerDrink, .waterlineWarning, .waterlineAbandoned, .waterlineLive: true
        }
    }

    /// The path of the page that a click opens (tracker spec C).
    package var page: String { isWaterline ? "/waterline" : "/" }

    /// `reminder`, `goalReached` or empty, as in the state payload (B7).
    package var payloadType: String {
        switch self {
        case .pace, .interval, .adaptive: "reminder"
        case .goal: "goalReached"
        default: ""
        }
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

extension NotificationKind {
    /// The urgency of a kind. Time-sensitive kinds are critical only with `notify.timeSensitiveCritical`.
    /// - Parameter pace: the urgency of a pace reminder.
    package func urgency(for pace: Urgency?, settings: Settings) -> NotificationUrgency {
        let level: NotificationUrgency =
            switch self {
            case .pace: pace == .overdue ? .critical : .normal
            case .interval, .waterlineWarning: .critical
            case .adaptive, .goal, .waterlineTime, .waterlinePerDrink, .waterlineAbandoned: .normal
            case .recovery, .unadopted, .waterlineLive: .low
            }
        return level == .critical && !settings.timeSensitiveCritical ? .normal : level
    }
}
