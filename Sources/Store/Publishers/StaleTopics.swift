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
            SELECT place IS NOT ?2 OR EXISTS (SELECT 1 FROM leaving WHERE leaving.id = outlet.id AND leaving.place = '')
            FROM outlet WHERE name = ?1
            """, [name, address])
        guard isChange == true else { return }
        try write { db in
            try db.run("UPDATE outlet SET place = ? WHERE name = ?", [address, name])
            try db.run(
                """
                UPDATE OR REPLACE leaving SET place = ?
                WHERE place = '' AND id = (SELECT id FROM outlet WHERE name = ?)
                """, [address, name])
        }
    }

    /// Removes the broker's address, so that all retained topics of a publisher become stale.
    package func markTopicsStale(of name: String) throws {
        guard try read({ try $0.has("FROM outlet WHERE name = ? AND place IS NOT NULL", [name]) }) else { return }
        try write { try $0.run("UPDATE outlet SET place = NULL WHERE name = ?", [name]) }
    }

    /// All topics that no publisher has at its present address, by address and client ID.
    package func staleTopics() throws -> [StaleTopics] {
        try all(
            """
            SELECT place AS brokerAddress, id, json_group_array(topic) AS topics FROM leaving
            WHERE NOT EXISTS (
                SELECT 1 FROM outlet WHERE outlet.id = leaving.id AND coalesce(outlet.place, '') = leaving.place)
            GROUP BY place, id ORDER BY 1, 2
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
}
