import FleetWire

/// What became of a batch.
public struct FleetBatch: Hashable, Sendable {
    /// New, or other than before.
    public var taken = 0
    /// Known already, or overtaken.
    public var known = 0
    /// No entries; kept aside with the reason.
    public var parked = 0
    /// The doubts and the hour that the store says it told last are not known here: it is to tell them again.
    public var lacksDoubts = false

    /// With nothing stored.
    public init() {}

    /// The credential was taken back meanwhile: nothing was stored.
    public struct Revoked: Error, Hashable {
        /// There is nothing more to say of it.
        public init() {}
    }

    /// The fleet was told more of a store than that store knows of: nothing was stored.
    public struct Repeats: Error, Hashable {
        /// Where it tells on.
        public var ahead: FleetStanding.Ahead
    }

    /// The gateway may not tell of somebody: nothing was stored, and it can be sent again when it may.
    public struct NotAllowed: Error, Hashable, CustomStringConvertible {
        /// Which gateway told.
        public var gateway: String
        /// Whom it may not tell of.
        public var person: String
        /// Who may not tell of whom, and who can change that.
        public var description: String {
            """
            \(gateway) may not tell of \(person) here. Whoever keeps the fleet can allow it; until then nothing of \
            such a batch is stored.
            """
        }
    }
}

extension FleetStore {
    /// So many lines of one gateway are kept aside; of more only the number is.
    public static let parkedLimit = 10_000

    /// Takes a batch in, in one transaction: what this returns from is stored. Told again it changes nothing. What
    /// PostgreSQL refuses is kept aside, and the rest taken.
    /// - Parameters:
    ///   - standing: how far a store in it believes that it is known here; `nil`: it does not say.
    ///   - doubts: what that store calls the doubts that it told last; `nil`: it does not say.
    ///   - isAgain: it was told long ago: the gateway need not be there now.
    /// - Throws: `FleetFailure`, `FleetBatch.Revoked`, `FleetBatch.NotAllowed`, `FleetBatch.Repeats`.
    public func take(
        _ lines: FleetLines, from visitor: FleetVisitor, standing: FleetStanding? = nil, doubts: String? = nil,
        isAgain: Bool = false
    ) throws -> FleetBatch {
        var tries = 1, manner = lines.entries.count < Self.copiedFrom ? Manner.whole : .copied
        while true {
            do { return try takeOnce(lines, visitor, standing, doubts, isAgain, manner) } catch let failure
                as FleetFailure where failure.kind == .collision && tries < 4
            {
                tries += 1
            } catch let failure as FleetFailure where failure.kind == .badData && manner != .inPieces {
                manner = manner == .copied ? .whole : .inPieces
            } catch let failure as FleetFailure
                where failure.kind == .broken && manner == .copied && !connection.isBroken
            {
                // An engine that speaks PostgreSQL's protocol may know no binary COPY (0A000).
                manner = .whole
            } catch let refusal as FleetBatch.NotAllowed {
                // It is there, and somebody has to know what it waits for.
                if !isAgain { try noteWanted(refusal.person, visitor) }
                throw refusal
            }
        }
    }

    private func noteWanted(_ person: String, _ visitor: FleetVisitor) throws {
        try connection.transaction {
            // Who is being forgotten just now is waited for, and is not named behind that.
            try connection.run("SELECT pg_advisory_xact_lock_shared(\(Self.batchLock))")
            try connection.run(
                """
                UPDATE gateway SET last_seen = now(), wants = CASE WHEN $3::boolean THEN wants ELSE $2 END WHERE \
                id = $1
                """,
                [visitor.id, person, isForgotten(person) ? "t" : "f"])
        }
    }

    /// Smaller batches gain nothing by being copied.
    private static let copiedFrom = 100

