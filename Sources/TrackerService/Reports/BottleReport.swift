import Store
import TrackerCore

/// What the store knows of one bottle.
public struct BottleReport: Hashable, Sendable, Encodable {
    /// The identity it was first seen under, for ever the same; not part of the JSON.
    public let origin: String
    /// What it goes by: its alias, or its identity.
    public let name: String
    /// Every name that it goes by or went by, `name` among them.
    public let names: [String]
    /// It answered a poll, or a person said so; `false` of one whose records came from a recording.
    public let isOwn: Bool
    /// The name that it showed on the air.
    public let advertisedName: String?
    /// Its model in lower case.
    public let model: String?
    /// Charge of its battery, 0–100, as it said last.
    public let batteryPercent: Int?
    /// Bottle's clock minus this computer's, seconds.
    public let clockDriftSeconds: Int?
    /// UTC: the end of the last poll, and of the last one that read the whole log.
    public let lastPoll: String?
    /// End of the last poll that read the whole log, in ISO 8601.
    public let lastCompletePoll: String?

    private enum CodingKeys: String, CodingKey {
        case name, names, isOwn, advertisedName, model, batteryPercent, clockDriftSeconds, lastPoll, lastCompletePoll
    }

    init(_ bottle: KnownBottle) {
        origin = bottle.origin
        (name, names, isOwn) = (bottle.name, bottle.names, bottle.isOwn)
        (advertisedName, model, batteryPercent) = (bottle.advertisedName, bottle.model, bottle.batteryPercent)
        clockDriftSeconds = bottle.clockDriftSeconds
        lastPoll = Self.words(bottle.lastPollMilliseconds)
        lastCompletePoll = Self.words(bottle.lastCompletePollMilliseconds)
    }

    private static func words(_ milliseconds: Int64?) -> String? {
        milliseconds.map { "\(Instant(milliseconds: $0))" }
    }
}
