import GRDB
import TrackerCore

/// Stale retained topics at a broker, which a service deletes.
package struct StaleTopics: Hashable, Sendable {
    /// The broker's address; empty if unknown.
    package var place: String
    /// The client ID that published them.
    package var id: String
    package var topics: [String]
    /// The seconds of attempts to delete them.
    package var tried: Int

    package init(place: String, id: String, topics: [String], tried: Int = 0) {
        (self.place, self.id, self.topics, self.tried) = (place, id, topics, tried)
    }
}

extension TrackerStore {
    /// Sets the broker's address. Topics at the old address become stale. Those at the new address are no longer stale.
    /// - Parameter isHere: whether a stored address is the new one.
    package func speak(_ outlet: String, at place: String, isHere: (String) -> Bool) throws {
        func known(_ db: Database) throws -> (place: String?, keepsSomething: Bool, left: [String])? {
            let row = try Row.fetchOne(
                db,
                sql: """
                    SELECT place, EXISTS (SELECT 1 FROM outlet_topic WHERE outlet = name) AS keeps FROM outlet WHERE
                    name = ?
                    """,
                arguments: [outlet])
            return try row.map {
                (
                    try $0.checked("place"), try $0.checked("keeps"),
                    try String.fetchAll(
                        db, sql: "SELECT DISTINCT place FROM leaving WHERE id = (SELECT id FROM outlet WHERE name = ?)",
                        arguments: [outlet])
                )
            }
        }
        guard let before = try read(known), before.place != place || before.left.contains(where: isHere) else { return }
        try write { db in
            guard let before = try known(db) else { return }
            if let old = before.place, !isHere(old), before.keepsSomething { try Self.leave(outlet, db) }
            try db.run("UPDATE outlet SET place = ? WHERE name = ?", [place, outlet])
            for left in before.left where isHere(left) {
                try db.run(
                    """
                    INSERT INTO outlet_topic (outlet, topic) SELECT name, topic FROM outlet JOIN leaving USING
                    (id) WHERE name = ? AND leaving.place = ? ON CONFLICT DO NOTHING
                    """, [outlet, left])
                try db.run(
                    "DELETE FROM leaving WHERE place = ? AND id = (SELECT id FROM outlet WHERE name = ?)",
                    [left, outlet])
            }
        }
    }

    /// Marks all retained topics of a publisher as stale.
    package func leave(_ outlet: String) throws {
        guard try !keptTopics(of: outlet).isEmpty else { return }
        try write { db in try Self.leave(outlet, db) }
    }

    /// All stale topics, by address and client ID.
    package func leavings() throws -> [StaleTopics] {
        let rows = try read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT leaving.*, coalesce(seconds, 0) AS seconds FROM leaving LEFT JOIN leaving_tried USING
                    (place, id) ORDER BY place, id, topic
                    """
            )
        }
        return try rows.reduce(into: []) { all, row in
            let (place, id, topic): (String, String, String) = (
                try row.checked("place"), try row.checked("id"), try row.checked("topic")
            )
            if all.last?.place != place || all.last?.id != id {
                all.append(StaleTopics(place: place, id: id, topics: [], tried: try row.checked("seconds")))
            }
            all[all.count - 1].topics.append(topic)
        }
    }

    package func noteTried(_ leavings: StaleTopics, seconds: Int) throws {
        try write { db in
            try db.run(
                """
                INSERT INTO leaving_tried (place, id, seconds) VALUES (?, ?, ?) ON CONFLICT (place, id) DO UPDATE
                SET seconds = seconds + excluded.seconds
                """, [leavings.place, leavings.id, seconds])
        }
    }

    package func forget(_ leavings: StaleTopics) throws {
        try write { db in
            try db.run("DELETE FROM leaving_tried WHERE place = ? AND id = ?", [leavings.place, leavings.id])
            for topic in leavings.topics {
                try db.run(
                    "DELETE FROM leaving WHERE place = ? AND id = ? AND topic = ?",
                    [leavings.place, leavings.id, topic])
            }
        }
    }

    /// - Parameter outlet: `nil` for all.
    static func leave(_ outlet: String?, _ db: Database) throws {
        try db.run(
            """
            INSERT INTO leaving (place, id, topic) SELECT coalesce(place, ''), id, topic FROM outlet JOIN
            outlet_topic ON outlet = name WHERE name = coalesce(?, name) ON CONFLICT DO NOTHING
            """, [outlet])
        try db.run("DELETE FROM outlet_topic WHERE outlet = coalesce(?, outlet)", [outlet])
    }
}
