import GRDB
import TrackerCore

/// A publisher of drink changes, for example MQTT. It sends each change at least once, in order.
package struct Publisher: Hashable, Sendable, Decodable, FetchableRecord {
    package var name: String
    /// The client ID of this store, created once.
    package var id: String
    /// The position of the last change that the publisher confirmed.
    package var position: Int64
}

/// A change of a drink that waits for a publisher.
package struct DrinkChange: Hashable, Sendable {
    /// The position in the sequence of drink changes.
    package var sequence: Int64
    package var key: String
    /// The drink after the change, with `isDeleted` if it is deleted; `nil` if the store no longer has it.
    package var drink: StoredDrink?

    package init(sequence: Int64, key: String, drink: StoredDrink?) {
        (self.sequence, self.key, self.drink) = (sequence, key, drink)
    }
}

extension TrackerStore {
    /// Opens a publisher. A new or reopened one starts with the next change.
    /// - Parameter includesStored: whether a new publisher first sends all stored drinks, for example after a purge.
    package func openPublisher(_ name: String, includesStored: Bool = false, makeID: () -> String) throws -> Publisher {
        if let known = try read({ db in try Self.publisher(name, db) }) { return known }
        return try write { db in
            if let known = try Self.publisher(name, db) { return known }
            if try db.has("FROM publisher WHERE name = ?", [name]) {
                // Changes were not recorded while the publisher was closed: no earlier position is valid now.
                try db.run("INSERT INTO drink_change (key) VALUES ('')")
                try db.run("DELETE FROM drink_change WHERE key = ''")
            }
            let sendsAll = try includesStored && !db.has("FROM publisher WHERE name = ?", [name])
            try addChannel(name, from: sendsAll ? 0 : nil, db)
            if sendsAll {
                // Changes that were reverted since are not sent.
                try db.run(
                    """
                    INSERT INTO drink_change (key) SELECT key FROM drink
                        WHERE firstPosition > coalesce((SELECT restoredThrough FROM drink_sequence), 0) ORDER BY id
                        ON CONFLICT (key) DO NOTHING
                    """)
            }
            try db.run(
                """
                INSERT INTO publisher (name, id, position) VALUES (?, ?, iif(?, 0,
                coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'drink_change'), 0)))
                ON CONFLICT (name) DO UPDATE SET position = iif(isOpen, position, excluded.position), isOpen = 1
                """, [name, makeID(), sendsAll])
            guard let publisher = try Self.publisher(name, db) else {
                preconditionFailure("publisher \(name) is missing, although this transaction wrote it")
            }
            return publisher
        }
    }

    /// Stops recording changes for a publisher. Its identity and its retained topics stay known.
    /// - Parameter limit: a publisher with 1 to `limit` waiting changes stays open.
    /// - Returns: whether the publisher was open and is closed now.
    @discardableResult
    package func closePublisher(_ name: String, unlessWaitingAtMost limit: Int = 0) throws -> Bool {
        guard try read({ db in try Self.publisher(name, db) }) != nil else { return false }
        if limit > 0, (1...limit).contains(try waitingChanges(for: name)) { return false }
        try write { db in
            try db.run("UPDATE publisher SET isOpen = 0 WHERE name = ?", [name])
            try db.run("DELETE FROM channel_position WHERE channel = ?", [name])
            try Self.prune(db)
        }
        return true
    }

    package func isPublisherOpen(_ name: String) throws -> Bool {
        try read { db in try Self.publisher(name, db) } != nil
    }

    package func changes(for name: String, limit: Int) throws -> [DrinkChange] {
        try read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT \(StoredDrink.columns), changed.seq AS changeSeq, changed.key AS changeKey
                    FROM (\(Self.changed) ORDER BY seq LIMIT :limit) AS changed
                        LEFT JOIN drink ON drink.key = changed.key
                    ORDER BY changed.seq
                    """, arguments: ["publisher": name, "limit": limit])
            return try rows.map { row in
                DrinkChange(
                    sequence: try row.decode(forColumn: "changeSeq"), key: try row.decode(forColumn: "changeKey"),
                    drink: try row.decode(Int64?.self, atIndex: 0).map { _ in try StoredDrink(row: row) })
            }
        }
    }

    package func waitingChanges(for name: String) throws -> Int {
        try first("SELECT count(*) FROM (\(Self.changed))", ["publisher": name]) ?? 0
    }

    /// The position of the newest change that was recorded for publishers.
    package func lastChange() throws -> Int64 {
        try first("SELECT seq FROM sqlite_sequence WHERE name = 'drink_change'") ?? 0
    }

    /// The drinks that count, by number, for a publisher that sends the whole store.
    package func countedDrinks(after number: Int64, limit: Int) throws -> [StoredDrink] {
        try all(
            "SELECT \(StoredDrink.columns) FROM drink WHERE id > ? AND deleted = 0 AND ml > 0 ORDER BY id LIMIT ?",
            [number, limit])
    }

    private static let changed =
        "SELECT key, seq FROM drink_change WHERE seq > (SELECT position FROM publisher WHERE name = :publisher)"

    /// Confirms all changes up to a position, and deletes those that every publisher has confirmed.
    package func confirmChanges(of name: String, through sequence: Int64) throws {
        try write { db in
            try db.run("UPDATE publisher SET position = max(position, ?) WHERE name = ?", [sequence, name])
            try Self.prune(db)
        }
    }

    /// The sum of all drinks; never less than a sum that was sent before, because a meter must not decrease.
    package func lifetimeTotal(for name: String) throws -> Int {
        let sum: Int = try first("SELECT coalesce(sum(ml), 0) FROM drink WHERE deleted = 0") ?? 0
        let sent: Int = try first("SELECT lifetimeMl FROM publisher WHERE name = ?", [name]) ?? 0
        guard sum > sent else { return sent }
        try write { db in
            try db.run("UPDATE publisher SET lifetimeMl = max(lifetimeMl, ?) WHERE name = ?", [sum, name])
        }
        return sum
    }

    // MARK: - Retained topics

    package func retainedTopics(of name: String) throws -> [String] {
        try all("SELECT topic FROM stale_topic WHERE \(Self.isCurrent) ORDER BY topic", ["publisher": name])
    }

    /// Records retained topics before they are published, so that they can be deleted later.
    package func recordRetained(_ topics: [String], of name: String) throws {
        try write { db in
            for topic in topics {
                try db.run(
                    """
                    INSERT OR IGNORE INTO stale_topic (address, id, topic)
                    SELECT coalesce(address, ''), id, ? FROM publisher WHERE name = ?
                    """, [topic, name])
            }
        }
    }

    package func deleteRetained(_ topics: [String], of name: String) throws {
        guard !topics.isEmpty else { return }
        try write { db in
            for topic in topics {
                try db.run(
                    "DELETE FROM stale_topic WHERE topic = :topic AND \(Self.isCurrent)",
                    ["topic": topic, "publisher": name])
            }
        }
    }

    /// The condition for topics at the present address of a publisher.
    static let isCurrent = "(address, id) IN (SELECT coalesce(address, ''), id FROM publisher WHERE name = :publisher)"

    // MARK: - Helpers

    private static func publisher(_ name: String, _ db: Database) throws -> Publisher? {
        try db.first("SELECT * FROM publisher WHERE name = ? AND isOpen", [name])
    }

    private static func prune(_ db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM drink_change WHERE seq <= coalesce((SELECT min(position) FROM publisher WHERE isOpen),
                9223372036854775807)
                """)
    }
}
