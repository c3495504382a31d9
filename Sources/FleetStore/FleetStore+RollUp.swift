extension FleetStore {
    /// So many days are made anew in one transaction at most, and so many at first: after a long outage millions of marks may wait, and a statement that takes
    /// too long is ended by the database with nothing done.
    static let mostDays = 20_000
    private static let daysAtFirst = 1_000
    private static let fewestDays = 10
    /// A transaction is to take about this long: whoever looks meanwhile waits for it.
    private static let pace = Duration.seconds(1)
    /// Of so many marks the days are picked: each of them once, however often it was marked.
    private static let markLimit = 200_000
    /// On which servers hear that days became others; what is said are people's names as far as there is room, or nothing.
    public static let channel = "fleet"

    /// Makes those days anew whose entries changed before it was called. Whoever comes second waits for the first; what is marked meanwhile is left to whoever comes
    /// next, since there may always be more.
    /// - Returns: whose days.
    @discardableResult
    public func refresh() throws -> Set<String> {
        var people: Set<String> = []
        var days = Self.daysAtFirst
        while true {
            guard try !connection.run("SELECT 1 FROM stale LIMIT 1").isEmpty else { return people }
            let began = ContinuousClock.now
            do {
                let (marks, isAll) = try refresh(days)
                people.formUnion(marks.compactMap { $0[0] })
                if isAll { return people }
                let taken = ContinuousClock.now - began
                if taken > Self.pace { days = max(Self.fewestDays, days / 2) } else if taken < Self.pace / 4 { days = min(Self.mostDays, days * 2) }
            } catch let failure as FleetFailure where failure.kind == .slow && days > Self.fewestDays {
                days = max(Self.fewestDays, days / 8)
            }
        }
    }

    /// Makes so many marked days anew.
    /// - Returns: person and day of each; and whether these were all that were marked when it began.
    private func refresh(_ most: Int) throws -> (marks: [[String?]], isAll: Bool) {
        try connection.transaction { () -> ([[String?]], Bool) in
            try connection.run("SELECT pg_advisory_xact_lock(\(Self.rollLock))")
            let marks = try connection.run("""
                WITH marks AS MATERIALIZED (SELECT person, day FROM stale LIMIT \(Self.markLimit)),
                few AS MATERIALIZED (SELECT DISTINCT person, day FROM marks LIMIT \(most)),
                gone AS (DELETE FROM stale USING few WHERE stale.person = few.person AND stale.day = few.day)
                SELECT person, day, (SELECT count(*) FROM marks) < \(Self.markLimit) FROM few
                """)
            // A statement of its own: it sees everything that the marks stand for.
            try connection.run(Self.makeAnew, [Self.array(marks.map { $0[0] }), Self.array(marks.map { $0[1] })])
            let names = Set(marks.compactMap { $0[0] })
            let words = names.sorted().joined(separator: "\n")
            if !names.isEmpty { try connection.run("SELECT pg_notify($1, $2)", [Self.channel, words.utf8.count < 7000 ? words : ""]) }
            return (marks, marks.count < most && marks.allSatisfy { $0[2] == "t" })
        }
    }

    /// Throws all days away and makes them from the entries.
    public func rebuild() throws {
        try connection.transaction {
            try connection.run("SELECT pg_advisory_xact_lock(\(Self.rollLock))")
            try connection.run("DELETE FROM stale")
            try connection.run("DELETE FROM day_roll")
            try connection.run("""
                INSERT INTO day_roll (person, day, ml, drinks, last, zone)
                SELECT person, day, sum(ml), count(*), max(at), (array_agg(zone ORDER BY at DESC, key DESC))[1] FROM drink WHERE NOT deleted AND ml > 0 GROUP BY person, day
                """)
        }
    }

    static let rollLock = FleetSchema.lock + 1

    /// Of the marked days, and of the other days on which any entry of their drinks lies: a drink may have moved from one to the other.
    ///
    /// Each day and each drink is looked up by itself (LATERAL, with what keeps the planner from making a join of it): how long it takes hangs on what is marked, and not
    /// on how much is there, or on what the planner knows of it.
    static let makeAnew = """
        WITH marked AS (SELECT DISTINCT * FROM unnest($1::text[], $2::date[]) AS mark (person, day)),
        days AS MATERIALIZED (
            SELECT person, day FROM marked
            UNION SELECT marked.person, other.day FROM marked
                CROSS JOIN LATERAL (SELECT e.key FROM entry e WHERE e.person = marked.person AND e.day = marked.day OFFSET 0) AS known
                CROSS JOIN LATERAL (SELECT e.day FROM entry e WHERE e.person = marked.person AND e.key = known.key AND e.day <> marked.day OFFSET 0) AS other
        ),
        keys AS MATERIALIZED (
            SELECT DISTINCT days.person, known.key FROM days CROSS JOIN LATERAL (SELECT e.key FROM entry e WHERE e.person = days.person AND e.day = days.day OFFSET 0) AS known
        ),
        totals AS MATERIALIZED (
            SELECT keys.person, folded.day, sum(ml) AS ml, count(*) AS drinks, max(at) AS last, (array_agg(zone ORDER BY at DESC, keys.key DESC))[1] AS zone
            FROM keys CROSS JOIN LATERAL (
                SELECT e.day, e.ml, e.deleted, e.at, e.zone FROM entry e WHERE e.person = keys.person AND e.key = keys.key
                ORDER BY e.deleted DESC, e.changed DESC, e.gateway, e.store LIMIT 1
            ) AS folded JOIN days ON days.person = keys.person AND days.day = folded.day
            WHERE NOT deleted AND ml > 0 GROUP BY keys.person, folded.day
        ),
        gone AS (
            DELETE FROM day_roll r USING days WHERE r.person = days.person AND r.day = days.day
                AND NOT EXISTS (SELECT 1 FROM totals WHERE totals.person = r.person AND totals.day = r.day)
        )
        INSERT INTO day_roll (person, day, ml, drinks, last, zone) SELECT person, day, ml, drinks, last, zone FROM totals
        ON CONFLICT (person, day) DO UPDATE SET ml = excluded.ml, drinks = excluded.drinks, last = excluded.last, zone = excluded.zone
        """
}
