import Foundation
import TrackerCore

/// A record that lies at a gateway and does not count: what the bottle said, and why nobody believes it. One JSON
/// object on one line, as `FleetEntry`.
///
/// ```json
/// {"version": 1, "verdict": "quarantined", "reason": "hostClock", "bottle": "A4:C1:38:01:02:03", "wall": "2026-02-02T22:21:15", "ml": 16,
///  "raw": "1A020216151500100000016100", "received": 1770070900000}
/// ```
///
/// A gateway tells all of a person's doubts at once, and again when they are others: what it does not name any more is
/// settled.
public struct FleetDoubt: Hashable, Sendable {
    /// So many at once; of more the oldest.
    public static let limit = 2000

    /// What the bottle goes by at the gateway.
    public var bottle: String
    /// 13 bytes as 26 capital hexadecimal digits.
    public var raw: String
    /// As the bottle's clock showed; `nil` where it is no date.
    public var wall: String?
    /// As the record says.
    public var ml: Int
    /// Why nobody believes it, as the gateway calls that.
    public var reason: String
    /// By the gateway's clock.
    public var received: Instant

    /// All of it.
    public init(bottle: String, raw: String, wall: String?, ml: Int, reason: String, received: Instant) {
        (self.bottle, self.raw, self.wall, self.ml, self.reason, self.received) = (
            bottle, raw, wall, ml, reason, received
        )
    }
}

extension FleetDoubt: Codable {
    private enum Key: String, CodingKey {
        case version, verdict, reason, bottle, wall, ml, raw, received
    }

    private static let verdict = "quarantined"

    /// Always of the version that this program knows.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        try fields.encode(FleetEntry.version, forKey: .version)
        try fields.encode(Self.verdict, forKey: .verdict)
        try fields.encode(reason, forKey: .reason)
        try fields.encode(bottle, forKey: .bottle)
        try fields.encodeIfPresent(wall, forKey: .wall)
        try fields.encode(ml, forKey: .ml)
        try fields.encode(raw, forKey: .raw)
        try fields.encode(received.milliseconds, forKey: .received)
    }

    /// - Throws: `FleetEntry.Newer`, `FleetEntry.Malformed` or `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        let version = try fields.decode(Int.self, forKey: .version)
        guard version <= FleetEntry.version else { throw FleetEntry.Newer(version: version) }
        guard version >= 1, try fields.decode(String.self, forKey: .verdict) == Self.verdict else {
            throw FleetEntry.Malformed(description: "verdict is not \(Self.verdict)")
        }
        func text(_ key: Key, _ limit: Int) throws -> String {
            let text = try fields.decode(String.self, forKey: key)
            guard FleetEntry.isPrintable(text, limit) else {
                throw FleetEntry.Malformed(
                    description: "\(key.rawValue) is not a text of 1 to \(limit) printable characters")
            }
            return text
        }
        (bottle, reason, raw) = (try text(.bottle, 128), try text(.reason, 64), try text(.raw, 26))
        guard FleetEntry.isRecord(raw) else {
            throw FleetEntry.Malformed(description: "raw is not \(JournalEntry.length) bytes in capital hexadecimal")
        }
        wall = fields.contains(.wall) ? try text(.wall, 32) : nil
        ml = try fields.decode(Int.self, forKey: .ml)
        guard FleetEntry.ml.contains(ml) else { throw FleetEntry.Malformed(description: "\(ml) ml are no drink") }
        received = Instant(milliseconds: try fields.decode(Int64.self, forKey: .received))
        guard Instant.storable.contains(received) else {
            throw FleetEntry.Malformed(description: "received is outside of the years that can be stored")
        }
    }
}
