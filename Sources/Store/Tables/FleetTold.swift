import GRDB

/// Which drinks the fleet was told, in the store's tables.
enum FleetTold {
    /// The fleet's outlet.
    static let outlet = "fleet"

    /// Whether changes are kept for it, and a fingerprint of whom it tells, where it has told anybody since it was
    /// opened.
    static func standing(_ db: Database) throws -> (isOpen: Bool, peer: String?) {
        guard let row = try Row.fetchOne(db, sql: "SELECT peer FROM outlet WHERE name = '\(outlet)' AND isOpen") else {
            return (false, nil)
        }
        return (true, try row.checked("peer"))
    }

    /// Those that are there, in the order in which they came, and what stands instead of one of them: its amount may
    /// have been put right while the fleet was off. What is not there any more stays as it was told: of that the fleet
    /// may have the only copy.
    static let thatAreThere = """
        SELECT key, id AS n FROM main.drink WHERE key IN (\(told)) OR instead IN (\(told)) OR instead IN (SELECT \
        instead FROM main.drink WHERE instead IS NOT NULL AND key IN (\(told)))
        """

    /// Whom the outlet tells now was told these, and nobody else is told of them.
    static let told =
        "SELECT key FROM main.fleet_told WHERE peer = (SELECT peer FROM main.outlet WHERE name = '\(outlet)')"

    /// Whether the outlet tells this one already, or nobody.
    static func isTold(_ peer: String, _ db: Database) throws -> Bool {
        let (isOpen, known) = try standing(db)
        return !isOpen || known == peer
    }

    /// It tells this one from here on; what this one was told before waits again.
    static func tell(_ peer: String, _ db: Database) throws {
        guard try !isTold(peer, db) else { return }
        if try standing(db).peer != nil { try db.execute(sql: "DELETE FROM fleet_again") }
        try db.execute(sql: "UPDATE outlet SET peer = ? WHERE name = '\(outlet)'", arguments: [peer])
        try db.execute(sql: "UPDATE fleet_told SET peer = ? WHERE peer = ''", arguments: [peer])
        try tellAgain(thatAreThere, db)
    }

    /// They wait at new places, behind everything that was ever told.
    /// - Parameter selection: columns `key`, and `n` by which they are ordered.
    static func tellAgain(_ selection: String, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO main.sqlite_sequence (name, seq) SELECT 'drink_change', 0 WHERE NOT EXISTS (SELECT 1 FROM \
                main.sqlite_sequence WHERE name = 'drink_change');
                INSERT INTO main.fleet_again (key, seq)
                    SELECT key, (SELECT seq FROM main.sqlite_sequence WHERE name = 'drink_change') + row_number() OVER \
                (ORDER BY n, key) FROM (\(selection)) WHERE true
                    ON CONFLICT (key) DO UPDATE SET seq = excluded.seq;
                UPDATE main.sqlite_sequence SET seq = max(seq, coalesce((SELECT max(seq) FROM main.fleet_again), 0)) \
                WHERE name = 'drink_change'
                """)
    }

    /// All of it up to here is noted.
    static func note(through sequence: Int64, _ db: Database) throws {
        try db.execute(
            sql:
                """
                INSERT INTO fleet_told (key, peer) \(waiting) ON CONFLICT (key) DO UPDATE SET peer = excluded.peer \
                WHERE peer <> excluded.peer
                """,
            arguments: [sequence])
    }

    /// Whether something up to here is not noted.
    static func lacks(through sequence: Int64, _ db: Database) throws -> Bool {
        let sql =
            """
            SELECT EXISTS (SELECT 1 FROM (\(waiting)) AS waits WHERE NOT EXISTS (SELECT 1 FROM fleet_told AS told \
            WHERE told.key = waits.key AND told.peer = waits.peer))
            """
        return try Bool.fetchOne(db, sql: sql, arguments: [sequence]) ?? false
    }

    private static let waiting = """
        SELECT key, coalesce(peer, '') AS peer FROM (SELECT key, seq FROM drink_change UNION ALL SELECT key, seq FROM \
        fleet_again), outlet
            WHERE name = '\(outlet)' AND seq > position AND seq <= ?
        """
}
