import Foundation
import Store
import TrackerCore
import TrackerService

/// The age in seconds from which an event is `historical` when it is published.
private let lateSeconds: Double = 900

/// `<p>/sip`: one drink, or one change of a drink. Duplicates have the same id.
struct SipPayload: Encodable {
    var change: DrinkChange
    var isHistorical: Bool
    /// `false` shows the water of a session as any other water.
    var seesWaterline: Bool

    /// - Parameter now: the time of publishing.
    init(_ change: DrinkChange, now: Instant, seesWaterline: Bool = true) {
        (self.change, self.seesWaterline) = (change, seesWaterline)
        isHistorical = change.drink.map { $0.at.seconds(to: now) > lateSeconds } ?? true
    }

    enum Event: String, CaseIterable {
        case sip, historical
        case deleted
    }

    var event: Event {
        guard let drink = change.drink, !drink.isDeleted else { return .deleted }
        return isHistorical ? .historical : .sip
    }

    private var isRedacted: Bool {
        !seesWaterline && (change.drink?.source == .session || change.key.hasPrefix(Drink.sessionKeys))
    }

    private enum CodingKeys: String, CodingKey {
        case id, eventType = "event_type", at, timestamp, zone, day, ml, source, historical, deleted, sequence
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        // Use the same id whether sessions are shared or not, so that a receiver finds the drink again.
        try container.encode(Drink.veiled(change.key), forKey: .id)
        try container.encode(event.rawValue, forKey: .eventType)
        try container.encode(change.drink?.at.description, forKey: .at)
        try container.encode(change.drink?.at.wholeSeconds, forKey: .timestamp)
        try container.encode(change.drink?.zone, forKey: .zone)
        try container.encode(change.drink?.localDay.description, forKey: .day)
        try container.encode(change.drink?.ml, forKey: .ml)
        try container.encode(isRedacted ? DrinkSource.cli.rawValue : change.drink?.source.rawValue, forKey: .source)
        try container.encode(isHistorical, forKey: .historical)
        try container.encode(event == .deleted, forKey: .deleted)
        try container.encode(change.sequence, forKey: .sequence)
    }
}

/// `<p>/notify`: one notification. The only payload with `shouldNotify` (tracker spec B7).
struct NotifyPayload: Encodable {
    var notification: TrackerNotification
    var snapshot: TrackerSnapshot
    var now: Instant

    /// All values of `event_type`.
    static let events = Set(NotificationKind.allCases.map(\.id)).sorted() + [historical]

    private static let historical = "historical"

    private enum CodingKeys: String, CodingKey {
        case eventType = "event_type", kind, at, timestamp, historical, shouldNotify, title, body, notificationUrgency,
            actions, sound, haptic
    }

    func encode(to encoder: any Encoder) throws {
        let at = notification.decidedAt ?? now
        let isHistorical = at.seconds(to: now) > lateSeconds
        try snapshot.pace.notifying(notification).encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(isHistorical ? Self.historical : notification.kind.id, forKey: .eventType)
        try container.encode(notification.kind.id, forKey: .kind)
        try container.encode(at.description, forKey: .at)
        try container.encode(isHistorical, forKey: .historical)
        if isHistorical {
            try container.encode(false, forKey: .shouldNotify)
            try container.encode(at.wholeSeconds, forKey: .timestamp)
        }
        try container.encode(notification.title, forKey: .title)
        try container.encode(notification.body, forKey: .body)
        try container.encode(notification.urgency.rawValue, forKey: .notificationUrgency)
        try container.encode(notification.kind.actions.map(\.rawValue), forKey: .actions)
        try container.encode(notification.sound, forKey: .sound)
        try container.encode(notification.haptic, forKey: .haptic)
    }
}

/// `<p>/state`: the day, and values for a meter.
struct StatePayload: Encodable {
    var snapshot: TrackerSnapshot
    var service: ServiceStatus?
    /// The start of the current day of the tracker.
    var dayStart: Instant
    /// The sum of all drinks in millilitres. It never decreases.
    var lifetimeMl: Int
    var remindersEnabled: Bool
    var bottleLight: Bool

    private enum CodingKeys: String, CodingKey {
        case service, dayStart, lifetimeMl, lifetimeLitres, remindersEnabled, bottleLight
    }

    func encode(to encoder: any Encoder) throws {
        try snapshot.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(service, forKey: .service)
        try container.encode(dayStart.description, forKey: .dayStart)
        try container.encode(lifetimeMl, forKey: .lifetimeMl)
        try container.encode(Double(lifetimeMl) / 1000, forKey: .lifetimeLitres)
        try container.encode(remindersEnabled, forKey: .remindersEnabled)
        try container.encode(bottleLight, forKey: .bottleLight)
    }

    /// Whether only times differ, so that there is nothing to publish (tracker spec B8).
    func says(theSameAs other: StatePayload) -> Bool {
        var calm = other
        // The time of the next poll is computed at each request and can differ by a second.
        if let mine = service?.nextPoll, let next = other.service?.nextPoll, abs(mine.seconds(to: next)) <= 2 {
            calm.service?.nextPoll = mine
        }
        return snapshot.says(theSameAs: other.snapshot) && service == calm.service && dayStart == other.dayStart
            && lifetimeMl == other.lifetimeMl && remindersEnabled == other.remindersEnabled
            && bottleLight == other.bottleLight
    }
}

/// `<p>/waterline`, if Waterline is shared.
struct WaterlinePayload: Encodable {
    var session: WaterlineSnapshot?

    private enum CodingKeys: String, CodingKey { case isActive }

    func encode(to encoder: any Encoder) throws {
        try session?.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(session != nil, forKey: .isActive)
    }
}

/// `<p>/bottle/ID`: one bottle.
struct BottlePayload: Encodable {
    /// Values of `link`: the stage of the service, or that the last poll failed.
    static let links = ["idle", "scanning", "connecting", "connected", "polling", "error"]

    var bottle: BottleReport
    var link: String
    var trouble: String?

    init(_ bottle: BottleReport, _ snapshot: TrackerSnapshot, _ service: ServiceStatus?) {
        self.bottle = bottle
        trouble = snapshot.connection.error
        let stage = service?.stage ?? "idle"
        link = stage == "idle" && trouble != nil ? "error" : Self.links.contains(stage) ? stage : "polling"
    }

    /// The bottle's part of topics and device ids.
    static func id(of bottle: BottleReport) -> String { PlainName.of(bottle.origin.replacing(":", with: "")) }

    private enum CodingKeys: String, CodingKey { case link, trouble }

    func encode(to encoder: any Encoder) throws {
        try bottle.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(link, forKey: .link)
        try container.encode(trouble, forKey: .trouble)
    }
}

/// `<p>/bridge/info`: the publisher.
struct BridgeInfo: Encodable, Hashable {
    var name = "waterh-bench"
    var version: String
    /// The store's id at brokers, which never changes.
    var id: String
    /// An id of the connection, different for each.
    var connection: String
    var prefix: String
    /// Accepted commands; empty if commands are off.
    var commands: [String]
    var discovery: String?
    var bottles: [String]
    var sharesWaterline: Bool
}

/// `<p>/bridge/health`: counters of the publisher.
struct BridgeHealth: Encodable, Hashable {
    /// Seconds since the start of the publisher.
    var uptime: Int
    var connections: Int
    var published: Int
    var received: Int
    var waiting: Int
}