    /// How a batch is stored; each where the one before it was refused.
    private enum Manner {
        /// Where nothing of it is there yet: copied into place, which is cheapest. That is looked up first, and not
        /// left to PostgreSQL to find: it writes rows that are there already into its log, with names and amounts. Only
        /// batches of the same gateway could store the same rows meanwhile, and these wait for each other.
        case copied
        /// As the values of a statement.
        case whole
        /// Until what PostgreSQL refuses stands alone.
        case inPieces
    }

    private func takeOnce(
        _ lines: FleetLines, _ visitor: FleetVisitor, _ standing: FleetStanding?, _ doubts: String?, _ isAgain: Bool,
        _ manner: Manner
    ) throws -> FleetBatch {
        var told =
            manner == .copied
            ? lines.entries.map { Told(person: $0.person ?? visitor.name, entry: $0) }
            : Self.inOrder(lines.entries, visitor)
        let lookups = manner == .copied ? Self.lookups(told, visitor) : nil
        return try connection.committing {
            let people = ExactText.each(told.map(\.person))
            let (forgotten, tellers, found) = try letIn(
                visitor, people, latest: told.compactMap { $0.entry.drink?.at.milliseconds }.max(),
                named: lines.poison.map { $0.person ?? visitor.name }, stores: ExactText.each(told.map(\.entry.store)),
                begins: true, isAgain: isAgain, asking: lookups ?? [])
            let isNew = lookups != nil && found.allSatisfy(\.isEmpty)
            if manner == .copied, !isNew { told = Self.inOrder(lines.entries, visitor) }
            if let standing { try check(standing, people, visitor) }
            let all = forgotten.isEmpty ? told[...] : told.filter { !forgotten.contains(ExactText($0.person)) }[...]
            // Nor is what was set aside of who is forgotten kept.
            var poison =
                forgotten.isEmpty
                ? lines.poison : lines.poison.filter { !forgotten.contains(ExactText($0.person ?? visitor.name)) }
            var batch = FleetBatch()
            if manner == .inPieces {
                batch.taken = try store(all, visitor, &poison)
                _ = try connection.commit(introduction(all, visitor) + parking(poison, visitor))
            } else if isNew, !all.isEmpty {
                batch.taken = try copyIn(all, visitor)
                _ = try connection.commit(
                    [noting(all, visitor, batch.taken)] + introduction(all, visitor) + parking(poison, visitor))
            } else {
                let results = try connection.commit(
                    (all.isEmpty ? [] : [insertion(all, visitor)]) + introduction(all, visitor)
                        + parking(poison, visitor))
                batch.taken = all.isEmpty ? 0 : Int((results[0].rows.first?.first ?? nil) ?? "") ?? 0
            }
            // A store of before it told any says of none, and an older program never does: of that none are known.
            if let standing, forgotten.isEmpty {
                batch.lacksDoubts = tellers[ExactText(standing.store)]?.doubts != doubts
            }
            batch.parked = poison.count
            batch.known = lines.entries.count + lines.poison.count - poison.count - batch.taken
            return batch
        }
    }

    /// Of one drink the greatest place, and all in one order: two servers that write the same wait for each other, and
    /// never both.
    private static func inOrder(_ entries: [FleetEntry], _ visitor: FleetVisitor) -> [Told] {
        var newest: [Identity: FleetEntry] = [:]
        for entry in entries {
            let identity = Identity(
                person: ExactText(entry.person ?? visitor.name), key: ExactText(entry.key),
                store: ExactText(entry.store))
            if let other = newest[identity], !other.isBehind(entry) { continue }
            newest[identity] = entry
        }
        // By their places: entries are large, and would be copied at each comparison.
        return Array(newest).withUnsafeBufferPointer { found in
            found.indices.sorted { found[$0].key < found[$1].key }.map {
                Told(person: found[$0].key.person.text, entry: found[$0].value)
            }
        }
    }

    private struct Identity: Hashable, Comparable {
        var person: ExactText
        var key: ExactText
        var store: ExactText

