import GRDB
import TrackerCore

/// Stale retained topics at a broker, which a service deletes.
package struct StaleTopics: Hashable, Sendable, Decodable, FetchableRecord {
    /// The broker's address; empty if unknown.
    package var brokerAddress: String
    /// The client ID that published the topics.
    package var id: String
    package var topics: [String]
}

extension TrackerStore {
    /// Sets the broker's address. Topics at the old address become stale. Those at the new address, or at an unknown
    /// one, are no longer stale.
    package func setAddress(_ address: String, of name: String) throws {
        let isChange: Bool? = try first(
            """
            SELECT place IS NOT ?2 OR EXISTS (
                SELECT 1 FROM leaving WHERE leaving.id = outlet.id AND leaving.place IN ('', ?2)
            ) FROM outlet WHERE name = ?1
            """, [name, address])
        guard isChange == true else { return }
        try write { db in
            let old: String? = try db.first("SELECT place FROM outlet WHERE name = ?", [name])
            if let old, !["", address].contains(old) { try Self.markTopicsStale(of: name, db) }
            try db.run("UPDATE outlet SET place = ? WHERE name = ?", [address, name])
            try db.run(
                """
                INSERT OR IGNORE INTO outlet_topic (outlet, topic)
                    SELECT name, topic FROM outlet JOIN leaving USING (id)
                    WHERE name = ? AND leaving.place IN ('', ?)
                """, [name, address])
            try db.run(
                "DELETE FROM leaving WHERE place IN ('', ?) AND id = (SELECT id FROM outlet WHERE name = ?)",
                [address, name])
        }
    }

    /// Marks all retained topics of a publisher as stale.
    package func markTopicsStale(of name: String) throws {
        guard try !retainedTopics(of: name).isEmpty else { return }
        try write { db in try Self.markTopicsStale(of: name, db) }
    }

    /// All stale topics, by address and client ID.
    package func staleTopics() throws -> [StaleTopics] {
        try all(
            """
            SELECT place AS brokerAddress, id, json_group_array(topic) AS topics FROM leaving GROUP BY place, id
            ORDER BY 1, 2
            """)
    }

    package func delete(_ staleTopics: StaleTopics) throws {
        try write { db in
            for topic in staleTopics.topics {
                try db.run(
                    "DELETE FROM leaving WHERE place = ? AND id = ? AND topic = ?",
                    [staleTopics.brokerAddress, staleTopics.id, topic])
            }
        }
    }

    /// Marks all retained topics of a publisher as stale.
    /// - Parameter name: `nil` for all.
    static func markTopicsStale(of name: String?, _ db: Database) throws {
        try db.run(
            """
            INSERT OR IGNORE INTO leaving (place, id, topic) SELECT coalesce(place, ''), id, topic
                FROM outlet JOIN outlet_topic ON outlet = name WHERE name = coalesce(?, name)
            """, [name])
        try db.run("DELETE FROM outlet_topic WHERE outlet = coalesce(?, outlet)", [name])
    }
}
