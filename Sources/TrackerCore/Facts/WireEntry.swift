/// A journal entry for the exchange between stores, as one JSON object. It identifies the receiver and has all values
/// that are needed to count the entry once. Times are whole milliseconds since 1970-01-01 UTC.
///
/// ```json
/// {"version": 1, "gateway": "6f1c…", "bottle": "A4:C1:38:01:02:03", "raw": "1A020216151500100000016100",
///  "wall": "2026-02-02T22:21:15", "ml": 16, "verdict": "drink", "at": 1770070875000, "zone": "Europe/Berlin",
///  "received": 1770070900000, "reading": "calendar/u16be"}
/// ```
///
/// `names` has the bottle's other identities (a bottle with private addresses has several). `byHand`: the user dated
/// the drink. `deleted`: the user deleted it. `edit` (`key`, `ml`, `at`, `zone`) is the user's replacement.
///
/// Unknown keys are ignored. A greater `version` is rejected.
package struct WireEntry: Hashable, Sendable {
    /// The version that `init(from:)` reads and `encode(to:)` writes.
    package static let version = 1
    /// The maximum length of a name or reason in characters.
    package static let textLimit = 128

    /// The device id of the store that received the record from the bottle.
    package var gateway: String
    /// The entry in the journal of the store that received the record.
    package var entry: JournalEntry
    /// The bottle's other identities, at most `namesLimit`.
    package var names: [String]
    /// Whether the user deleted the drink. The receiving store keeps the entry and does not count it.
    package var isDeleted: Bool
    /// The user's replacement of the drink.
    package var edit: Edit?

    package static let namesLimit = 16

    package init(gateway: String, entry: JournalEntry, names: [String] = [], isDeleted: Bool = false, edit: Edit? = nil)
    {
        self.gateway = gateway
        self.entry = entry
        self.names = names
        self.isDeleted = isDeleted
        self.edit = edit
    }

    /// The user's correction of a drink.
    package struct Edit: Hashable, Sendable {
        /// A random key, by which the correction counts once.
        package var key: String
        package var ml: Int
        package var at: Instant
        /// The IANA id of the time zone that determines the drink's day.
        package var zone: String

        package init(key: String, ml: Int, at: Instant, zone: String) {
            self.key = key
            self.ml = ml
            self.at = at
            self.zone = zone
        }
    }

    package struct Malformed: Error, Hashable, CustomStringConvertible {
        package var description: String
    }
}

extension WireEntry: Codable {
    private enum Key: String, CodingKey {
        case version, gateway, bottle, raw, wall, ml, verdict, reason, at, zone, received, reading, about, byHand,
            deleted, names, edit, key
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        try fields.encode(Self.version, forKey: .version)
        try fields.encode(gateway, forKey: .gateway)
        try fields.encode(entry.bottle, forKey: .bottle)
        try fields.encode(Self.hex(entry.raw), forKey: .raw)
        try fields.encodeIfPresent(entry.wall?.description, forKey: .wall)
        try fields.encode(entry.amountMl, forKey: .ml)
        switch entry.verdict {
        case .drink(let at, let zone):
            try fields.encode("drink", forKey: .verdict)
            try fields.encode(at.milliseconds, forKey: .at)
            try fields.encode(zone, forKey: .zone)
        case .notADrink(let reason):
            try fields.encode("notADrink", forKey: .verdict)
            try fields.encode(reason, forKey: .reason)
        case .quarantined(let reason):
            try fields.encode("quarantined", forKey: .verdict)
            try fields.encode(reason, forKey: .reason)
        }
        try fields.encode(entry.received.milliseconds, forKey: .received)
        try fields.encodeIfPresent(entry.reading, forKey: .reading)
        try fields.encodeIfPresent(entry.about?.milliseconds, forKey: .about)
        if entry.isDatedManually { try fields.encode(true, forKey: .byHand) }
        if !names.isEmpty { try fields.encode(names, forKey: .names) }
        if isDeleted { try fields.encode(true, forKey: .deleted) }
        guard let edit else { return }
        var parts = fields.nestedContainer(keyedBy: Key.self, forKey: .edit)
        try parts.encode(edit.key, forKey: .key)
        try parts.encode(edit.ml, forKey: .ml)
        try parts.encode(edit.at.milliseconds, forKey: .at)
        try parts.encode(edit.zone, forKey: .zone)
    }

