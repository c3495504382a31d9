import Store
import TrackerCore
import TrackerService

/// The age in seconds from which a published event is marked as `historical`.
private let lateSeconds: Double = 900

/// The payload of `<p>/sip`: one drink, or one change of a drink. A repeated message has the same id.
struct SipPayload: Encodable {
    var change: DrinkChange
    var isHistorical: Bool
    /// `false` shows the water of a session as any other water.
    var mayReadWaterline: Bool

    /// - Parameter now: the time of publishing.
    init(_ change: DrinkChange, now: Instant, mayReadWaterline: Bool = true) {
        (self.change, self.mayReadWaterline) = (change, mayReadWaterline)
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
        !mayReadWaterline && (change.drink?.source == .session || change.key.hasPrefix(Drink.sessionKeys))
    }

    func encode(to encoder: any Encoder) throws {
        let drink = change.drink
        try encoder.encode([
            // The id must not depend on whether sessions are shared, so that a receiver recognises the drink.
            "id": Drink.keyWithoutSession(change.key), "event_type": event.rawValue, "at": drink?.at.description,
            "timestamp": drink?.at.wholeSeconds, "zone": drink?.zone, "day": drink?.localDay.description,
            "ml": drink?.ml, "source": isRedacted ? DrinkSource.cli.rawValue : drink?.source.rawValue,
            "historical": isHistorical, "deleted": event == .deleted, "sequence": change.sequence,
        ])
    }
}

/// The payload of `<p>/notify`: one notification. No other payload has `shouldNotify` (tracker spec B7).
struct NotifyPayload: Encodable {
    var notification: TrackerNotification
    var snapshot: TrackerSnapshot
    var now: Instant

    /// All values of `event_type`.
    static let events = Set(NotificationKind.allCases.map(\.id)).sorted() + [historical]

    private static let historical = "historical"

    func encode(to encoder: any Encoder) throws {
        let (kind, at) = (notification.kind, notification.decidedAt ?? now)
        let isHistorical = at.seconds(to: now) > lateSeconds
        try snapshot.pace.withNotification(notification).encode(to: encoder)
        try encoder.encode([
            "event_type": isHistorical ? Self.historical : kind.id, "kind": kind.id, "at": at.description,
            "historical": isHistorical, "title": notification.title, "body": notification.body,
            "notificationUrgency": notification.urgency.rawValue, "actions": kind.actions.map(\.rawValue),
            "sound": notification.sound, "haptic": notification.haptic,
        ])
        if isHistorical { try encoder.encode(["shouldNotify": false, "timestamp": at.wholeSeconds]) }
    }
}

/// The payload of `<p>/state`: the state of the day, and totals for Home Assistant's statistics.
struct StatePayload: Encodable {
    var snapshot: TrackerSnapshot
    var service: ServiceStatus?
    /// The start of the current day of the tracker.
    var dayStart: Instant
    /// The sum of all drinks in millilitres. It never decreases.
    var lifetimeMl: Int
    var remindersEnabled: Bool
    var bottleLight: Bool

    func encode(to encoder: any Encoder) throws {
        try snapshot.encode(to: encoder)
        try encoder.encode([
            "service": service, "dayStart": dayStart.description, "lifetimeMl": lifetimeMl,
            "lifetimeLitres": Double(lifetimeMl) / 1000, "remindersEnabled": remindersEnabled,
            "bottleLight": bottleLight,
        ])
    }

    /// Whether two states differ only by the passing of time and need not be published (tracker spec B8).
    func hasSameContent(as other: StatePayload) -> Bool {
        var other = other
        // The time of the next poll is computed at each request and can differ by a second.
        if let nextPoll = service?.nextPoll, let next = other.service?.nextPoll, abs(nextPoll.seconds(to: next)) <= 2 {
            other.service?.nextPoll = nextPoll
        }
        return snapshot.hasSameContent(as: other.snapshot) && service == other.service && dayStart == other.dayStart
            && lifetimeMl == other.lifetimeMl && remindersEnabled == other.remindersEnabled
            && bottleLight == other.bottleLight
    }
}

/// The payload of `<p>/waterline`: the active session. Published only if Waterline is shared.
struct WaterlinePayload: Encodable {
    var session: WaterlineSnapshot?

    func encode(to encoder: any Encoder) throws {
        try session?.encode(to: encoder)
        try encoder.encode(["isActive": session != nil])
    }
}

/// The payload of `<p>/bottle/ID`: one bottle.
struct BottlePayload: Encodable {
    /// The values of `link`: the stage of the service, or `error` after a failed poll.
    static let links = ["idle", "scanning", "connecting", "connected", "polling", "error"]

    var bottle: KnownBottle
    var link: String
    var problem: String?

    init(_ bottle: KnownBottle, _ snapshot: TrackerSnapshot, _ service: ServiceStatus?) {
        self.bottle = bottle
        problem = snapshot.connectionProblem?.description
        let stage = service?.stage ?? "idle"
        link = stage == "idle" && problem != nil ? "error" : Self.links.contains(stage) ? stage : "polling"
    }

    /// The part of topics and device ids that identifies the bottle.
    static func id(of bottle: KnownBottle) -> String { PlainName.of(bottle.origin.replacing(":", with: "")) }

    func encode(to encoder: any Encoder) throws {
        try bottle.encode(to: encoder)
        try encoder.encode(["link": link, "trouble": problem])
    }
}

/// The payload of `<p>/bridge/info`: the publisher and its configuration.
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

/// The payload of `<p>/bridge/health`: counters of the publisher.
struct BridgeHealth: Encodable, Hashable {
    /// Seconds since the start of the publisher.
    var uptime: Int
    var connections: Int
    var published: Int
    var received: Int
    var waiting: Int
}
