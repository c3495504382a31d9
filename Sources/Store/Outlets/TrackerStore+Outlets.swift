import GRDB
import TrackerCore

extension TrackerStore {
    /// Makes sure of an outlet. One that is new, or was closed, begins with what is stored from now on.
    /// - Parameter tellsAll: one that is new begins with everything that is stored: of a store that was purged under it
    ///   all of that is news.
    package func openOutlet(_ name: String, tellsAll: Bool = false, makeID: () -> String) throws -> Outlet {
        if let known = try read({ db in try Self.outlet(name, db) }) { return known }
        return try write { db in
            if let known = try Self.outlet(name, db) { return known }
            let isAnew =
                try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM outlet WHERE name = ?)", arguments: [name])
                == false
            try beginTold(name, from: tellsAll && isAnew ? 0 : nil, db)
            if tellsAll, isAnew {
                try db.execute(
                    sql: "INSERT INTO outlet (name, id, position) VALUES (?, ?, 0)", arguments: [name, makeID()])
                // What was put back since is no news.
                try db.execute(
                    sql:
                        """
                        INSERT INTO drink_change (key) SELECT key FROM drink WHERE born > coalesce((SELECT putBack \
                        FROM drink_sequence), 0) ORDER BY id ON CONFLICT (key) DO NOTHING
                        """
                )
            }
            try db.execute(
                sql: """
                    INSERT INTO outlet (name, id, position) VALUES (?, ?, coalesce((SELECT seq FROM sqlite_sequence \
                    WHERE name = 'drink_change'), 0))
                    ON CONFLICT (name) DO UPDATE SET position = iif(isOpen, position, excluded.position), isOpen = 1
                    """, arguments: [name, makeID()])
            guard let outlet = try Self.outlet(name, db) else {
                preconditionFailure("the outlet \(name) was written in this very transaction")
            }
            return outlet
        }
    }

    /// Nothing is noted for it any more; who it is, and what the other end keeps of ours, stays known.
    /// - Parameter limit: so many changes that it has not got yet keep it open; more do not.
    /// - Returns: whether it was open and is not any more.
    @discardableResult
    package func closeOutlet(_ name: String, sparing limit: Int = 0) throws -> Bool {
        guard try read({ db in try Self.outlet(name, db) }) != nil else { return false }
        if limit > 0, (1...limit).contains(try waiting(for: name)) { return false }
        try write { db in
            try db.execute(sql: "UPDATE outlet SET isOpen = 0 WHERE name = ?", arguments: [name])
            try db.execute(sql: "DELETE FROM told_through WHERE outlet = ?", arguments: [name])
            try Self.prune(db)
        }
        return true
    }

    /// Whether changes are kept for this outlet.
    package func isOutletOpen(_ name: String) throws -> Bool { try read { db in try Self.outlet(name, db) } != nil }

    /// What an outlet has not got yet, in order, so many at most.
    package func changes(for outlet: String, limit: Int) throws -> [DrinkChange] {
        try read { db in
            let statement = try db.cachedStatement(
                sql: """
                    SELECT \(StoredDrink.columns), changed.seq AS changeSeq, changed.key AS changeKey
                    FROM (\(Self.changed) ORDER BY seq LIMIT :limit) AS changed LEFT JOIN drink ON drink.key = \
                    changed.key ORDER BY changed.seq
                    """)
            return try Row.fetchAll(
                statement, arguments: ["outlet": outlet, "limit": limit]
            ).map { row in
                // A row that nobody can read is told as gone: it counts nowhere, and the doctor names it.
                let drink = try? StoredDrink(row: row)
                return DrinkChange(
                    sequence: try row.checked("changeSeq"), key: try row.checked("changeKey"), drink: drink)
            }
        }
    }

    /// How many changes an outlet has not got yet.
    package func waiting(for outlet: String) throws -> Int {
        try read { db in
            try Int.fetchOne(
                db, sql: "SELECT count(*) FROM (\(Self.changed))", arguments: ["outlet": outlet]) ?? 0
        }
    }

    /// The changes that an outlet has not got yet.
    private static let changed =
        "SELECT key, seq FROM drink_change WHERE seq > (SELECT position FROM outlet WHERE name = :outlet)"

    /// All changes up to this one have arrived; what every outlet has is forgotten.
    package func delivered(_ outlet: String, through sequence: Int64) throws {
        try write { db in
            try db.execute(
                sql: "UPDATE outlet SET position = max(position, ?) WHERE name = ?", arguments: [sequence, outlet])
            try Self.prune(db)
        }
    }

    /// The sum of all drinks that count, or the largest that was told of it before: a meter never runs backwards.
    package func lifetime(for outlet: String) throws -> Int {
        let (sum, told) = try read { db in
            (
                try Int.fetchOne(db, sql: "SELECT coalesce(sum(ml), 0) FROM drink WHERE \(DrinkTable.counts)") ?? 0,
                try Int.fetchOne(db, sql: "SELECT lifetimeMl FROM outlet WHERE name = ?", arguments: [outlet]) ?? 0
            )
        }
        guard sum > told else { return told }
        try write { db in
            try db.execute(
                sql: "UPDATE outlet SET lifetimeMl = max(lifetimeMl, ?) WHERE name = ?", arguments: [sum, outlet])
        }
        return sum
    }

    // MARK: - What the other end keeps

    /// Topics at which the other end keeps something of ours.
    package func keptTopics(of outlet: String) throws -> [String] {
        try read { db in
            try String.fetchAll(
                db, sql: "SELECT topic FROM outlet_topic WHERE outlet = ? ORDER BY topic", arguments: [outlet])
        }
    }

    /// Before something is sent there that is kept, so that it can be taken back whatever happens.
    package func noteKept(_ topics: [String], of outlet: String) throws {
        let known = Set(try keptTopics(of: outlet))
        let new = topics.filter { !known.contains($0) }
        guard !new.isEmpty else { return }
        try write { db in
            for topic in new {
                try db.execute(
                    sql:
                        """
                        INSERT INTO outlet_topic (outlet, topic) SELECT name, ? FROM outlet WHERE name = ? ON \
                        CONFLICT DO NOTHING
                        """,
                    arguments: [topic, outlet])
            }
        }
    }

    /// Once the other end keeps nothing there any more.
    package func forgetKept(_ topics: [String], of outlet: String) throws {
        guard !topics.isEmpty else { return }
        try write { db in
            for topic in topics {
                try db.execute(
                    sql: "DELETE FROM outlet_topic WHERE outlet = ? AND topic = ?", arguments: [outlet, topic])
            }
        }
    }

    // MARK: - Parts

    private static func outlet(_ name: String, _ db: Database) throws -> Outlet? {
        try Row.fetchOne(db, sql: "SELECT * FROM outlet WHERE name = ? AND isOpen", arguments: [name]).map {
            Outlet(name: name, id: try $0.checked("id"), position: try $0.checked("position"))
        }
    }

    private static func prune(_ db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM drink_change WHERE seq <= coalesce((SELECT min(position) FROM outlet WHERE isOpen), \
                9223372036854775807)
                """)
    }
}