        static func < (left: Self, right: Self) -> Bool {
            var order = left.person.order(beside: right.person)
            if order == 0 { order = left.key.order(beside: right.key) }
            return (order == 0 ? left.store.order(beside: right.store) : order) < 0
        }
    }

    private struct Told {
        let person: String
        let entry: FleetEntry
        let bottle: String?

        init(person: String, entry: FleetEntry) { (self.person, self.entry, bottle) = (person, entry, entry.bottle) }
    }

    /// Within a transaction: the credential still counts, and whom it tells of it may.
    /// - Parameters:
    ///   - latest: the latest moment of a drink that it tells, ms UTC.
    ///   - named: who else is named, and may be forgotten.
    ///   - stores: of which stores it tells.
    ///   - begins: it begins the transaction, too.
    ///   - isAgain: it is not there itself.
    ///   - questions: asked behind that, on the same way.
    /// - Returns: who of them is forgotten; how far the stores are known; and the rows of each question.
    func letIn(
        _ visitor: FleetVisitor, _ people: [String], latest: Int64?, named: [String] = [], stores: [String] = [],
        begins: Bool = false, isAgain: Bool = false,
        asking questions: [FleetConnection.Statement] = []
    ) throws -> (forgotten: Set<ExactText>, tellers: [ExactText: Teller], found: [[[String?]]]) {
        let names = Self.array(people)
        var found = try connection.pipeline(
            (begins ? [.init("BEGIN")] : []) + [
                .init("SELECT pg_advisory_xact_lock_shared(\(Self.batchLock))"),
                .init(
                    """
                    UPDATE gateway SET last_seen = CASE WHEN $4::boolean THEN last_seen ELSE now() END, last_entry = \
                    greatest(last_entry, $2::bigint) WHERE id = $1 AND revoked IS NULL
                    RETURNING (SELECT min(person) FROM unnest($3::text[]) AS told (person) WHERE people IS NOT NULL \
                    AND person <> gateway.name AND NOT person = ANY (people)
                        AND \(Self.digest("person")) NOT IN (SELECT digest FROM forgotten))
                    """, [visitor.id, latest.map(String.init), names, isAgain ? "t" : "f"]),
                .init(
                    """
                    SELECT name FROM unnest($1::text[]) AS told (name) WHERE \(Self.digest("name")) IN (SELECT \
                    digest FROM forgotten)
                    """,
                    [named.isEmpty ? names : Self.array(ExactText.each(people + named))]),
                .init(
                    """
                    SELECT store, generation, place, doubts FROM teller WHERE gateway = $1 AND store = ANY \
                    ($2::text[])
                    """,
                    [visitor.id, Self.array(stores)]),
            ] + questions)
        if begins { found.removeFirst() }
        guard let stranger = found[1].rows.first?.first else { throw FleetBatch.Revoked() }
        if let stranger { throw FleetBatch.NotAllowed(gateway: visitor.name, person: stranger) }
        let tellers = found[3].rows.compactMap { row -> (ExactText, Teller)? in
            guard let store = row[0], let generation = row[1].flatMap(Int.init), let place = row[2].flatMap(Int64.init)
            else { return nil }
            return (ExactText(store), Teller(generation: generation, place: place, doubts: row[3]))
        }
        return (
            Set(found[2].rows.compactMap { $0.first ?? nil }.map(ExactText.init)), Dictionary(tellers) { $1 },
            found[4...].map(\.rows)
        )
    }

    /// How far a store is known.
    struct Teller {
        let generation: Int
        let place: Int64
        /// What it called the doubts that it told last; `nil` where they are not known.
        let doubts: String?
    }

