extension FleetStore {
    /// Takes everything out that is known of a person, and keeps the SHA-256 of the name only: what gateways tell of them from then on is passed over.
    /// - Returns: `false` where nobody goes by that name and nobody may tell of them.
    public func forget(_ person: String, by who: String? = nil) throws -> Bool {
        try connection.transaction {
            try connection.run("SELECT pg_advisory_xact_lock(\(Self.rollLock))")
            // A batch that is under way is waited for, and the next finds it forgotten.
            try connection.run("SELECT pg_advisory_xact_lock(\(Self.batchLock))")
            let known = try connection.run("""
                SELECT 1 WHERE EXISTS (SELECT 1 FROM person WHERE name = $1) OR EXISTS (SELECT 1 FROM gateway WHERE name = $1 OR wants = $1 OR $1 = ANY (people))
                """, [person])
            guard !known.isEmpty else { return false }
            try connection.run("INSERT INTO forgotten (digest) VALUES (\(Self.digest("$1"))) ON CONFLICT DO NOTHING", [person])
            for table in ["entry", "doubt", "day_roll", "stale", "bottle"] { try connection.run("DELETE FROM \(table) WHERE person = $1", [person]) }
            // The trigger's marks of what has just gone.
            try connection.run("DELETE FROM stale WHERE person = $1", [person])
            try connection.run("DELETE FROM person WHERE name = $1", [person])
            try connection.run("UPDATE gateway SET people = array_remove(people, $1), wants = nullif(wants, $1) WHERE wants = $1 OR $1 = ANY (people)", [person])
            // What was set aside may hold a name anywhere in it; a short name stands in other words, too, and these are nobody's.
            let pattern = Self.pattern(person)
            try connection.run("DELETE FROM parked WHERE line ~ $1 OR reason ~ $1", ["(^|[^[:alnum:]])\(pattern)($|[^[:alnum:]])"])
            // Of the audit the name goes where a list of people names it, and nothing else: who did what, and to whom else, stays.
            try connection.run(#"UPDATE audit SET what = regexp_replace(what, $1, '\1(a person was forgotten)') WHERE kind <> 'change' AND what ~ $1"#, [
                "((?:^looked at |^told [0-9]+ (?:doubts )?of |, ))\(pattern)(?=$|, | and [0-9]+ more$)"
            ])
            try connection.run(#"UPDATE audit SET what = regexp_replace(what, $1, '\1(a person was forgotten)') WHERE what ~ $1 AND NOT EXISTS (SELECT 1 FROM gateway WHERE name = $2)"#, [
                "((?: of | for |, ))\(pattern)(?=$|, )", person,
            ])
            try connection.run("SELECT pg_notify($1, '')", [Self.channel])
            try note("a person was forgotten", kind: .change, by: who)
            return true
        }
    }

    /// Held by every batch, together; and alone by who forgets.
    static let batchLock = FleetSchema.lock + 2

    /// What only that text matches, as PostgreSQL reads a regular expression.
    private static func pattern(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.flatMap { scalar in
            scalar.isASCII && !scalar.properties.isAlphabetic && !("0"..."9").contains(scalar) ? ["\\", scalar] : [scalar]
        }))
    }

    /// In SQL.
    static func digest(_ text: String) -> String { "encode(sha256(convert_to(\(text), 'UTF8')), 'hex')" }
}
