import Store
import TrackerCore

// The JSON that scripts and pages rely on (command law C5): keys in lowerCamelCase, instants as ISO 8601 in UTC or as
// whole seconds, `null` for what is unknown.

private struct JSONKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension Encoder {
    /// Encodes one JSON object with every key; `nil` becomes `null`, which synthesised encoding leaves out.
    func encode(_ fields: KeyValuePairs<String, any Encodable>) throws {
        var object = container(keyedBy: JSONKey.self)
        for (key, value) in fields { try object.encode(value, forKey: JSONKey(stringValue: key)) }
    }
}

/// A drink of the day.
package struct DrinkReport: Hashable, Sendable, Encodable {
    package let drink: StoredDrink
    /// As whoever it is for may see it.
    private let shown: Drink

    /// - Parameter seesWaterline: whether sessions are any business of whom it is for; where not, their water is a
    ///   water like another.
    package init(_ drink: StoredDrink, seesWaterline: Bool = true) {
        self.drink = drink
        shown = seesWaterline ? drink.drink : drink.drink.veiled
    }

    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "number": drink.number, "key": shown.key, "at": drink.at.description, "zone": drink.zone,
            "day": drink.localDay.description, "ml": drink.ml, "source": shown.source.rawValue,
        ])
    }
}

/// What a change of one drink answers: the drink, and how the day stands now.
package struct DrinkOutcome: Hashable, Sendable, Encodable {
    package let drink: DrinkReport, state: TrackerSnapshot

    /// As it is stored, or was.
    package var stored: StoredDrink { drink.drink }
}

/// What taking back answers.
package struct UndoOutcome: Hashable, Sendable, Encodable {
    /// What was taken back, in words.
    package let undone: String, state: TrackerSnapshot
}

/// What emptying the day answers.
package struct ResetOutcome: Hashable, Sendable, Encodable {
    package let deleted: [DrinkReport]
    package let state: TrackerSnapshot
}

/// What a change of a named entry answers: it was a drink of the day, or one of a session.
package enum EntryOutcome: Hashable, Sendable, Encodable {
    case drink(DrinkOutcome)
    /// The session that runs, or the last one.
    case session(SessionReport)

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .drink(let outcome): try outcome.encode(to: encoder)
        case .session(let session): try session.encode(to: encoder)
        }
    }
}

/// One day of the history.
package struct DayReport: Hashable, Sendable, Encodable {
    package let day: LocalDay
    /// `nil` for days to come.
    package let record: DayRecord?

    package init(_ day: LocalDay, _ record: DayRecord?) {
        self.day = day
        self.record = record
    }

    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "day": day.description, "totalMl": record?.totalMl, "goalMl": record?.goalMl,
            "class": record?.dayClass.rawValue,
        ])
    }
}

/// A day with its drinks, oldest first.
package struct DayDrinksReport: Hashable, Sendable, Encodable {
    package let day: DayReport
    package let drinks: [DrinkReport]
}

/// The bars of a week.
package struct WeekReport: Hashable, Sendable, Encodable {
    package let days: [DayReport]
    package let totalMl: Int, streak: Int
}

/// A month's calendar.
package struct MonthReport: Hashable, Sendable, Encodable {
    /// `2026-06`.
    package let month: String
    package let days: [DayReport]
    package let metDays: Int
}

/// Days in a row that met their goal.
package struct StreakReport: Hashable, Sendable, Encodable {
    package let streak: Int, record: DayRecord

    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "streak": streak, "today": record.day.description, "todayClass": record.dayClass.rawValue,
        ])
    }
}

/// A Waterline session with its entries.
package struct SessionReport: Hashable, Sendable, Encodable {
    package let view: SessionView

    package init(_ view: SessionView) { self.view = view }

    package func encode(to encoder: any Encoder) throws {
        let (session, state) = (view.session, view.state)
        try encoder.encode([
            "id": session.id, "startTime": session.startTime.description, "endTime": session.endTime?.description,
            "isActive": session.isActive, "sealed": session.sealed, "value": state.value,
            "sinceWater": state.sinceWater, "isWarning": state.isWarning, "summary": session.computedSummary,
            "logs": view.logs.map { LogReport($0, view) }, "carryMl": view.carryMl,
        ])
    }
}

