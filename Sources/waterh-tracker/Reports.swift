import Store
import TrackerCore

// The JSON that scripts rely on: keys in lowerCamelCase, instants as ISO 8601 in UTC, `null` written out.

/// What is not there is written as `null`: a script finds every key.
@propertyWrapper struct OrNull<Value: Encodable>: Encodable {
    var wrappedValue: Value?

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let wrappedValue { try container.encode(wrappedValue) } else { try container.encodeNil() }
    }
}

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
    @OrNull var drinkType: String?
    @OrNull var standardDrinkEstimate: Double?
    @OrNull var amountOz: Double?
    @OrNull var presetId: String?
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
}

extension LogEntry {
    /// What a person types to name it.
    var shortName: String { source == .bottle ? id : "w\(seq)" }
}

struct SessionReport: Encodable {
    var id: String
    var startTime: String
    @OrNull var endTime: String?
    var isActive: Bool
    var sealed: Bool
    var value: Double
    var sinceWater: Int
    var isWarning: Bool
    @OrNull var summary: SessionSummary?
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

/// A record as the bottle sent it, and what was made of it.
struct RecordReport: Encodable {
    var id: String
    var bottle: String
    var raw: String
    @OrNull var wall: String?
    var amountMl: Int
    var verdict: String
    @OrNull var reason: String?
    var received: String
    @OrNull var reading: String?
    @OrNull var about: String?

    init(_ record: JournalRow) {
        id = "r\(record.id)"
        bottle = record.bottle
        raw = Doubts.hex(record.raw).lowercased().replacing(" ", with: "")
        wall = record.wall
        amountMl = record.amountMl
        verdict = record.verdict
        reason = record.reason
        received = record.received.description
        reading = record.reading
        about = record.about?.description
    }
}

/// Bytes that are no record.
struct JunkReport: Encodable {
    var bottle: String
    var raw: String
    var length: Int
    var reason: String
    var received: String
    var times: Int

    init(_ junk: QuarantinedBytes) {
        bottle = junk.bottle
        raw = Doubts.hex(junk.bytes).lowercased().replacing(" ", with: "")
        length = junk.length
        reason = junk.reason
        received = junk.received.description
        times = junk.times
    }
}
