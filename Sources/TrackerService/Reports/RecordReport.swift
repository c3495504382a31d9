import Store
import TrackerCore

/// A record as the bottle sent it, and what was made of it.
package struct RecordReport: Hashable, Sendable, Encodable {
    /// The record's row.
    package let record: JournalRow

    package init(_ record: JournalRow) { self.record = record }

    enum CodingKeys: String, CodingKey {
        case id, bottle, raw, wall, amountMl, verdict, reason, received, reading, about
    }

    package func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode("r\(record.id)", forKey: .id)
        try keys.encode(record.bottle, forKey: .bottle)
        try keys.encode(Self.hex(record.raw), forKey: .raw)
        try keys.encode(record.wall, forKey: .wall)
        try keys.encode(record.amountMl, forKey: .amountMl)
        try keys.encode(record.verdict, forKey: .verdict)
        try keys.encode(record.reason, forKey: .reason)
        try keys.encode(record.received.description, forKey: .received)
        try keys.encode(record.reading, forKey: .reading)
        try keys.encode(record.about?.description, forKey: .about)
    }

    static func hex(_ bytes: [UInt8]) -> String { bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}

/// Bytes that are no record.
package struct JunkReport: Hashable, Sendable, Encodable {
    /// The bytes' row.
    package let junk: QuarantinedBytes

    package init(_ junk: QuarantinedBytes) { self.junk = junk }

    enum CodingKeys: String, CodingKey { case bottle, raw, length, reason, received, times }

    package func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode(junk.bottle, forKey: .bottle)
        try keys.encode(RecordReport.hex(junk.bytes), forKey: .raw)
        try keys.encode(junk.length, forKey: .length)
        try keys.encode(junk.reason, forKey: .reason)
        try keys.encode(junk.received.description, forKey: .received)
        try keys.encode(junk.times, forKey: .times)
    }
}

/// What the bottle delivered and nobody counts.
package struct JournalReport: Hashable, Sendable, Encodable {
    /// Records that are kept and not counted.
    package let records: [RecordReport]
    /// Bytes that are no record.
    package let junk: [JunkReport]
    /// How many records wait, by the reason that they wait for.
    package let doubts: [Doubt]
    /// Pieces of bytes that are no record, and how many of them are no longer kept.
    package let junkReceived: Int
    /// Further bytes, of which only the number is kept.
    package let junkNotKept: Int

    /// Why records wait, and how many wait for that.
    package struct Doubt: Hashable, Sendable {
        /// The reason's word.
        package let reason: String
        /// How many records wait for it.
        package let count: Int
    }

    /// Records that wait, also those that are not listed here.
    package var waiting: Int { doubts.reduce(0) { $0 + $1.count } }

    enum CodingKeys: String, CodingKey { case records, junk, counts }

    package func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode(records, forKey: .records)
        try keys.encode(junk, forKey: .junk)
        try keys.encode(
            ["records": waiting, "junkReceived": junkReceived, "junkNotKept": junkNotKept], forKey: .counts)
    }
}

/// What reading and dating the journal again answers.
package struct ResolveOutcome: Hashable, Sendable, Encodable {
    /// Records that have a date now.
    package let resolved: Int
    /// Records that stand otherwise now.
    package let changed: Int
    /// Records that still wait.
    package let waiting: Int
    /// How the day stands now.
    package let state: TrackerSnapshot
}
