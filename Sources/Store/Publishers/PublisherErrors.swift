import Cryptography
import GRDB
package import TrackerCore

/// A publisher that failed at the last attempt.
package struct PublisherError: Hashable, Sendable, Decodable, FetchableRecord {
    /// The name: `mqtt`, `ntfy` or `webhook`.
    package var publisher: String
    package var message: String
    /// The first failure by the host's clock at that time; `nil` if unknown.
    package var since: Instant?
    /// The number of waiting drinks (MQTT) or notifications (others).
    package var waiting = 0
}

extension TrackerStore {
    /// Sets or clears (`nil`) the error of a publisher. Another error does not change the start time.
    package func recordProblem(_ message: String?, of name: String, at now: Instant) throws {
        let message = message.map { String($0.prefix(Self.problemLimit)) }
        // Usually nothing changes: do not wait for the lock of another process.
        guard try read({ try $0.has("FROM outlet WHERE name = ? AND trouble IS NOT ?", [name, message]) }) else {
            return
        }
        try write { db in
            try db.run(
                """
                UPDATE outlet SET troubleSince = CASE WHEN ?1 IS NULL THEN NULL WHEN trouble IS NULL THEN ?2 ELSE
                troubleSince END, trouble = ?1 WHERE name = ?3 AND trouble IS NOT ?1
                """, [message, now, name])
        }
    }

    /// Sets or clears (`nil`) the error of a notification channel.
    /// - Parameter settings: the settings of the attempt, stored as a hash.
    package func recordChannelProblem(_ message: String?, of channel: String, with settings: String, at now: Instant)
        throws
    {
        guard let message = message.map({ String($0.prefix(Self.problemLimit)) }) else {
            return try clearChannelProblem(of: channel)
        }
        let hash = Self.hash(settings)
        try write { db in
            try db.run(
                """
                INSERT INTO pocket_trouble (outlet, words, since, settings) VALUES (?, ?, ?, ?) ON CONFLICT
                (outlet) DO UPDATE SET since = iif(settings = excluded.settings, since, excluded.since), words =
                excluded.words, settings = excluded.settings
                WHERE words <> excluded.words OR settings <> excluded.settings
                """, [channel, message, now, hash])
        }
    }

    /// Clears the error, unless it is from these settings; `nil` always clears it.
    package func clearChannelProblem(of channel: String, unlessWith settings: String? = nil) throws {
        let hash = settings.map(Self.hash)
        try write { try $0.run("DELETE FROM pocket_trouble WHERE outlet = ? AND settings IS NOT ?", [channel, hash]) }
    }

    package func publisherErrors() throws -> [PublisherError] {
        try all(
            """
            SELECT name AS publisher, trouble AS message, troubleSince AS since,
                (SELECT count(*) FROM drink_change WHERE seq > position) AS waiting
                FROM outlet WHERE isOpen AND trouble IS NOT NULL
            UNION ALL SELECT outlet, words, since,
                (SELECT count(*) FROM pocket_message m WHERE m.outlet = t.outlet AND state = 'waiting')
                FROM pocket_trouble t WHERE outlet IN ('ntfy', 'webhook')
            ORDER BY publisher
            """)
    }

    private static let problemLimit = 2000

    private static func hash(_ settings: String) -> String { String(SHA256.hex(settings.utf8).prefix(16)) }
}
