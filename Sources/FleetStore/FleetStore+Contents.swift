extension FleetStore {
    /// All that is there of one kind, in two numbers: two databases in which they are the same hold the same.
    public struct Content: Hashable, Sendable {
        /// What it is, for people.
        public var name: String
        /// How many there are.
        public var rows: Int
        /// Made of everything in each of them, in whatever order they come.
        public var digest: String
    }

    /// Everything that a backup has to bring back, and the days that follow from it.
    public func contents() throws -> [Content] {
        try Self.kinds.map { name, query in
            let row = try connection.run(
                """
                SELECT count(*), coalesce(sum(('x' || left(md5(t::text), 15))::bit(60)::bigint), 0) FROM \
                (\(query)) AS t
                """
            ).first
            return Content(name: name, rows: Int((row?[0] ?? nil) ?? "") ?? 0, digest: (row?[1] ?? nil) ?? "")
        }
    }

    private static let kinds = [
        (
            "entries by identity",
            """
            SELECT person, key, gateway, store, generation, place, bottle, at, zone, day, ml, deleted, changed, \
            raw, received FROM entry
            """
        ),
        ("drinks that count", "SELECT person, key, at, zone, day, ml FROM drink WHERE NOT deleted AND ml > 0"),
        ("days with their sums", "SELECT person, day, ml, drinks FROM day_total"),
        ("people", "SELECT name, since, boundary FROM person"),
        ("bottles", "SELECT name, person, gateway, told FROM bottle"),
        (
            "gateways and others with a credential",
            """
            SELECT id, name, role, token, enrolled, revoked, last_seen, last_entry, entries, poisoned, wants, people \
            IS NULL,
                (SELECT array_agg(p ORDER BY p) FROM unnest(people) AS p WHERE \(digest("p")) NOT IN (SELECT digest \
            FROM forgotten)) FROM gateway
            """
        ),
        ("stores that tell", "SELECT gateway, store, generation, place FROM teller"),
        ("doubts", "SELECT person, gateway, store, bottle, raw, wall, ml, reason, received FROM doubt"),
        ("lines set aside", "SELECT gateway, digest, line, reason, parked, whose, whole FROM parked"),
        ("lines of the audit", "SELECT id, at, who, what, kind FROM audit"),
        ("people forgotten", "SELECT digest, at FROM forgotten"),
        ("people forgotten or known again", "SELECT digest, id, undone FROM forgetting"),
    ]

    /// Days that are added up otherwise than their entries say.
    public func wrongDays() throws -> Int {
        let row = try connection.run(
            """
            SELECT count(*) FROM (SELECT person, day, ml, drinks FROM day_roll) AS r FULL JOIN day_total t ON t.person \
            = r.person AND t.day = r.day
            WHERE (r.ml, r.drinks) IS DISTINCT FROM (t.ml, t.drinks)
            """
        ).first
        return Int((row?[0] ?? nil) ?? "") ?? 0
    }

    /// Holds one moment for as long as the body runs.
    /// - Parameter body: gets the moment as others can take it over.
    public func atOneMoment<Result>(_ body: (_ snapshot: String) throws -> Result) throws -> Result {
        try connection.transaction {
            try connection.script("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            guard let snapshot = try connection.run("SELECT pg_export_snapshot()").first?.first ?? nil else {
                throw FleetFailure(.broken, "PostgreSQL at \(connection.place) exports no snapshot.")
            }
            return try body(snapshot)
        }
    }
}
