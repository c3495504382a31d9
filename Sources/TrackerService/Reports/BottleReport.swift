import Store
import TrackerCore

/// What the store knows of one bottle.
package struct BottleReport: Hashable, Sendable, Encodable {
    /// The identity it was first seen under, for ever the same; not part of the JSON.
    package let origin: String
    /// What it goes by: its alias, or its identity.
    package let name: String
    /// Every name that it goes by or went by, `name` among them.
    package let names: [String]
    /// It answered a poll, or a person said so; `false` of one whose records came from a recording.
    package let isOwn: Bool
    /// The name that it showed on the air.
    package let advertisedName: String?
    /// Its model in lower case.
    package let model: String?
    /// Charge of its battery, 0–100, as it said last.
    package let batteryPercent: Int?
    /// Bottle's clock minus this computer's, seconds.
    package let clockDriftSeconds: Int?
    /// UTC: the end of the last poll, and of the last one that read the whole log.
    package let lastPoll: String?
    /// End of the last poll that read the whole log, in ISO 8601.
    package let lastCompletePoll: String?

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
