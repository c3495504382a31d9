extension FleetStore {
    /// So many days are made anew in one transaction at most, and so many at first: after a long outage millions of
    /// marks may wait, and a statement that takes too long is ended by the database with nothing done.
    static let mostDays = 20_000
    private static let daysAtFirst = 1_000
    private static let fewestDays = 10
    /// A transaction is to take about this long: whoever looks meanwhile waits for it.
    private static let pace = Duration.seconds(1)
    /// So long whoever looks waits at most for what is still to be added up; what is not by then is shown as it was
    /// added up last, and said to be.
    public static let lookLimit = Duration.seconds(1)
    /// On which servers hear that days became others; what is said are people's names as far as there is room, or
    /// nothing.
    public static let channel = "fleet"

    /// Makes those days anew whose entries changed before it was called, in their order, each once. Whoever comes
    /// second waits for the first; what is marked meanwhile is left to whoever comes next, since there may always be
    /// more.
    /// - Parameters:
    ///   - limit: so long at most, also for whoever is at it already; what is left then stays marked. `nil`: until all
    ///     of it is done.
    ///   - person: of whom alone.
    /// - Returns: whose days; and whether that is all of it.
    @discardableResult
    public func refresh(within limit: Duration? = nil, of person: String? = nil) throws -> (
        people: [String], isAll: Bool
    ) {
        let end = limit.map { ContinuousClock.now + $0 }
        var names: Set<ExactText> = [], last: [String?]?
        var people: [String] { ExactText.each(names.map(\.text)) }
        // Who waits for an answer begins small: what does not fit into the time is done for nothing.
        var days = limit == nil ? Self.daysAtFirst : Self.daysAtFirst / 4
        while true {
            let began = ContinuousClock.now
            let rest = end.map { $0 - began }
            if let rest, rest < .milliseconds(1) { return (people, false) }
            do {
                let marks = try refresh(days, after: last, of: person, within: rest)
                names.formUnion(marks.compactMap { $0[0].map(ExactText.init) })
                if marks.count < days { return (people, true) }
                last = marks.last
                let taken = ContinuousClock.now - began
                if taken > Self.pace {
                    days = max(Self.fewestDays, days / 2)
                } else if taken < Self.pace / 4 {
                    days = min(Self.mostDays, days * 2)
                }
            } catch let failure as FleetFailure where failure.kind == .slow && end == nil && days > Self.fewestDays {
                days = max(Self.fewestDays, days / 8)
            } catch let failure as FleetFailure where failure.kind == .slow && end != nil && !connection.isBroken {
                return (people, false)
            }
        }
    }

    /// Makes so many marked days anew.
    /// - Parameter last: person and day behind which it begins; `nil`: at the first.
    /// - Returns: person and day of each, in their order.
    private func refresh(_ most: Int, after last: [String?]?, of person: String?, within limit: Duration?) throws
        -> [[String?]]
    {
        try connection.transaction { () -> [[String?]] in
            if let limit {
                // Each statement of a look is bounded by all that is left of its time; there are a handful, and only
                // one of them can take long.
                let milliseconds =
                    "\(max(1, limit.components.seconds * 1000 + limit.components.attoseconds / 1_000_000_000_000_000))"
                try connection.run(
                    "SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', $1, true)",
                    [milliseconds])
            }
            try connection.run("SELECT pg_advisory_xact_lock(\(Self.rollLock))")
            let marks = try connection.run(
                Self.pick(most, of: person), [last?[0] ?? "", last?[1] ?? "-infinity", person])
            guard !marks.isEmpty else { return [] }
            // A statement of its own: it sees everything that the marks stand for.
            try connection.run(Self.makeAnew, [Self.array(marks.map { $0[0] }), Self.array(marks.map { $0[1] })])
            let names = ExactText.each(marks.compactMap { $0[0] })
            let words = names.joined(separator: "\n")
            if !names.isEmpty {
                try connection.run("SELECT pg_notify($1, $2)", [Self.channel, words.utf8.count < 7000 ? words : ""])
            }
            return marks
        }
    }

    /// Takes marks away, and says which; $1, $2: person and day behind which it begins, $3: of whom. It reads the marks
    /// that it takes, and no others, and does not hang on what the planner knows of so restless a table.
    static func pick(_ most: Int, of person: String?) -> String {
        """
        WITH few AS MATERIALIZED (
            SELECT DISTINCT person, day FROM stale WHERE (person, day) > ($1::text, $2::date) AND \
        \(person == nil ? "$3::text IS NULL" : "person = $3::text")
            ORDER BY person, day LIMIT \(most)
        ), gone AS (
            DELETE FROM stale WHERE ctid = ANY (ARRAY(
                SELECT mark.place FROM few CROSS JOIN LATERAL (SELECT s.ctid AS place FROM stale s WHERE s.person = \
        few.person AND s.day = few.day OFFSET 0) AS mark
            ))
        )
        SELECT person, day FROM few ORDER BY person, day
        """
    }

    /// Whether days of somebody are marked that are not made anew yet.
    public func isBehind(of person: String) throws -> Bool {
        try !connection.run("SELECT 1 FROM stale WHERE person = $1 LIMIT 1", [person]).isEmpty
    }

    /// Throws all days away and makes them from the entries.
    public func rebuild() throws {
        try connection.transaction {
            try connection.run("SELECT pg_advisory_xact_lock(\(Self.rollLock))")
            try addUpAnew()
        }
    }

    /// The same within a transaction.
    func addUpAnew() throws {
        try connection.run("DELETE FROM stale")
        try connection.run("DELETE FROM day_roll")
        try connection.run(
            """
            INSERT INTO day_roll (person, day, ml, drinks, last, zone)
            SELECT person, day, sum(ml), count(*), max(at), (array_agg(zone ORDER BY at DESC, key DESC))[1] FROM drink \
            WHERE NOT deleted AND ml > 0 GROUP BY person, day
            """)
    }

    static let rollLock = FleetSchema.lock + 1

    /// Of the marked days, and of the other days on which any entry of their drinks lies: a drink may have moved from
    /// one to the other.
    ///
    /// Each day and each drink is looked up by itself (LATERAL, with what keeps the planner from making a join of it):
    /// how long it takes hangs on what is marked, and not on how much is there, or on what the planner knows of it.
    static let makeAnew = """
        WITH marked AS (SELECT DISTINCT * FROM unnest($1::text[], $2::date[]) AS mark (person, day)),
        days AS MATERIALIZED (
            SELECT person, day FROM marked
            UNION SELECT marked.person, other.day FROM marked
                CROSS JOIN LATERAL (SELECT e.key FROM entry e WHERE e.person = marked.person AND e.day = marked.day \
        OFFSET 0) AS known
                CROSS JOIN LATERAL (SELECT e.day FROM entry e WHERE e.person = marked.person AND e.key = known.key AND \
        e.day <> marked.day OFFSET 0) AS other
        ),
        keys AS MATERIALIZED (
            SELECT DISTINCT days.person, known.key FROM days CROSS JOIN LATERAL (SELECT e.key FROM entry e WHERE \
        e.person = days.person AND e.day = days.day OFFSET 0) AS known
        ),
        totals AS MATERIALIZED (
            SELECT keys.person, folded.day, sum(ml) AS ml, count(*) AS drinks, max(at) AS last, (array_agg(zone ORDER \
        BY at DESC, keys.key DESC))[1] AS zone
            FROM keys CROSS JOIN LATERAL (
                SELECT e.day, e.ml, e.deleted, e.at, e.zone FROM entry e WHERE e.person = keys.person AND e.key = \
        keys.key
                ORDER BY e.deleted DESC, e.changed DESC, e.gateway, e.store LIMIT 1
            ) AS folded JOIN days ON days.person = keys.person AND days.day = folded.day
            WHERE NOT deleted AND ml > 0 GROUP BY keys.person, folded.day
        ),
        gone AS (
            DELETE FROM day_roll r USING days WHERE r.person = days.person AND r.day = days.day
                AND NOT EXISTS (SELECT 1 FROM totals WHERE totals.person = r.person AND totals.day = r.day)
        )
        INSERT INTO day_roll (person, day, ml, drinks, last, zone) SELECT person, day, ml, drinks, last, zone FROM \
        totals
        ON CONFLICT (person, day) DO UPDATE SET ml = excluded.ml, drinks = excluded.drinks, last = excluded.last, zone \
        = excluded.zone
        """
}
