package import Foundation
import GRDB
package import TrackerCore

/// Bytes that could not be decoded, kept for a later decoder.
package struct QuarantinedBytes: Hashable, Sendable, Decodable, FetchableRecord {
    package var bottle: String
    /// The bytes, at most `TrackerStore.quarantineByteLimit`.
    package var bytes: Data
    package var length: Int
    package var reason: String
    /// The time of the last receipt.
    package var received: Instant
    package var times: Int
}

extension TrackerStore {
    /// The maximum number of byte sequences. The oldest are deleted and counted.
    package static let quarantineRowLimit = 1000
    /// The maximum number of stored bytes of each sequence.
    package static let quarantineByteLimit = 4096

    package func quarantine(bottle: String, bytes: [UInt8], reason: String, received: Instant) throws {
        try write { db in
            let kept = Data(bytes.prefix(Self.quarantineByteLimit))
            try Counter.add("quarantine.received", 1, db)
            try db.run(
                """
                UPDATE quarantine SET times = times + 1, received = ?
                WHERE bottle = ? AND length = ? AND bytes = ? AND reason = ?
                """, [received, bottle, bytes.count, kept, reason])
            guard db.changesCount == 0 else { return }
            try db.run(
                "INSERT INTO quarantine (bottle, bytes, length, reason, received, times) VALUES (?, ?, ?, ?, ?, 1)",
                [bottle, kept, bytes.count, reason, received])
            try db.run(
                """
                DELETE FROM quarantine WHERE id IN (SELECT id FROM quarantine ORDER BY received DESC, id DESC
                    LIMIT -1 OFFSET ?)
                """, [Self.quarantineRowLimit])
            if db.changesCount > 0 { try Counter.add("quarantine.evicted", db.changesCount, db) }
        }
    }

    /// The quarantined bytes, newest first.
    package func quarantinedBytes() throws -> [QuarantinedBytes] {
        try all("SELECT * FROM quarantine ORDER BY received DESC, id DESC")
    }

    /// The numbers of received and of deleted byte sequences.
    package func quarantineCounts() throws -> (received: Int, evicted: Int) {
        try read { db in
            (try Counter.value("quarantine.received", db), try Counter.value("quarantine.evicted", db))
        }
    }
}
