import GRDB
import TrackerCore

extension TrackerStore {
    /// From here on an outlet speaks at this place. What another one keeps of it is left there; what it left here
    /// before is its own again.
    /// - Parameter isHere: whether a place that was noted before is this one.
    package func speak(_ outlet: String, at place: String, isHere: (String) -> Bool) throws {
        func known(_ db: Database) throws -> (place: String?, keepsSomething: Bool, left: [String])? {
            let row = try Row.fetchOne(
                db,
                sql:
                    """
                    SELECT place, EXISTS (SELECT 1 FROM outlet_topic WHERE outlet = name) AS keeps FROM outlet \
                    WHERE name = ?
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
            try db.execute(sql: "UPDATE outlet SET place = ? WHERE name = ?", arguments: [place, outlet])
            for left in before.left where isHere(left) {
                try db.execute(
                    sql:
                        """
                        INSERT INTO outlet_topic (outlet, topic) SELECT name, topic FROM outlet JOIN leaving USING \
                        (id) WHERE name = ? AND leaving.place = ? ON CONFLICT DO NOTHING
                        """,
                    arguments: [outlet, left])
                try db.execute(
                    sql: "DELETE FROM leaving WHERE place = ? AND id = (SELECT id FROM outlet WHERE name = ?)",
                    arguments: [left, outlet])
            }
        }
    }

    /// An outlet speaks nowhere any more: what the other end keeps of it is left there.
    package func leave(_ outlet: String) throws {
        guard try !keptTopics(of: outlet).isEmpty else { return }
        try write { db in try Self.leave(outlet, db) }
    }

    /// What other ends keep of ours and nobody owns any more, by place and id.
    package func leavings() throws -> [Leavings] {
        let rows = try read { db in
            try Row.fetchAll(
                db,
                sql:
                    """
                    SELECT leaving.*, coalesce(seconds, 0) AS seconds FROM leaving LEFT JOIN leaving_tried USING \
                    (place, id) ORDER BY place, id, topic
                    """
            )
        }
        return try rows.reduce(into: []) { all, row in
            let (place, id, topic): (String, String, String) = (
                try row.checked("place"), try row.checked("id"), try row.checked("topic")
            )
            if all.last?.place != place || all.last?.id != id {
                all.append(Leavings(place: place, id: id, topics: [], tried: try row.checked("seconds")))
            }
            all[all.count - 1].topics.append(topic)
        }
    }

    /// It was tried to take them back, for so long more.
    package func noteTried(_ leavings: Leavings, seconds: Int) throws {
        try write { db in
            try db.execute(
                sql:
                    """
                    INSERT INTO leaving_tried (place, id, seconds) VALUES (?, ?, ?) ON CONFLICT (place, id) DO \
                    UPDATE SET seconds = seconds + excluded.seconds
                    """,
                arguments: [leavings.place, leavings.id, seconds])
        }
    }

    /// They are taken back, or given up.
    package func forget(_ leavings: Leavings) throws {
        try write { db in
            try db.execute(
                sql: "DELETE FROM leaving_tried WHERE place = ? AND id = ?", arguments: [leavings.place, leavings.id])
            for topic in leavings.topics {
                try db.execute(
                    sql: "DELETE FROM leaving WHERE place = ? AND id = ? AND topic = ?",
                    arguments: [leavings.place, leavings.id, topic])
            }
        }
    }

    /// - Parameter outlet: `nil`: all of them.
    static func leave(_ outlet: String?, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO leaving (place, id, topic) SELECT coalesce(place, ''), id, topic FROM outlet JOIN \
                outlet_topic ON outlet = name
                    WHERE name = coalesce(?, name) ON CONFLICT DO NOTHING
                """, arguments: [outlet])
        try db.execute(sql: "DELETE FROM outlet_topic WHERE outlet = coalesce(?, outlet)", arguments: [outlet])
    }
}