    /// - Throws: `Malformed`, or `DecodingError` if a field is missing or has another type.
    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        let version = try fields.decode(Int.self, forKey: .version)
        guard version >= 1 else { throw Malformed(description: "invalid version \(version)") }
        guard version <= Self.version else {
            throw Malformed(description: "version \(version) is not supported (expected 1–\(Self.version))")
        }
        let verdict: JournalEntry.Verdict
        switch try fields.decode(String.self, forKey: .verdict) {
        case "drink":
            let zone = try Self.zone(fields)
            verdict = .drink(at: try Self.instant(fields.decode(Int64.self, forKey: .at), .at), zone: zone)
        case "notADrink": verdict = .notADrink(reason: try Self.text(fields, .reason))
        case "quarantined": verdict = .quarantined(reason: try Self.text(fields, .reason))
        case let other: throw Malformed(description: "\"\(other.prefix(32))\" is not a valid verdict")
        }
        let wall = try fields.decodeIfPresent(String.self, forKey: .wall)
        guard let raw = Self.bytes(try fields.decode(String.self, forKey: .raw)) else {
            throw Malformed(description: "raw is not \(JournalEntry.length) bytes in hexadecimal")
        }
        let ml = try fields.decode(Int.self, forKey: .ml)
        guard (0...0xFFFF).contains(ml) else { throw Malformed(description: "\(ml) ml is not a valid amount") }
        let wallTime = try wall.map { text in
            guard let time = WallTime(text) else { throw Malformed(description: "wall is not a valid date and time") }
            return time
        }
        if case .drink = verdict, ml == 0 { throw Malformed(description: "0 ml is not a valid drink") }
        entry = JournalEntry(
            bottle: try Self.text(fields, .bottle), raw: raw, wall: wallTime, amountMl: ml,
            received: try Self.instant(fields.decode(Int64.self, forKey: .received), .received), verdict: verdict,
            reading: try fields.contains(.reading) ? Self.text(fields, .reading) : nil,
            about: try fields.decodeIfPresent(Int64.self, forKey: .about).map { try Self.instant($0, .about) })
        if case .drink = verdict {
            entry.isDatedManually = try fields.decodeIfPresent(Bool.self, forKey: .byHand) ?? false
        }
        gateway = try Self.text(fields, .gateway)
        isDeleted = try fields.decodeIfPresent(Bool.self, forKey: .deleted) ?? false
        names = try fields.decodeIfPresent([String].self, forKey: .names) ?? []
        guard names.count <= Self.namesLimit, names.allSatisfy(Self.isText) else {
            throw Malformed(
                description:
                    "names must be at most \(Self.namesLimit) texts of 1 to \(Self.textLimit) printable characters")
        }
        guard fields.contains(.edit) else {
            edit = nil
            return
        }
        let parts = try fields.nestedContainer(keyedBy: Key.self, forKey: .edit)
        edit = Edit(
            key: try Self.text(parts, .key), ml: try parts.decode(Int.self, forKey: .ml),
            at: try Self.instant(parts.decode(Int64.self, forKey: .at), .at), zone: try Self.zone(parts))
        guard case .drink = verdict, isDeleted, let edit, (1...HealthFiles.maximumMl).contains(edit.ml) else {
            throw Malformed(description: "edit must replace a deleted drink with a valid amount")
        }
    }

    private static func zone(_ fields: KeyedDecodingContainer<Key>) throws -> String {
        let zone = try text(fields, .zone)
        guard (try? Zone(zone)) != nil else { throw Malformed(description: "\"\(zone)\" is not a valid time zone") }
        return zone
    }

    private static func isText(_ text: String) -> Bool {
        (1...textLimit).contains(text.count) && text.unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 127 }
    }

    private static func text(_ fields: KeyedDecodingContainer<Key>, _ key: Key) throws -> String {
        let text = try fields.decode(String.self, forKey: key)
        guard isText(text) else {
            throw Malformed(description: "\(key.rawValue) is not a text of 1 to \(textLimit) printable characters")
        }
        return text
    }

    private static func instant(_ milliseconds: Int64, _ key: Key) throws -> Instant {
        let instant = Instant(milliseconds: milliseconds)
        guard Instant.storable.contains(instant) else {
            throw Malformed(description: "\(key.rawValue) is outside the years that can be stored")
        }
        return instant
    }

    /// Hexadecimal text in upper case.
    package static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
    }

    /// The bytes of a record; `nil` if the text is invalid.
    package static func bytes(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count == 2 * JournalEntry.length else { return nil }
        let values = digits.map { digit -> UInt8? in
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
            default: nil
            }
        }
        guard !values.contains(nil) else { return nil }
        return stride(from: 0, to: values.count, by: 2).map { (values[$0] ?? 0) << 4 | (values[$0 + 1] ?? 0) }
    }
}
