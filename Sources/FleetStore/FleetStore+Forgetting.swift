import Glibc

extension FleetStore {
    /// Takes everything out that is known of a person, and keeps the SHA-256 of the name only: what gateways tell of
    /// them from then on is passed over.
    /// - Parameter limit: so long it waits at most for batches that are under way.
    /// - Returns: `false` where nobody goes by that name, nobody may tell of them, and neither the audit nor anything
    ///   that was set aside names them.
    public func forget(_ person: String, by who: String? = nil, within limit: Duration = .seconds(20)) throws -> Bool {
        try nameParked()
        return try withoutBatches(within: limit, alsoRolls: true) { try forgetWithin(person, by: who) }
    }

    /// Says once more that somebody is forgotten who is: so that it holds against all that others know by now.
    /// - Parameter isKnownElsewhere: says it of whoever it is.
    /// - Returns: `false` where nobody of that name is.
    public func forgetOnceMore(_ person: String, isKnownElsewhere: Bool = false) throws -> Bool {
        // Who is being allowed again just now is waited for.
        try withoutBatches {
            let isAgain = try isForgotten(person)
            guard isAgain || isKnownElsewhere else { return false }
            try nameForgetting(of: person, isAgain: isAgain)
            try note("a person was forgotten", kind: .change)
            return true
        }
    }

    /// Where they are forgotten already no trigger gives it a name.
    private func nameForgetting(of person: String, isAgain: Bool) throws {
        try connection.run(
            "INSERT INTO forgotten (digest) VALUES (\(Self.digest("$1"))) ON CONFLICT DO NOTHING", [person])
        guard isAgain else { return }
        try connection.run(
            """
            INSERT INTO forgetting (digest, id, undone) VALUES (\(Self.digest("$1")), \
            replace(gen_random_uuid()::text, '-', ''), false)
            """,
            [person])
    }

    /// A transaction beside which no batch is under way, nobody is allowed or enrolled, and the next of these finds it
    /// done.
    /// - Parameters:
    ///   - limit: so long it waits at most for those that are.
    ///   - alsoRolls: nor does anybody add up days.
    func withoutBatches<Result>(
        within limit: Duration = .seconds(20), alsoRolls: Bool = false, _ body: () throws -> Result
    ) throws -> Result {
        let end = ContinuousClock.now + limit
        while true {
            do {
                return try connection.transaction {
                    if alsoRolls { try lock(Self.rollLock, milliseconds: 3000) }
                    try lock(Self.batchLock, milliseconds: 1000)
                    return try body()
                }
            } catch let held as Held {
                guard ContinuousClock.now < end else { throw held.failure }
                // Batches that queued behind it go on.
                usleep(500_000)
            }
        }
    }

    /// Somebody has a lock for longer than is to be waited for at once.
    private struct Held: Error {
        let failure: FleetFailure
    }

    /// Within a transaction. Whoever waits for a lock keeps those out who come after, also where they could go together
    /// with who has it: a batch of a server that hangs would keep all gateways out.
    private func lock(_ number: Int, milliseconds: Int) throws {
        do { try wait(for: number, milliseconds) } catch let failure as FleetFailure
            where failure.kind == .slow && !connection.isBroken
        { throw Held(failure: failure) }
    }

    private func wait(for number: Int, _ milliseconds: Int) throws {
        try connection.script("SET LOCAL lock_timeout = \(milliseconds)")
        try connection.run("SELECT pg_advisory_xact_lock(\(number))")
        try connection.script("SET LOCAL lock_timeout = \(connection.lockLimit)")
    }

    private func forgetWithin(_ person: String, by who: String?) throws -> Bool {
        let (told, changed) = Self.places(person)
        let known = try connection.run(
            """
            SELECT 1 WHERE EXISTS (SELECT 1 FROM person WHERE name = $1) OR EXISTS (SELECT 1 FROM gateway WHERE name = \
            $1 OR wants = $1 OR $1 = ANY (people))
                OR EXISTS (SELECT 1 FROM parked WHERE whose = \(Self.digest("$1")))
                OR EXISTS (SELECT 1 FROM audit WHERE CASE WHEN kind = 'change' THEN what ~ $3 AND $1 <> 'anybody' ELSE \
            what ~ $2 END)
            """, [person, told, changed])
        guard !known.isEmpty else { return false }
        try nameForgetting(of: person, isAgain: isForgotten(person))
        try takeOut(person)
        try note("a person was forgotten", kind: .change, by: who)
        return true
    }

