import GRDB
package import TrackerCore
import Utilities

/// A publisher that failed at the last attempt.
package struct PublisherError: Hashable, Sendable, Decodable, FetchableRecord {
    /// The name: `mqtt`, `postgres`, `ntfy` or `webhook`.
    package var publisher: String
    package var message: String
    /// The time of the first failure by the host's clock; `nil` if unknown.
    package var since: Instant?
    /// The number of waiting drinks (MQTT and PostgreSQL) or notifications (others).
    package var waiting = 0
}

extension TrackerStore {
    /// Sets or clears (`nil`) the error of a publisher. With equal settings, a new message keeps the start time.
    /// - Parameter settings: the settings of the attempt, stored as a hash.
    package func recordProblem(_ message: String?, of name: String, with settings: String = "", at now: Instant) throws
    {
        guard let message = message.map({ String($0.prefix(Self.problemLimit)) }) else {
            return try clearProblem(of: name)
        }
        let hash = Self.hash(settings)
        // Usually nothing changes: do not wait for the lock of another process.
        let isKnown = try read {
            try $0.has("FROM channel_error WHERE channel = ? AND message = ? AND settings = ?", [name, message, hash])
        }
        guard !isKnown else { return }
        try write { db in
            try db.run(
                """
                INSERT INTO channel_error (channel, message, since, settings) VALUES (?, ?, ?, ?)
                ON CONFLICT (channel) DO UPDATE SET since = iif(settings = excluded.settings, since, excluded.since),
                    message = excluded.message, settings = excluded.settings
                """, [name, message, now, hash])
        }
    }

    /// Clears the error of a publisher.
    /// - Parameter settings: keeps an error that was recorded with these settings; `nil` always clears it.
    package func clearProblem(of name: String, unlessWith settings: String? = nil) throws {
        let arguments: StatementArguments = [name, settings.map(Self.hash)]
        let old = "FROM channel_error WHERE channel = ? AND settings IS NOT ?"
        guard try read({ try $0.has(old, arguments) }) else { return }
        try write { try $0.run("DELETE \(old)", arguments) }
    }

    /// The errors of the notification channels and of the open publishers.
    package func publisherErrors() throws -> [PublisherError] {
        try all(
            """
            SELECT t.channel AS publisher, message, since,
                CASE WHEN o.name IS NULL
                    THEN (SELECT count(*) FROM queued_notification m WHERE m.channel = t.channel AND state = 'waiting')
                    ELSE (SELECT count(*) FROM drink_change WHERE seq > o.position) END AS waiting
            FROM channel_error t LEFT JOIN publisher o ON o.name = t.channel
            WHERE coalesce(o.isOpen, t.channel IN ('ntfy', 'webhook')) ORDER BY publisher
            """)
    }

    private static let problemLimit = 2000

    private static func hash(_ settings: String) -> String { String(SHA256.hex(settings.utf8).prefix(16)) }
}
