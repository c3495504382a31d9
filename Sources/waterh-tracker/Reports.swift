import Store
import TrackerCore

/// The JSON that scripts rely on: keys in lowerCamelCase, instants as ISO 8601 in UTC, `null` written out.
struct DrinkReport: Encodable {
    var number: Int64
    var key: String
    var at: String
    var zone: String
    var day: String
    var ml: Int
    var source: String

    init(_ stored: StoredDrink) {
        number = stored.number
        key = stored.key
        at = stored.at.description
        zone = stored.zone
        day = stored.localDay.description
        ml = stored.ml
        source = stored.source.rawValue
    }
}

struct LogReport: Encodable {
    /// `w7` for entered ones; the id for waters derived from sips.
    var name: String
    var id: String
    var at: String
    var type: String
    var drinkType: String?
    var standardDrinkEstimate: Double?
    var amountOz: Double?
    var presetId: String?
    var source: String

    init(_ log: LogEntry) {
        name = log.shortName
        id = log.id
        at = log.timestamp.description
        type = log.kind.rawValue
        drinkType = log.drinkType?.rawValue
        standardDrinkEstimate = log.standardDrinkEstimate
        amountOz = log.amountOz
        presetId = log.presetID
        source = log.source.rawValue
    }

    enum CodingKeys: CodingKey {
        case name, id, at, type, drinkType, standardDrinkEstimate, amountOz, presetId, source
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(id, forKey: .id)
        try container.encode(at, forKey: .at)
        try container.encode(type, forKey: .type)
        try container.encode(drinkType, forKey: .drinkType)
        try container.encode(standardDrinkEstimate, forKey: .standardDrinkEstimate)
        try container.encode(amountOz, forKey: .amountOz)
        try container.encode(presetId, forKey: .presetId)
        try container.encode(source, forKey: .source)
    }
}

extension LogEntry {
    /// What a person types to name it.
    var shortName: String { source == .bottle ? id : "w\(seq)" }
}

struct SessionReport: Encodable {
    var id: String
    var startTime: String
    var endTime: String?
    var isActive: Bool
    var sealed: Bool
    var value: Double
    var sinceWater: Int
    var isWarning: Bool
    var summary: SessionSummary?
    var logs: [LogReport]
    var carryMl: Int

    init(_ view: SessionView) {
        let session = view.session
        let state = view.state
        id = session.id
        startTime = session.startTime.description
        endTime = session.endTime?.description
        isActive = session.isActive
        sealed = session.sealed
        value = state.value
        sinceWater = state.sinceWater
        isWarning = state.isWarning
        summary = session.computedSummary
        logs = view.logs.map(LogReport.init)
        carryMl = view.carryMl
    }

    enum CodingKeys: CodingKey {
        case id, startTime, endTime, isActive, sealed, value, sinceWater, isWarning, summary, logs, carryMl
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(startTime, forKey: .startTime)
        try container.encode(endTime, forKey: .endTime)
        try container.encode(isActive, forKey: .isActive)
        try container.encode(sealed, forKey: .sealed)
        try container.encode(value, forKey: .value)
        try container.encode(sinceWater, forKey: .sinceWater)
        try container.encode(isWarning, forKey: .isWarning)
        try container.encode(summary, forKey: .summary)
        try container.encode(logs, forKey: .logs)
        try container.encode(carryMl, forKey: .carryMl)
    }
}

struct NotificationReport: Encodable {
    var id: String
    var kind: String
    var title: String
    var body: String
    var urgency: Int
    var actions: [String]
    var sound: Bool
    var haptic: String
    /// Somebody could see it: it counts as told.
    var shown: Bool

    init(_ notification: TrackerNotification, isShown: Bool) {
        id = notification.notificationId
        kind = notification.kind.id
        title = notification.title
        body = notification.body
        urgency = notification.urgency.rawValue
        actions = notification.kind.actions.map(\.rawValue)
        sound = notification.sound
        haptic = notification.haptic
        shown = isShown
    }
}
