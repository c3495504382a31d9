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
    /// Sets the broker's address. Topics at another address become stale. Topics without an address get this one.
    package func setAddress(_ address: String, of name: String) throws {
        let isChange: Bool? = try first(
            """
            SELECT address IS NOT ?2
                OR EXISTS (SELECT 1 FROM stale_topic AS t WHERE t.id = publisher.id AND t.address = '')
            FROM publisher WHERE name = ?1
            """, [name, address])
        guard isChange == true else { return }
        try write { db in
            try db.run("UPDATE publisher SET address = ? WHERE name = ?", [address, name])
            try db.run(
                """
                UPDATE OR REPLACE stale_topic SET address = ?
                WHERE address = '' AND id = (SELECT id FROM publisher WHERE name = ?)
                """, [address, name])
        }
    }

    /// Removes the broker's address, so that all retained topics of a publisher become stale.
    package func markTopicsStale(of name: String) throws {
        guard try read({ try $0.has("FROM publisher WHERE name = ? AND address IS NOT NULL", [name]) }) else { return }
        try write { try $0.run("UPDATE publisher SET address = NULL WHERE name = ?", [name]) }
    }

    /// All topics that no publisher has at its present address, by address and client ID.
    package func staleTopics() throws -> [StaleTopics] {
        try all(
            """
            SELECT address AS brokerAddress, id, json_group_array(topic) AS topics FROM stale_topic
            WHERE NOT EXISTS (
                SELECT 1 FROM publisher AS p
                WHERE p.id = stale_topic.id AND coalesce(p.address, '') = stale_topic.address)
            GROUP BY address, id ORDER BY 1, 2
            """)
    }

    package func delete(_ staleTopics: StaleTopics) throws {
        try write { db in
            for topic in staleTopics.topics {
                try db.run(
                    "DELETE FROM stale_topic WHERE address = ? AND id = ? AND topic = ?",
                    [staleTopics.brokerAddress, staleTopics.id, topic])
            }
        }
    }
}
