/// Keys that a backup is sealed with, each person's their own, and what a backup is made of.
extension FleetStore {
    /// Whose a key is.
    public struct Seal: Hashable, Sendable, Codable {
        /// SHA-256 of a person's name, hexadecimal; `fleet`, or `memory`.
        public var owner: String
        /// Random, for ever the same; a backup names it, and so names nobody.
        public var id: String
        /// 32 bytes, hexadecimal.
        public var key: String
        /// Which forgettings of its owner were known when it was made.
        public var after: [String] = []

        /// All of it.
        public init(owner: String, id: String, key: String, after: [String] = []) {
            (self.owner, self.id, self.key, self.after) = (owner, id, key, after)
        }

        /// Of JSON: of before forgettings had names nobody knows which.
        public init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            self.init(
                owner: try fields.decode(String.self, forKey: .owner), id: try fields.decode(String.self, forKey: .id),
                key: try fields.decode(String.self, forKey: .key),
                after: try fields.decodeIfPresent([String].self, forKey: .after) ?? [])
        }
    }

    /// Of what is nobody's own: gateways, and how far they are known.
    public static let fleetOwner = "fleet"
    /// Of what may name anybody: the audit, and what was set aside. Thrown away with every person's key.
    public static let memoryOwner = "memory"

    /// Makes the keys that are missing, of everybody who is named anywhere; of who is forgotten none.
    /// - Parameter owner: of that one alone, by the digest.
    public func makeSeals(for owner: String? = nil) throws {
        try connection.transaction {
            // Who is being forgotten just now is waited for, or waits.
            try connection.run("SELECT pg_advisory_xact_lock_shared(\(Self.batchLock))")
            try connection.run(
                """
                INSERT INTO seal (owner, id, key)
                SELECT owner, replace(gen_random_uuid()::text, '-', ''), encode(sha256(uuid_send(gen_random_uuid()) || \
                uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex')
                FROM (
                    SELECT $1 AS owner WHERE $1::text IS NOT NULL
                    UNION SELECT \(Self.digest("name")) FROM (\(Self.everybody)) AS somebody (name)
                    WHERE $1::text IS NULL
                    UNION SELECT unnest(ARRAY['\(Self.fleetOwner)', '\(Self.memoryOwner)']) WHERE $1::text IS NULL
                ) AS wanted WHERE owner NOT IN (SELECT digest FROM forgotten) ON CONFLICT DO NOTHING
                """, [owner])
        }
    }

    /// All keys.
    /// - Parameter owner: of that one alone.
    public func seals(of owner: String? = nil) throws -> [Seal] {
        let sql =
            "SELECT owner, id, key, array_to_string(after, ' ') FROM seal"
            + (owner == nil ? " WHERE $1::text IS NULL ORDER BY owner" : " WHERE owner = $1")
        return try connection.run(sql, [owner]) { row in
            guard let owner = row.text(0), let id = row.text(1), let key = row.text(2) else { return nil }
            return Seal(
                owner: owner, id: id, key: key, after: (row.text(3) ?? "").split(separator: " ").map(String.init))
        }
    }

    /// What all forgettings of before they had names are called.
    public static let oldForgetting = "old"

    /// Of each person by SHA-256 of the name: each forgetting, and whether it was undone since.
    public typealias Forgettings = [String: [String: Bool]]

    /// All keys, and who was ever forgotten, as both are at one moment.
    public func sealsAndForgettings() throws -> (seals: [Seal], forgettings: Forgettings) {
        var seals: [Seal] = [], forgettings: Forgettings = [:]
        for row in try connection.run(
            """
            SELECT owner, id, key, array_to_string(after, ' '), NULL FROM seal UNION ALL SELECT digest, id, NULL, \
            NULL, undone::text FROM forgetting ORDER BY 1, 2
            """
        ) {
            guard let owner = row[0], let id = row[1] else { continue }
            if let key = row[2] {
                seals.append(
                    Seal(owner: owner, id: id, key: key, after: (row[3] ?? "").split(separator: " ").map(String.init)))
            } else {
                forgettings[owner, default: [:]][id] = row[4] == "true"
            }
        }
        return (seals, forgettings)
    }

    /// Takes over what others know of who is forgotten and known again: of those who are not known here, or are
    /// forgotten here.
    /// - Parameters:
    ///   - people: by SHA-256 of the name: also of these, and as undone, whatever others know; keys of theirs that were
    ///     made without knowing of it go, so that they get others.
    ///   - limit: so long it waits at most for batches that are under way.
    public func learn(
        _ forgettings: Forgettings, knownAgain people: [String] = [], within limit: Duration = .seconds(20)
    ) throws {
        guard !forgettings.isEmpty else { return }
        // Mostly there is nothing new, and nobody has to wait for that.
        guard try !news(forgettings, people).isEmpty else { return }
        // Whoever comes into a batch that is under way is known here.
        try withoutBatches(within: limit) {
            try put(news(forgettings, people))
            // A key that a backup may be sealing with just now stays where it is good.
            try connection.run(
                """
                DELETE FROM seal s WHERE owner = ANY ($1::text[]) AND EXISTS (SELECT 1 FROM forgetting f WHERE \
                f.digest = s.owner AND NOT f.id = ANY (s.after))
                """,
                [Self.array(people)])
            try settleForgotten()
        }
    }

    /// A forgetting by its name, and whether it was undone.
    private typealias Forgetting = (digest: String, id: String, isUndone: Bool)

    private static func list(_ forgettings: Forgettings) -> [Forgetting] {
        forgettings.sorted { $0.key < $1.key }.flatMap { digest, events in
            events.sorted { $0.key < $1.key }.map { (digest, $0.key, $0.value) }
        }
    }

    private func put(_ forgettings: [Forgetting]) throws {
        try connection.run(
            """
            INSERT INTO forgetting (digest, id, undone) SELECT * FROM unnest($1::text[], $2::text[], $3::boolean[])
            ON CONFLICT (digest, id) DO UPDATE SET undone = forgetting.undone OR excluded.undone
            """,
            [
                Self.array(forgettings.map(\.digest)), Self.array(forgettings.map(\.id)),
                Self.array(forgettings.map { $0.isUndone ? "t" : "f" }),
            ])
    }

    /// What of it is not known here, and concerns who is not known here, is forgotten here, or is among these people.
    private func news(_ forgettings: Forgettings, _ people: [String]) throws -> [Forgetting] {
        // A gateway's one person is called like it, and is known before it tells anything.
        let known = Set(
            try connection.run(
                """
                SELECT DISTINCT \(Self.digest("name")) FROM (\(Self.everybody) UNION SELECT name FROM gateway WHERE \
                role = 'gateway') AS somebody (name)
                WHERE \(Self.digest("name")) NOT IN (SELECT digest FROM forgotten)
                """
            ).compactMap { $0[0] })
        let here = try sealsAndForgettings().forgettings, again = Set(people)
        return Self.list(forgettings.filter { again.contains($0.key) || !known.contains($0.key) }).compactMap {
            digest, id, isUndone in
            let isUndone = isUndone || again.contains(digest), before = here[digest]?[id]
            return before == isUndone || before == true ? nil : (digest, id, isUndone)
        }
    }

    /// All of it, within a transaction.
    func put(_ forgettings: Forgettings) throws {
        try put(Self.list(forgettings))
        try settleForgotten()
    }

    /// Whoever has a forgetting that was not undone is forgotten, and nobody else.
    private func settleForgotten() throws {
        try connection.run("DELETE FROM forgotten WHERE digest NOT IN (SELECT digest FROM forgetting WHERE NOT undone)")
        try connection.run(
            """
            INSERT INTO forgotten (digest) SELECT DISTINCT digest FROM forgetting WHERE NOT undone AND digest NOT \
            IN (SELECT digest FROM forgotten)
            """
        )
    }

    /// In SQL: everybody's names, as far as they are known.
    private static let everybody =
        """
        SELECT name FROM person UNION SELECT unnest(people) FROM gateway UNION SELECT wants FROM gateway WHERE \
        wants IS NOT NULL
        """

    /// As what somebody is known in the keys: SHA-256 of the name, hexadecimal.
    public func owner(_ person: String) throws -> String {
        (try connection.run("SELECT \(Self.digest("$1"))", [person]).first?.first ?? nil) ?? ""
    }

    /// Of whom of these the names are known here.
    /// - Parameter owners: SHA-256 of names.
    public func names(of owners: [String]) throws -> [String] {
        try connection.run(
            """
            SELECT name FROM (\(Self.everybody)) AS somebody (name)
            WHERE \(Self.digest("name")) = ANY ($1::text[]) ORDER BY name
            """, [Self.array(owners)]
        ).compactMap { $0[0] }
    }

    /// Takes keys away, so that the next backup makes others.
    public func dropSeals(_ ids: [String]) throws {
        try connection.run("DELETE FROM seal WHERE id = ANY ($1::text[])", [Self.array(ids)])
    }

    /// Whether somebody of that name was forgotten, and is not known again.
    public func isForgotten(_ person: String) throws -> Bool {
        try !connection.run("SELECT 1 FROM forgotten WHERE digest = \(Self.digest("$1"))", [person]).isEmpty
    }

    /// Whose credential was taken back.
    public func revokedIDs() throws -> [String] {
        try connection.run("SELECT id FROM gateway WHERE revoked IS NOT NULL ORDER BY id").compactMap { $0[0] }
    }

    /// A part of a backup.
    public struct Part: Hashable, Sendable {
        /// The table, or what becomes part of one.
        public var name: String
        /// Comma-separated, as in a COPY.
        public var columns: String
        /// A query: whose each row is, and then the columns; in the order of whose they are.
        var query: String
    }

    /// All of them, in the order in which they go back. Days that are added up are made anew.
    public static let parts: [Part] = [
        Part(
            name: "gateway",
            columns: "id, name, role, token, enrolled, revoked, last_seen, last_entry, entries, poisoned, people",
            query:
                """
                SELECT 'fleet', id, name, role, token, enrolled, revoked, last_seen, last_entry, entries, \
                poisoned, CASE WHEN people IS NOT NULL THEN '{}'::text[] END FROM gateway
                """
        ),
        Part(
            name: "teller", columns: "gateway, store, generation, place",
            query: "SELECT 'fleet', gateway, store, generation, place FROM teller"),
        Part(name: "forgotten", columns: "digest, at", query: "SELECT 'fleet', digest, at FROM forgotten"),
        Part(
            name: "forgetting", columns: "digest, id, undone",
            query: "SELECT 'fleet', digest, id, undone FROM forgetting"),
        Part(
            name: "audit", columns: "id, at, who, what, kind",
            query: "SELECT 'memory', id, at, who, what, kind FROM audit"),
        Part(
            name: "parked", columns: "gateway, digest, line, reason, parked, whose, whole",
            query: "SELECT 'memory', gateway, digest, line, reason, parked, whose, whole FROM parked"),
        Part(
            name: "person", columns: "name, since, boundary",
            query: "SELECT \(digest("name")), name, since, boundary FROM person ORDER BY name"),
        Part(
            name: "allowed", columns: "gateway, person, wanted",
            query: """
                SELECT \(digest("person")), id, person, wanted FROM (
                    SELECT id, unnest(people) AS person, false AS wanted FROM gateway UNION ALL SELECT id, wants, true \
                FROM gateway WHERE wants IS NOT NULL
                ) AS named ORDER BY person
                """),
        Part(
            name: "bottle", columns: "name, person, gateway, told",
            query: "SELECT \(digest("person")), name, person, gateway, told FROM bottle ORDER BY person"),
        Part(
            name: "doubt", columns: "person, gateway, store, bottle, raw, wall, ml, reason, received",
            query:
                """
                SELECT \(digest("person")), person, gateway, store, bottle, raw, wall, ml, reason, received FROM \
                doubt ORDER BY person
                """
        ),
        Part(
            name: "entry",
            columns:
                """
                person, key, gateway, store, generation, place, bottle, at, zone, day, ml, deleted, changed, raw, \
                received
                """,
            query:
                """
                SELECT \(digest("person")), person, key, gateway, store, generation, place, bottle, at, zone, day, \
                ml, deleted, changed, raw, received FROM entry ORDER BY person
                """
        ),
    ]

    /// Everything as it is at one moment, row by row.
    /// - Parameters:
    ///   - snapshot: another transaction's moment, which it exported; `nil`: now.
    ///   - take: gets the part, whose the row is, and the row as a line of a COPY.
    public func copyOut(
        snapshot: String? = nil, _ take: (Part, _ owner: String, _ line: UnsafeRawBufferPointer) throws -> Void
    ) throws {
        try connection.transaction {
            try connection.script("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            if let snapshot {
                try connection.script("SET TRANSACTION SNAPSHOT '\(snapshot.filter { $0.isHexDigit || $0 == "-" })'")
            }
            for part in Self.parts {
                try connection.copyOut("COPY (\(part.query)) TO STDOUT") { row in
                    guard let tab = row.firstIndex(of: UInt8(ascii: "\t")) else { return }
                    try take(
                        part, String(decoding: row[..<tab], as: UTF8.self),
                        UnsafeRawBufferPointer(rebasing: row[(tab + 1)...]))
                }
            }
        }
    }

    /// Whether nobody was enrolled and nobody told here: a backup goes nowhere else.
    public func isUnused() throws -> Bool {
        try connection.run(
            """
            SELECT 1 WHERE EXISTS (SELECT 1 FROM gateway) OR EXISTS (SELECT 1 FROM person) OR EXISTS (SELECT 1 \
            FROM entry)
            """
        ).isEmpty
    }

    /// As values of a statement: where a COPY is ended from outside, PostgreSQL writes the row that it was at into its
    /// log, with names and amounts.
    /// - Returns: how many rows there were.
    private func insert(_ lines: [UInt8], into table: String, _ columns: String) throws -> Int {
        let types = Dictionary(
            try connection.run(
                """
                SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = $1::regclass \
                AND attnum > 0 AND NOT attisdropped
                """,
                [table]
            ).compactMap { row in row[0].flatMap { name in row[1].map { (name, $0) } } }
        ) { $1 }
        let names = columns.split(separator: ",").map { String($0.drop { $0 == " " }) }
        guard names.allSatisfy({ types[$0] != nil }), let rows = try? CopyRows(lines, count: names.count) else {
            throw FleetFailure(
                .wrongUse,
                """
                Rows of the backup are not as this database keeps them. Restore it with the program that wrote it, \
                or a newer one.
                """
            )
        }
        guard let count = rows.columns.first?.count, count > 0 else { return 0 }
        let values = names.indices.map { "c\($0)::\(types[names[$0]] ?? "text")" },
            arrays = names.indices.map { "$\($0 + 1)::text[]" }
        _ = try connection.run(
            .init(
                """
                INSERT INTO \(table) (\(columns)) SELECT \(values.joined(separator: ", ")) FROM \
                unnest(\(arrays.joined(separator: ", "))) AS told \
                (\(names.indices.map { "c\($0)" }.joined(separator: ", ")))
                """,
                values: rows.columns.map { .column(FleetColumn($0)) }))
        return count
    }

    /// Takes a backup in, in one transaction, and adds up its days.
    /// - Parameters:
    ///   - seals: the keys that are kept with it from now on.
    ///   - forgettings: of everybody who ever was, also since the backup.
    ///   - revoked: whose credential was taken back, also since the backup.
    ///   - note: for the audit.
    ///   - next: the next rows, as lines of a COPY, and of which part with which columns; parts do not come back.
    ///     `nil`: that is all.
    /// - Returns: how many rows of each part went in.
    /// - Throws: `FleetFailure` of the kind `wrongUse` where the database is in use by now.
    public func copyIn(
        seals: [Seal], forgettings: Forgettings, revoked: [String], note: String? = nil,
        _ next: () throws -> (part: String, columns: String, lines: [UInt8])?
    ) throws -> [String: Int] {
        try connection.transaction {
            // Who restores or enrols beside this waits, and finds it in use.
            try connection.script("LOCK TABLE gateway, person, entry IN SHARE ROW EXCLUSIVE MODE")
            guard try isUnused() else {
                throw FleetFailure(
                    .wrongUse,
                    """
                    The database at \(connection.place) is in use: there are gateways or people in it. A backup \
                    goes into a new one.
                    """
                )
            }
            try connection.script(
                """
                CREATE TEMPORARY TABLE allowed (gateway text, person text, wanted boolean) ON COMMIT DROP; ALTER \
                TABLE entry DISABLE TRIGGER fleet_new; ALTER TABLE forgotten DISABLE TRIGGER fleet_forgetting
                """
            )
            var counts: [String: Int] = [:]
            while let piece = try next() {
                counts[piece.part, default: 0] += try insert(piece.lines, into: piece.part, piece.columns)
            }
            try connection.script(
                """
                ALTER TABLE entry ENABLE TRIGGER fleet_new;
                UPDATE gateway SET people = named.people FROM (SELECT gateway, array_agg(person ORDER BY person) AS \
                people FROM allowed WHERE NOT wanted GROUP BY gateway) AS named WHERE named.gateway = id;
                UPDATE gateway SET wants = named.person FROM allowed AS named WHERE named.gateway = id AND named.wanted
                """)
            try connection.run(
                "UPDATE gateway SET revoked = now() WHERE revoked IS NULL AND id = ANY ($1::text[])",
                [Self.array(revoked)])
            // Who was allowed again since is known again; and whom the backup does not know as forgotten yet is not
            // brought back by a gateway.
            try put(forgettings)
            try connection.script("ALTER TABLE forgotten ENABLE TRIGGER fleet_forgetting")
            // Older backups are read with them, too; keys that were made here open nothing.
            try connection.run("DELETE FROM seal")
            try connection.run(
                """
                INSERT INTO seal (owner, id, key) SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) ON \
                CONFLICT DO NOTHING
                """,
                [Self.array(seals.map(\.owner)), Self.array(seals.map(\.id)), Self.array(seals.map(\.key))])
            try addUpAnew()
            if let note { try self.note(note, kind: .change) }
            return counts
        }
    }
}
