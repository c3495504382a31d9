import TrackerCore

/// What became of a drink, as a gateway tells it to a fleet. As JSON one object on one line; times are whole
/// milliseconds since 1970 UTC.
///
/// ```json
/// {"version": 1, "person": "anna", "store": "k3x…", "place": 17, "key": "A4:C1:38:01:02:03|2026-02-02T22:21:15|16",
///  "at": 1770070875000, "zone": "Europe/Berlin", "day": "2026-02-02", "ml": 16, "changed": 1770070900000,
///  "raw": "1A020216151500100000016100", "received": 1770070900000}
/// ```
///
/// `generation` is left out while it is 0. A store that is put back from a backup counts its changes from there again:
/// it tells on in the next generation, which is greater than all places of those before.
///
/// `person` is left out where a gateway keeps the day of one person and lists nobody. `deleted` says that a person took
/// the drink out. Without `at` the drink is not in that store any more: `zone`, `day`, `ml` and `changed` are left out,
/// too. `raw` (the record's 13 bytes) and `received` are there where a bottle's record lies behind it.
///
/// A drink's identity is its person and its key; the bottle's own drinks have keys of bottle, wall time and amount
/// (promise 2), so that two gateways say the same. Of what one store tells of a drink, the greatest `generation` and
/// `place` count, however often and in whatever order it arrives. Keys that a reader does not know are passed over; a
/// greater `version` is refused, since what it means is not known.
public struct FleetEntry: Hashable, Sendable {
    /// Of what `init(from:)` reads and `encode(to:)` writes.
    public static let version = 1
    /// So many bytes may be one line.
    public static let lineLimit = 4096
    /// So many characters may be a drink's key.
    public static let keyLimit = 512

    /// As listed at the gateway; `nil` where nobody is.
    public var person: String?
    /// Who tells: one store, for as long as it lives.
    public var store: String
    /// Its place in that store's sequence of changes.
    public var place: Int64
    /// How often that store began to count again.
    public var generation = 0
    /// The drink's key; for ever the same.
    public var key: String
    /// As it is now; `nil` where it is gone.
    public var drink: Fact?
    /// What the bottle said; `nil` of a drink that no bottle told.
    public var record: Record?

    /// A drink as it counts.
    public struct Fact: Hashable, Sendable {
        /// When it was drunk.
        public var at: Instant
        /// The IANA id of the zone whose day it counts on.
        public var zone: String
        /// The day it belongs to.
        public var day: LocalDay
        /// How much.
        public var ml: Int
        /// A person took it out: it is known, and does not count.
        public var isDeleted: Bool
        /// When it became as it is.
        public var changed: Instant

        public init(at: Instant, zone: String, day: LocalDay, ml: Int, isDeleted: Bool = false, changed: Instant) {
            (self.at, self.zone, self.day, self.ml, self.isDeleted, self.changed) = (
                at, zone, day, ml, isDeleted, changed
            )
        }
    }

    /// What the bottle said.
    public struct Record: Hashable, Sendable {
        /// 13 bytes as 26 capital hexadecimal digits.
        public var raw: String
        /// When the gateway received it.
        public var received: Instant

        public init(raw: String, received: Instant) { (self.raw, self.received) = (raw, received) }
    }

    /// That there is a session is the person's business: its water has a key like another drink's here.
    public init(
        person: String?, store: String, generation: Int = 0, place: Int64, key: String, drink: Fact?,
        record: Record? = nil
    ) {
        (self.person, self.store, self.place, self.key, self.drink, self.record) = (
            person, store, place, Drink.veiled(key), drink, record
        )
        self.generation = generation
    }

    /// What counts of two that one store tells of a drink is the one that stands later.
    public func isBehind(_ other: FleetEntry) -> Bool { (generation, place) < (other.generation, other.place) }

    /// The bottle that the key names; `nil` where the drink came from elsewhere.
    public var bottle: String? {
        // By bytes: it is asked of every entry, and looking for characters costs five times as much.
        let parts = key.utf8.split(separator: UInt8(ascii: "|"), maxSplits: 3, omittingEmptySubsequences: false).map(
            Substring.init)
        guard parts.count == 3, !parts[0].isEmpty, WallTime(String(parts[1])) != nil, Int(parts[2]) != nil else {
            return nil
        }
        return String(parts[0])
    }

    /// Why a line is no entry: what never becomes one.
    public struct Malformed: Error, Hashable, CustomStringConvertible {
        /// What is wrong, in a sentence.
        public var description: String
    }

    /// An entry of a version that this program does not know yet.
    public struct Newer: Error, Hashable, CustomStringConvertible {
        /// The version that was met.
        public var version: Int
        /// Which version it is, and which one this program knows.
        public var description: String {
            """
            An entry is of version \(version), and this server reads up to \(FleetEntry.version). Nothing of the \
            batch was taken: it can be sent again when the server is newer.
            """
        }
    }
}