    private func check(_ standing: FleetStanding, _ people: [String], _ visitor: FleetVisitor) throws {
        let known = try connection.run(
            """
            SELECT generation FROM teller WHERE gateway = $1 AND store = $2 AND (generation, place) > ($3::integer, \
            $4::bigint)
            """, [visitor.id, standing.store, "\(standing.generation)", "\(standing.place)"])
        guard let generation = known.first.flatMap({ $0[0] }).flatMap(Int.init) else { return }
        let keys = try connection.run(
            """
            SELECT key FROM entry WHERE person = ANY ($1::text[]) AND gateway = $2 AND store = $3 AND (generation, \
            place) > ($4::integer, $5::bigint)
            ORDER BY generation DESC, place DESC LIMIT \(FleetStanding.Ahead.keyLimit)
            """, [Self.array(people), visitor.id, standing.store, "\(standing.generation)", "\(standing.place)"])
        throw FleetBatch.Repeats(ahead: .init(generation: generation + 1, keys: keys.compactMap { $0.first ?? nil }))
    }

    /// One part after the other, and of what is refused the halves, until what cannot be stored stands alone.
    /// - Returns: how many were new or other.
    private func store(_ all: ArraySlice<Told>, _ visitor: FleetVisitor, _ poison: inout [FleetLines.Poison]) throws
        -> Int
    {
        guard let first = all.first else { return 0 }
        try connection.script("SAVEPOINT part")
        do { return try storePart(all, visitor) } catch let failure as FleetFailure where failure.kind == .badData {
            try connection.script("ROLLBACK TO part; RELEASE part")
            guard all.count > 1 else {
                var refused = FleetLines.Poison(
                    line: String(decoding: (try? FleetLines.bytes([first.entry]).dropLast()) ?? [], as: UTF8.self),
                    reason: failure.sentence)
                refused.person = first.person
                poison.append(refused)
                return 0
            }
            let middle = all.startIndex + all.count / 2
            return try store(all[..<middle], visitor, &poison) + store(all[middle...], visitor, &poison)
        }
    }

    private func storePart(_ all: ArraySlice<Told>, _ visitor: FleetVisitor) throws -> Int {
        let count = try connection.run(insertion(all, visitor))
        try connection.script("RELEASE part")
        return Int((count.first?.first ?? nil) ?? "") ?? 0
    }

    /// What asks whether anything of it is there; `nil` where something is in it twice, or it is of so many that asking
    /// would take longer.
    private static func lookups(_ all: [Told], _ visitor: FleetVisitor) -> [FleetConnection.Statement]? {
        var keys: [Whose: Set<ExactText>] = [:]
        for told in all
        where !keys[Whose(person: ExactText(told.person), store: ExactText(told.entry.store)), default: []].insert(
            ExactText(told.entry.key)
        ).inserted { return nil }
        guard keys.count <= mostLookups else { return nil }
        return keys.map { whose, keys in
            .init(
                """
                SELECT 1 FROM entry WHERE person = $1 AND gateway = $2 AND store = $3 AND key = ANY ($4::text[]) \
                LIMIT 1
                """,
                values: [
                    .text(whose.person.text), .text(visitor.id), .text(whose.store.text),
                    .column(FleetColumn(keys.map(\.text))),
                ])
        }
    }

    private static let mostLookups = 32

    private struct Whose: Hashable {
        let person: ExactText
        let store: ExactText
    }

    /// Rows that are not there yet, in whatever order.
    /// - Returns: how many there were.
    private func copyIn(_ all: ArraySlice<Told>, _ visitor: FleetVisitor) throws -> Int {
        var tuples = FleetTuples(size: 320 * all.count)
        for told in all {
            let drink = told.entry.drink
            tuples.begin(columns: 15)
            tuples.add(told.person)
            tuples.add(told.entry.key)
            tuples.add(visitor.id)
            tuples.add(told.entry.store)
            tuples.add(Int32(clamping: told.entry.generation))
            tuples.add(told.entry.place)
            tuples.add(told.bottle)
            tuples.add(drink?.at.milliseconds)
            tuples.add(drink?.zone)
            tuples.add(day: drink?.day.daysSince1970)
            tuples.add(drink.map { Int32(clamping: $0.ml) })
            tuples.add(drink?.isDeleted ?? true)
            tuples.add(drink?.changed.milliseconds ?? 0)
            tuples.add(told.entry.record?.raw)
            tuples.add(told.entry.record?.received.milliseconds)
        }
        tuples.finish()
        var rest: [UInt8]? = tuples.bytes
        return try connection.copyIn(
            """
            COPY entry (person, key, gateway, store, generation, place, bottle, at, zone, day, ml, deleted, \
            changed, raw, received) FROM STDIN (FORMAT binary)
            """
        ) {
            defer { rest = nil }
            return rest
        }
    }