/// What the start of a session answers.
package struct SessionStart: Hashable, Sendable, Encodable {
    /// `false`: one was running already.
    package let started: Bool, session: SessionReport
}

/// What a new entry of a session answers: the session's new state.
package struct LogOutcome: Hashable, Sendable, Encodable {
    package let log: LogEntry, session: SessionReport

    package func encode(to encoder: any Encoder) throws { try session.encode(to: encoder) }
}

/// Past sessions, newest first.
package struct SessionList: Hashable, Sendable, Encodable {
    package let sessions: [SessionReport]
}

/// One entry of a session.
package struct LogReport: Hashable, Sendable, Encodable {
    package let log: LogEntry
    /// Name of the preset that it was logged with.
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
    /// What a person types to name it: `w7` for entered ones, the id for waters derived from sips.
    package var shortName: String { source == .bottle ? id : "w\(seq)" }
}

/// A drink that is logged in one action.
package struct PresetReport: Hashable, Sendable, Encodable {
    package let preset: DrinkPreset

    package init(_ preset: DrinkPreset) { self.preset = preset }

    package func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "id": preset.id, "name": preset.name, "drinkType": preset.drinkType.rawValue, "sizeOz": preset.sizeOz,
            "abv": preset.abv, "standardDrinkEstimate": preset.standardDrinkEstimate,
        ])
    }
}

/// All presets, in the order they were made.
package struct PresetList: Hashable, Sendable, Encodable {
    package let presets: [PresetReport]
}

/// Why each reminder is told at one moment, or not, and how the day stands then.
package struct WhyReport: Sendable, Encodable {
    package let explanation: Explanation, state: TrackerSnapshot

    enum CodingKeys: String, CodingKey { case state }

    package func encode(to encoder: any Encoder) throws {
        try explanation.encode(to: encoder)
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode(state, forKey: .state)
    }
}

/// A notification, and whether anybody could see it.
package struct NotificationReport: Hashable, Sendable, Encodable {
    package let notification: TrackerNotification
    /// Somebody could see it: it counts as told.
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

/// What a check answers.
package struct CheckReport: Hashable, Sendable, Encodable {
    /// What was decided, most important first.
    package let notifications: [NotificationReport]
    package let state: TrackerSnapshot
    /// What nobody could see: not counted, it comes again.
    package let unseen: [TrackerNotification]
    /// When something next changes by the mere passing of time.
    package let nextChange: Instant

    enum CodingKeys: String, CodingKey { case notifications, state }
}

/// What was shown to somebody, newest first.
package struct ShownReport: Hashable, Sendable, Encodable {
    /// One notification that somebody saw.
    package struct Line: Hashable, Sendable, Encodable {
        package var id: String
        /// The id of its kind: what takes the place of what.
        package var kind: String
        package var sentAt: Instant
        /// Where it was seen: `desktop`, `output`, `mqtt` …
        package var sinks: [String]
        /// Where it was not seen, because nobody was there and it was not worth showing afterwards; and why
        /// (`replaced`, `answered`, `over` …).
        package var missed: [String: String]

        enum CodingKeys: String, CodingKey { case id, kind, sentAt, sinks, missed }

        package func encode(to encoder: any Encoder) throws {
            var keys = encoder.container(keyedBy: CodingKeys.self)
            try keys.encode(id, forKey: .id)
            try keys.encode(kind, forKey: .kind)
            try keys.encode(sentAt.wholeSeconds, forKey: .sentAt)
            try keys.encode(sinks, forKey: .sinks)
            try keys.encode(missed, forKey: .missed)
        }
    }

    package var notifications: [Line]
}