    /// Of the audit the name goes where a list of people names it, and nothing else: who did what, and to whom else,
    /// stays.
    private static func places(_ person: String) -> (told: String, changed: String) {
        let pattern = pattern(person)
        return (
            "((?:^looked at |^told [0-9]+ (?:doubts )?of |, ))\(pattern)(?=$|, | and [0-9]+ more$)",
            "((?: of | for |, ))\(pattern)(?=$|, )"
        )
    }

    /// Takes over what others know by now, where a backup was put back: who was forgotten meanwhile, also if they are
    /// known again by now, is taken out, and whose credential was taken back is let in no more. Nobody is forgotten by
    /// that who is known elsewhere.
    /// - Parameters:
    ///   - outlived: keys that were thrown away meanwhile.
    ///   - revoked: whose credential was taken back.
    public func catchUp(_ forgettings: Forgettings, outlived: [Seal], revoked: [String]) throws {
        try nameParked()
        try withoutBatches(alsoRolls: true) {
            let forgotten = forgettings.filter { $0.value.values.contains(false) }.map(\.key)
            for person in try names(of: outlived.map(\.owner) + forgotten) {
                try takeOut(person)
                try note("a person was forgotten", kind: .change)
            }
            try put(forgettings)
            try dropSeals(outlived.map(\.id))
            try connection.run(
                "UPDATE gateway SET revoked = now() WHERE revoked IS NULL AND id = ANY ($1::text[])",
                [Self.array(revoked)])
        }
    }

    /// Everything of somebody, in a transaction.
    private func takeOut(_ person: String) throws {
        let (told, changed) = Self.places(person), pattern = Self.pattern(person)
        for table in ["entry", "doubt", "day_roll", "stale", "bottle"] {
            try connection.run("DELETE FROM \(table) WHERE person = $1", [person])
        }
        // The trigger's marks of what has just gone.
        try connection.run("DELETE FROM stale WHERE person = $1", [person])
        try connection.run("DELETE FROM person WHERE name = $1", [person])
        try connection.run(
            """
            UPDATE gateway SET people = array_remove(people, $1), wants = nullif(wants, $1) WHERE wants = $1 OR $1 \
            = ANY (people)
            """,
            [person])
        try connection.run("DELETE FROM parked WHERE whose = \(Self.digest("$1"))", [person])
        // What else names them as somebody's person, and what nobody can read whose it is and has
        // the name as a text of its own, goes, too; other lines are others', and a short name stands in their words.
        try connection.run(
            """
            DELETE FROM parked p USING gateway g WHERE g.id = p.gateway
                AND (p.line ~ $1 OR p.line ~ $2 AND p.whose = \(Self.digest("g.name")) AND p.line !~ \
            '"person"[[:space:]]*:')
            """, [#""person"[[:space:]]*:[[:space:]]*"\#(pattern)""#, #"[:,\[][[:space:]]*"\#(pattern)""#])
        try connection.run(
            #"""
            UPDATE audit SET what = regexp_replace(what, $1, '\1(a person was forgotten)', 'g') WHERE kind <> \#
            'change' AND what ~ $1
            """#,
            [told])
        // "Anybody" is a word of its own there.
        if person != "anybody" {
            try connection.run(
                #"""
                UPDATE audit SET what = regexp_replace(what, $1, '\1(a person was forgotten)', 'g') WHERE kind = \#
                'change' AND what ~ $1 AND NOT EXISTS (SELECT 1 FROM gateway WHERE name = $2)
                """#,
                [changed, person])
        }
        try connection.run("SELECT pg_notify($1, '')", [Self.channel])
    }

    /// Held by every batch, together; and alone by who forgets.
    static let batchLock = FleetSchema.lock + 2

    /// What only that text matches, as PostgreSQL reads a regular expression.
    private static func pattern(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.flatMap { scalar in
                    scalar.isASCII && !scalar.properties.isAlphabetic && !("0"..."9").contains(scalar)
                        ? ["\\", scalar] : [scalar]
                }))
    }

    /// In SQL.
    static func digest(_ text: String) -> String { "encode(sha256(convert_to(\(text), 'UTF8')), 'hex')" }
}
