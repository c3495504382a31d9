package import Store
package import TrackerCore

// The JSON for scripts and pages (CLI spec C5): keys in lowerCamelCase, instants as ISO 8601 in UTC or as whole
// seconds, `null` for unknown values.

/// Reports contain only drinks that `TrackerAPI.report` returned, which hides a session from callers without access.
extension StoredDrink: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "number": number, "key": drink.key, "at": drink.at.description, "zone": drink.zone,
            "day": drink.localDay.description, "ml": drink.ml, "source": drink.source.rawValue,
        ])
    }
}

/// The stored or deleted drink, and the state after the change.
package struct DrinkOutcome: Hashable, Sendable, Encodable {
    package let drink: StoredDrink, state: TrackerSnapshot
}

package struct UndoOutcome: Hashable, Sendable, Encodable {
    package let undone: String, state: TrackerSnapshot
}

package struct ResetOutcome: Hashable, Sendable, Encodable {
    package let deleted: [StoredDrink]
    package let state: TrackerSnapshot
}

/// The result of changing or deleting an entry.
package enum EntryOutcome: Hashable, Sendable, Encodable {
    case drink(DrinkOutcome)
    /// The active session, or the last one.
    case session(SessionView)

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .drink(let outcome): try outcome.encode(to: encoder)
        case .session(let session): try session.encode(to: encoder)
        }
    }
}

package struct DayReport: Hashable, Sendable, Encodable {
    package let day: LocalDay
    /// The total, goal and class of the day; `nil` for future days.
    package let record: DayRecord?

    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "day": day.description, "totalMl": record?.totalMl, "goalMl": record?.goalMl,
            "class": record?.dayClass.rawValue,
        ])
    }
}

/// The drinks of a day, oldest first.
package struct DayDrinksReport: Hashable, Sendable, Encodable {
    package let day: DayReport
    package let drinks: [StoredDrink]
}

package struct WeekReport: Hashable, Sendable, Encodable {
    package let days: [DayReport]
    package let totalMl: Int, streak: Int
}

package struct MonthReport: Hashable, Sendable, Encodable {
    /// The month: `2026-06`.
    package let month: String
    package let days: [DayReport]
    package let metDays: Int
}

package struct StreakReport: Hashable, Sendable, Encodable {
    package let streak: Int, record: DayRecord

    package func encode(to encoder: any Encoder) throws {
        try encoder.encode(["streak": streak, "today": record.day.description, "todayClass": record.dayClass.rawValue])
    }
}

extension SessionView: Encodable {
    package func encode(to encoder: any Encoder) throws {
        let state = state
        try encoder.encode([
            "id": session.id, "startTime": session.startTime.description, "endTime": session.endTime?.description,
            "isActive": session.isActive, "sealed": session.sealed, "value": state.value,
            "sinceWater": state.sinceWater, "isWarning": state.isWarning, "summary": session.computedSummary,
            "logs": logs.map { LogReport($0, self) }, "carryMl": carryMl,
        ])
    }
}

package struct SessionStart: Hashable, Sendable, Encodable {
    /// The values of the response; `started` is `false` if a session was already active.
    package let started: Bool, session: SessionView
}

/// The result of logging in a session: the new entry, and the session. The JSON is that of the session.
package struct LogOutcome: Hashable, Sendable, Encodable {
    package let log: LogEntry, session: SessionView

    package func encode(to encoder: any Encoder) throws { try session.encode(to: encoder) }
}

/// The sessions, newest first.
package struct SessionList: Hashable, Sendable, Encodable {
    package let sessions: [SessionView]
}

package struct LogReport: Hashable, Sendable, Encodable {
    package let log: LogEntry
    /// The name of the preset, if one was used.
    package let presetName: String?

    package init(_ log: LogEntry, _ view: SessionView) {
        self.log = log
        presetName = log.presetID.flatMap { view.presetNames[$0] }
    }

    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "name": log.shortName, "id": log.id, "at": log.timestamp.description, "type": log.kind.rawValue,
            "drinkType": log.drinkType?.rawValue, "standardDrinkEstimate": log.standardDrinkEstimate,
            "amountOz": log.amountOz, "presetId": log.presetID, "presetName": presetName, "source": log.source.rawValue,
        ])
    }
}

extension LogEntry {
    /// The name of the entry in commands: `w7`, or the id for a water that was derived from the bottle's drinks.
    package var shortName: String { source == .bottle ? id : "w\(seq)" }
}

extension DrinkPreset: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "id": id, "name": name, "drinkType": drinkType.rawValue, "sizeOz": sizeOz, "abv": abv,
            "standardDrinkEstimate": standardDrinkEstimate,
        ])
    }
}

/// The presets in the order of creation.
package struct PresetList: Hashable, Sendable, Encodable {
    package let presets: [DrinkPreset]
}

/// The explanation of each reminder, and the state of the day.
package struct WhyReport: Sendable, Encodable {
    package var explanation: Explanation
    package let state: TrackerSnapshot

    package func encode(to encoder: any Encoder) throws {
        try explanation.encode(to: encoder)
        try encoder.encode(["state": state])
    }
}

package struct NotificationReport: Hashable, Sendable, Encodable {
    package let notification: TrackerNotification
    package let isShown: Bool

    package init(_ notification: TrackerNotification, isShown: Bool) {
        self.notification = notification
        self.isShown = isShown
    }

    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "id": notification.notificationId, "kind": notification.kind.id, "title": notification.title,
            "body": notification.body, "urgency": notification.urgency.rawValue,
            "actions": notification.kind.actions.map(\.rawValue), "sound": notification.sound,
            "haptic": notification.haptic, "shown": isShown,
        ])
    }
}

/// The result of evaluating the day and delivering the due notifications.
package struct CheckReport: Hashable, Sendable, Encodable {
    /// The notifications, the most important first.
    package let notifications: [NotificationReport]
    package let state: TrackerSnapshot
    /// The notifications that no channel accepted. They do not count, and are delivered again.
    package let unseen: [TrackerNotification]
    /// The next time at which the state changes without a write.
    package let nextChange: Instant

    enum CodingKeys: String, CodingKey { case notifications, state }
}

/// Delivered notifications, newest first.
package struct ShownReport: Hashable, Sendable, Encodable {
    package let notifications: [SentNotification]
}

extension SentNotification: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode(["id": id, "kind": kind, "sentAt": sentAt.wholeSeconds, "sinks": channels, "missed": missed])
    }
}
