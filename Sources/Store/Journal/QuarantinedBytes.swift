import GRDB
import TrackerCore

/// Bytes that could not be decoded, kept for a better decoder.
package struct QuarantinedBytes: Hashable, Sendable {
    /// The bottle that sent them.
    package var bottle: String
    /// The bytes, cut at `TrackerStore.quarantineByteLimit`.
    package var bytes: [UInt8]
    /// How many there were.
    package var length: Int
    /// The reason why they are not a record.
    package var reason: String
    /// The last time they came.
    package var received: Instant
    /// How often the same bytes came.
    package var times: Int
}

extension TrackerStore {
    /// At most this many different byte sequences are kept; the oldest make room, and are counted.
    package static let quarantineRowLimit = 1000
    /// At most this many bytes of each are kept.
    package static let quarantineByteLimit = 4096

    package func quarantine(bottle: String, bytes: [UInt8], reason: String, received: Instant) throws {
        try write { db in
            let kept = DatabaseValue(bytes: Array(bytes.prefix(Self.quarantineByteLimit)))
            try Counter.add("quarantine.received", 1, db)
            try db.run(
                """
                UPDATE quarantine SET times = times + 1, received = ?
                WHERE bottle = ? AND length = ? AND bytes = ? AND reason = ?
                """, [received.milliseconds, bottle, bytes.count, kept, reason])
            guard db.changesCount == 0 else { return }
            try db.run(
                "INSERT INTO quarantine (bottle, bytes, length, reason, received, times) VALUES (?, ?, ?, ?, ?, 1)",
                [bottle, kept, bytes.count, reason, received.milliseconds])
            try db.run(
                """
                DELETE FROM quarantine WHERE id IN (SELECT id FROM quarantine ORDER BY received DESC, id DESC
                    LIMIT -1 OFFSET ?)
                """, [Self.quarantineRowLimit])
            if db.changesCount > 0 { try Counter.add("quarantine.evicted", db.changesCount, db) }
        }
    }

    /// The kept bytes, newest first.
    package func quarantinedBytes() throws -> [QuarantinedBytes] {
        try read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM quarantine ORDER BY received DESC, id DESC").readable { row in
                QuarantinedBytes(
                    bottle: try row.checked("bottle"), bytes: row.bytes("bytes"), length: try row.checked("length"),
                    reason: try row.checked("reason"),
                    received: try row.instant("received"), times: try row.checked("times"))
            }
        }
    }

    /// How many undecodable byte sequences ever came, and how many of them had to make room.
    package func quarantineCounts() throws -> (received: Int, evicted: Int) {
        try read { db in
            (try Counter.value("quarantine.received", db), try Counter.value("quarantine.evicted", db))
        }
    }
}