    private func noting(_ all: ArraySlice<Told>, _ visitor: FleetVisitor, _ count: Int) -> FleetConnection.Statement {
        .init(
            """
            WITH sum AS (UPDATE gateway SET entries = entries + $2::bigint WHERE id = $1)
            INSERT INTO audit (id, who, what, kind) VALUES (gen_random_uuid()::text, $3, 'told ' || $2 || ' of ' || \
            $4, 'batch')
            """, [visitor.id, "\(count)", visitor.name, Self.names(all)])
    }

    /// Of whom is told, for the audit.
    private static func names(_ all: ArraySlice<Told>) -> String {
        let people = ExactText.each(all.map(\.person))
        return people.prefix(5).joined(separator: ", ") + (people.count > 5 ? " and \(people.count - 5) more" : "")
    }

    /// Its one row says how many were new or other.
    private func insertion(_ all: ArraySlice<Told>, _ visitor: FleetVisitor) -> FleetConnection.Statement {
        func texts(_ value: (Told) -> String?) -> FleetConnection.Statement.Value {
            .column(FleetColumn(all.map(value)))
        }
        func numbers(_ value: (Told) -> Int64?) -> FleetConnection.Statement.Value {
            .column(FleetColumn(all.map(value)))
        }
        return .init(
            """
            WITH put AS (
                INSERT INTO entry (person, key, gateway, store, generation, place, bottle, at, zone, day, ml, deleted, \
            changed, raw, received)
                SELECT person, key, $1, store, generation, place, bottle, at, zone, day, ml, deleted, changed, raw, \
            received
                FROM unnest($2::text[], $3::text[], $4::text[], $15::integer[], $5::bigint[], $6::text[], \
            $7::bigint[], $8::text[], $9::date[], $10::integer[], $11::boolean[], $12::bigint[], $13::text[], \
            $14::bigint[])
                    AS told (person, key, store, generation, place, bottle, at, zone, day, ml, deleted, changed, raw, \
            received)
                \(Self.overtaking)
                RETURNING 1
            ), taken AS (SELECT count(*) AS number FROM put), sum AS (
                UPDATE gateway SET entries = entries + taken.number FROM taken WHERE id = $1 AND taken.number > 0
            ), noted AS (
                INSERT INTO audit (id, who, what, kind) SELECT gen_random_uuid()::text, $16, 'told ' || number || ' of \
            ' || $17, 'batch' FROM taken WHERE number > 0
            )
            SELECT number FROM taken
            """,
            values: [
                .text(visitor.id), texts(\.person), texts { $0.entry.key }, texts { $0.entry.store },
                numbers { $0.entry.place }, texts(\.bottle),
                numbers { $0.entry.drink?.at.milliseconds }, texts { $0.entry.drink?.zone },
                .column(FleetColumn(days: all.map { $0.entry.drink?.day.daysSince1970 })),
                .column(FleetColumn(all.map { $0.entry.drink.map { Int32(clamping: $0.ml) } })),
                .column(FleetColumn(all.map { $0.entry.drink?.isDeleted ?? true })),
                numbers { $0.entry.drink?.changed.milliseconds ?? 0 }, texts { $0.entry.record?.raw },
                numbers { $0.entry.record?.received.milliseconds },
                .column(FleetColumn(all.map { Int32?(Int32(clamping: $0.entry.generation)) })), .text(visitor.name),
                .text(Self.names(all)),
            ])
    }