extension FleetEntry: Codable {
    private enum Key: String, CodingKey {
        case version, person, store, generation, place, key, at, zone, day, ml, deleted, changed, raw, received
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        try fields.encode(Self.version, forKey: .version)
        try fields.encodeIfPresent(person, forKey: .person)
        try fields.encode(store, forKey: .store)
        if generation > 0 { try fields.encode(generation, forKey: .generation) }
        try fields.encode(place, forKey: .place)
        try fields.encode(key, forKey: .key)
        if let drink {
            try fields.encode(drink.at.milliseconds, forKey: .at)
            try fields.encode(drink.zone, forKey: .zone)
            try fields.encode(drink.day.description, forKey: .day)
            try fields.encode(drink.ml, forKey: .ml)
            if drink.isDeleted { try fields.encode(true, forKey: .deleted) }
            try fields.encode(drink.changed.milliseconds, forKey: .changed)
        }
        try fields.encodeIfPresent(record?.raw, forKey: .raw)
        try fields.encodeIfPresent(record?.received.milliseconds, forKey: .received)
    }

    /// - Throws: `Newer`, `Malformed`, or `DecodingError` where a field is missing or of another type.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        let version = try fields.decode(Int.self, forKey: .version)
        guard version >= 1 else { throw Malformed(description: "there is no version \(version) of an entry") }
        guard version <= Self.version else { throw Newer(version: version) }
        person = try fields.contains(.person) ? Self.text(fields, .person, 64) : nil
        store = try Self.text(fields, .store, 64)
        generation = try fields.decodeIfPresent(Int.self, forKey: .generation) ?? 0
        guard Self.generations.contains(generation) else {
            throw Malformed(description: "there is no generation \(generation) of a store")
        }
        place = try fields.decode(Int64.self, forKey: .place)
        guard place > 0 else { throw Malformed(description: "place \(place) is none: places begin at 1") }
        key = Drink.veiled(try Self.text(fields, .key, Self.keyLimit))
        if fields.contains(.at) {
            let zone = try Self.text(fields, .zone, 64)
            guard Zone.isKnown(zone) else { throw Malformed(description: "there is no time zone \"\(zone)\"") }
            guard let day = LocalDay(try fields.decode(String.self, forKey: .day)) else {
                throw Malformed(description: "day is no date")
            }
            // A database has no year 0, and writes those before it and those of five digits otherwise than a date here.
            guard Self.years.contains(day.year) else {
                throw Malformed(
                    description:
                        """
                        the day \(day) is outside of the years that can be stored, \(Self.years.lowerBound) to \
                        \(Self.years.upperBound)
                        """
                )
            }
            let at = try Self.instant(fields, .at)
            // A day that lies elsewhere than its moment would stand in a total that nobody drank.
            let days = LocalDay(daysSince1970: Int((at.milliseconds / 86_400_000))).daysSince1970
            guard abs(days - day.daysSince1970) <= 2 else {
                throw Malformed(description: "the day \(day) is not that of its moment")
            }
            let ml = try fields.decode(Int.self, forKey: .ml)
            guard Self.ml.contains(ml) else {
                throw Malformed(
                    description: "\(ml) ml are no drink: \(Self.ml.lowerBound) to \(Self.ml.upperBound) are")
            }
            drink = Fact(
                at: at, zone: zone, day: day, ml: ml,
                isDeleted: try fields.decodeIfPresent(Bool.self, forKey: .deleted) ?? false,
                changed: try Self.instant(fields, .changed))
        } else {
            drink = nil
        }
        guard fields.contains(.raw) else {
            record = nil
            return
        }
        let raw = try fields.decode(String.self, forKey: .raw)
        guard Self.isRecord(raw) else {
            throw Malformed(description: "raw is not \(JournalEntry.length) bytes in capital hexadecimal")
        }
        record = Record(raw: raw, received: try Self.instant(fields, .received))
    }

    /// How often a store may begin to count again. Up to 27 November 2026 it was 1,000,000, which a gateway that went
    /// round and round came to.
    public static let generations = 0...2_000_000_000

    /// In which a drink's day may lie.
    static let years = 1...9999

    /// What a drink may hold, as a store keeps it.
    public static let ml = 0...100_000

    /// Whether it is a text of 1 to so many characters, and none of them moves a cursor or ends a line.
    public static func isPrintable(_ text: String, _ limit: Int) -> Bool {
        (1...limit).contains(text.unicodeScalars.count)
            && text.unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 127 }
    }

    /// 13 bytes in capital hexadecimal.
    static func isRecord(_ raw: String) -> Bool {
        raw.utf8.count == 2 * JournalEntry.length
            && raw.utf8.allSatisfy { (48...57).contains($0) || (65...70).contains($0) }
    }

    private static func text(_ fields: KeyedDecodingContainer<Key>, _ key: Key, _ limit: Int) throws -> String {
        let text = try fields.decode(String.self, forKey: key)
        guard isPrintable(text, limit) else {
            throw Malformed(description: "\(key.rawValue) is not a text of 1 to \(limit) printable characters")
        }
        return text
    }

    private static func instant(_ fields: KeyedDecodingContainer<Key>, _ key: Key) throws -> Instant {
        let instant = Instant(milliseconds: try fields.decode(Int64.self, forKey: key))
        guard Instant.storable.contains(instant) else {
            throw Malformed(description: "\(key.rawValue) is outside of the years that can be stored")
        }
        return instant
    }
}
