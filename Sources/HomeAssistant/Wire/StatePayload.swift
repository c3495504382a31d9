import Foundation
import TrackerCore
import TrackerService

/// What stands at `<p>/state`: the day as every surface shows it, and what a meter needs beside it.
struct StatePayload: Encodable {
    var snapshot: TrackerSnapshot
    var service: ServiceStatus?
    /// When the day that totals count began.
    var dayStart: Instant
    /// All that was ever drunk, as far as the store knows; it never runs backwards.
    var lifetimeMl: Int
    var remindersEnabled: Bool
    /// Bottles show with their own light when a drink is due.
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

    /// Equal but for the passing of time: nothing to publish (tracker law B8).
    func says(theSameAs other: StatePayload) -> Bool {
        snapshot.says(theSameAs: other.snapshot) && Self.calm(service, other.service) && dayStart == other.dayStart
            && lifetimeMl == other.lifetimeMl
            && remindersEnabled == other.remindersEnabled && bottleLight == other.bottleLight
    }

    /// The next poll is worked out anew each time it is asked for: a second more or less says nothing.
    private static func calm(_ left: ServiceStatus?, _ right: ServiceStatus?) -> Bool {
        guard var left, let right else { return left == right }
        if let mine = left.nextPoll, let its = right.nextPoll, abs(mine.seconds(to: its)) <= 2 {
            left.nextPoll = right.nextPoll
        }
        return left == right
    }
}