    /// Of what one store says of a drink the greatest place counts.
    private static let overtaking = """
        ON CONFLICT (person, key, gateway, store) DO UPDATE SET
            generation = excluded.generation, place = excluded.place, bottle = excluded.bottle, at = excluded.at, zone \
        = excluded.zone, day = excluded.day, ml = excluded.ml,
            deleted = excluded.deleted, changed = excluded.changed, raw = coalesce(excluded.raw, entry.raw), received \
        = coalesce(excluded.received, entry.received)
            WHERE (entry.generation, entry.place) < (excluded.generation, excluded.place)
        """

    /// Who they are, which bottles, and how far their stores are known now.
    private func introduction(_ all: ArraySlice<Told>, _ visitor: FleetVisitor) -> [FleetConnection.Statement] {
        guard !all.isEmpty else { return [] }
        var bottles: [ExactText: String] = [:], stores: [ExactText: FleetEntry] = [:]
        for told in all {
            told.bottle.map { bottles[ExactText($0)] = told.person }
            let store = ExactText(told.entry.store)
            if stores[store].map({ $0.isBehind(told.entry) }) ?? true { stores[store] = told.entry }
        }
        let names = bottles.keys.sorted(), tellers = stores.keys.sorted()
        return [
            .init(
                """
                WITH people AS (INSERT INTO person (name) SELECT * FROM unnest($1::text[]) ON CONFLICT DO NOTHING),
                tellers AS (
                    INSERT INTO teller (gateway, store, generation, place) SELECT $2, store, generation, place FROM \
                unnest($3::text[], $4::integer[], $5::bigint[]) AS told (store, generation, place)
                    ON CONFLICT (gateway, store) DO UPDATE SET generation = excluded.generation, place = excluded.place
                    WHERE (teller.generation, teller.place) < (excluded.generation, excluded.place)
                )
                INSERT INTO bottle (name, person, gateway, told) SELECT name, person, $6, now() FROM \
                unnest($7::text[], $8::text[]) AS told (name, person)
                ON CONFLICT (name) DO UPDATE SET person = excluded.person, gateway = excluded.gateway, told = \
                excluded.told
                """,
                [
                    Self.array(ExactText.each(all.map(\.person))), visitor.id, Self.array(tellers.map(\.text)),
                    Self.array(tellers.map { stores[$0].map { "\($0.generation)" } }),
                    Self.array(tellers.map { stores[$0].map { "\($0.place)" } }), visitor.name,
                    Self.array(names.map(\.text)), Self.array(names.map { bottles[$0] }),
                ])
        ]
    }

    private func parking(_ poison: [FleetLines.Poison], _ visitor: FleetVisitor) -> [FleetConnection.Statement] {
        guard !poison.isEmpty else { return [] }
        return [
            .init(
                """
                WITH sum AS (UPDATE gateway SET poisoned = poisoned + $5::bigint WHERE id = $1)
                INSERT INTO parked (gateway, digest, line, reason, whose, whole)
                SELECT $1, \(Self.digest("line")), line, min(reason), \(Self.digest("min(person)")), bool_and(whole) \
                FROM unnest($2::text[], $3::text[], $6::text[], $7::boolean[]) AS told (line, reason, person, whole) \
                GROUP BY line
                LIMIT greatest(0, $4::bigint - (SELECT count(*) FROM parked WHERE gateway = $1))
                ON CONFLICT DO NOTHING
                """,
                [
                    visitor.id, Self.array(poison.map(\.line)), Self.array(poison.map(\.reason)), "\(Self.parkedLimit)",
                    "\(poison.count)", Self.array(poison.map { $0.person ?? visitor.name }),
                    Self.array(poison.map { $0.isWhole ? "t" : "f" }),
                ])
        ]
    }
}
