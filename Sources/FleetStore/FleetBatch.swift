import FleetWire

/// What became of a batch.
public struct FleetBatch: Hashable, Sendable {
    /// New, or other than before.
    public var taken = 0
    /// Known already, or overtaken.
    public var known = 0
    /// No entries; kept aside with the reason.
    public var parked = 0

    /// With nothing stored.
    public init() {}

    /// The credential was taken back meanwhile: nothing was stored.
    public struct Revoked: Error, Hashable {
        /// There is nothing more to say of it.
        public init() {}
    }

    /// The gateway may not tell of somebody: nothing was stored, and it can be sent again when it may.
    public struct NotAllowed: Error, Hashable, CustomStringConvertible {
        /// Which gateway told.
        public var gateway: String
        /// Whom it may not tell of.
        public var person: String
        /// Who may not tell of whom, and who can change that.
        public var description: String { "\(gateway) may not tell of \(person) here. Whoever keeps the fleet can allow it; until then nothing of such a batch is stored." }
    }
}

extension FleetStore {
    /// So many lines of one gateway are kept aside; of more only the number is.
    public static let parkedLimit = 10_000

    /// Takes a batch in, in one transaction: what this returns from is stored. Told again it changes nothing. What PostgreSQL refuses is kept aside, and the rest taken.
    /// - Throws: `FleetFailure`, `FleetBatch.Revoked`, `FleetBatch.NotAllowed`.
    public func take(_ lines: FleetLines, from visitor: FleetVisitor) throws -> FleetBatch {
        var tries = 1
        while true {
            do { return try takeOnce(lines, visitor) } catch let failure as FleetFailure where failure.kind == .collision && tries < 4 { tries += 1 } catch let refusal as FleetBatch.NotAllowed {
                // It is there, and somebody has to know what it waits for.
                try connection.run("UPDATE gateway SET last_seen = now(), wants = $2 WHERE id = $1", [visitor.id, refusal.person])
                throw refusal
            }
        }
    }

    private func takeOnce(_ lines: FleetLines, _ visitor: FleetVisitor) throws -> FleetBatch {
        // Of one drink the greatest place, and all in one order: two servers that write the same wait for each other, and never both.
        var newest: [Identity: FleetEntry] = [:]
        for entry in lines.entries {
            let identity = Identity(person: entry.person ?? visitor.name, key: entry.key, store: entry.store)
            if let other = newest[identity], other.place >= entry.place { continue }
            newest[identity] = entry
        }
        let all = newest.sorted { $0.key < $1.key }.map { Told(person: $0.key.person, entry: $0.value) }
        return try connection.transaction {
            let latest = all.compactMap { $0.entry.drink?.at.milliseconds }.max()
            let known = try connection.run("""
                UPDATE gateway SET last_seen = now(), last_entry = greatest(last_entry, $2::bigint) WHERE id = $1 AND revoked IS NULL
                RETURNING (SELECT min(person) FROM unnest($3::text[]) AS told (person) WHERE people IS NOT NULL AND person <> gateway.name AND NOT person = ANY (people))
                """, [visitor.id, latest.map(String.init), Self.array(Set(all.map(\.person)).sorted())])
            guard let stranger = known.first?.first else { throw FleetBatch.Revoked() }
            if let stranger { throw FleetBatch.NotAllowed(gateway: visitor.name, person: stranger) }
            var poison = lines.poison
            var batch = FleetBatch()
            batch.taken = try store(all[...], visitor, &poison)
            batch.parked = poison.count
            batch.known = lines.entries.count + lines.poison.count - poison.count - batch.taken
            try introduce(all, visitor)
            try park(poison, visitor)
            if batch.taken + batch.parked > 0 {
                try connection.run("UPDATE gateway SET entries = entries + $2::bigint, poisoned = poisoned + $3::bigint WHERE id = $1", [visitor.id, "\(batch.taken)", "\(batch.parked)"])
            }
            return batch
        }
    }

    private struct Identity: Hashable, Comparable {
        var person: String
        var key: String
        var store: String
        static func < (left: Self, right: Self) -> Bool { (left.person, left.key, left.store) < (right.person, right.key, right.store) }
    }

    private struct Told {
        var person: String
        var entry: FleetEntry
    }

    /// - Returns: how many were new or other.
    private func store(_ all: ArraySlice<Told>, _ visitor: FleetVisitor, _ poison: inout [FleetLines.Poison]) throws -> Int {
        guard let first = all.first else { return 0 }
        try connection.script("SAVEPOINT part")
        do {
            let count = try insert(all, visitor)
            try connection.script("RELEASE part")
            return count
        } catch let failure as FleetFailure where failure.kind == .badData {
            try connection.script("ROLLBACK TO part; RELEASE part")
            guard all.count > 1 else {
                poison.append(FleetLines.Poison(line: String(decoding: (try? FleetLines.bytes([first.entry])) ?? [], as: UTF8.self), reason: failure.sentence))
                return 0
            }
            let middle = all.startIndex + all.count / 2
            return try store(all[..<middle], visitor, &poison) + store(all[middle...], visitor, &poison)
        }
    }

    private func insert(_ all: ArraySlice<Told>, _ visitor: FleetVisitor) throws -> Int {
        func column(_ value: (Told) -> String?) -> String { Self.array(all.map(value)) }
        return try connection.run("""
            INSERT INTO entry (person, key, gateway, store, place, bottle, at, zone, day, ml, deleted, changed, raw, received)
            SELECT person, key, $1, store, place, bottle, at, zone, day, ml, deleted, changed, raw, received
            FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::bigint[], $8::text[], $9::date[], $10::integer[], $11::boolean[], $12::bigint[], $13::text[], $14::bigint[])
                AS told (person, key, store, place, bottle, at, zone, day, ml, deleted, changed, raw, received)
            ON CONFLICT (person, key, gateway, store) DO UPDATE SET
                place = excluded.place, bottle = excluded.bottle, at = excluded.at, zone = excluded.zone, day = excluded.day, ml = excluded.ml,
                deleted = excluded.deleted, changed = excluded.changed, raw = coalesce(excluded.raw, entry.raw), received = coalesce(excluded.received, entry.received)
            WHERE entry.place < excluded.place
            RETURNING 1
            """, [
                visitor.id, column { $0.person }, column { $0.entry.key }, column { $0.entry.store }, column { "\($0.entry.place)" }, column { $0.entry.bottle },
                column { $0.entry.drink.map { "\($0.at.milliseconds)" } }, column { $0.entry.drink?.zone }, column { $0.entry.drink?.day.description },
                column { $0.entry.drink.map { "\($0.ml)" } }, column { $0.entry.drink?.isDeleted ?? true ? "t" : "f" },
                column { "\($0.entry.drink?.changed.milliseconds ?? 0)" }, column { $0.entry.record?.raw }, column { ($0.entry.record?.received.milliseconds).map { "\($0)" } },
            ]).count
    }

    private func introduce(_ all: [Told], _ visitor: FleetVisitor) throws {
        guard !all.isEmpty else { return }
        let people = Set(all.map(\.person)).sorted()
        try connection.run("INSERT INTO person (name) SELECT * FROM unnest($1::text[]) ON CONFLICT DO NOTHING", [Self.array(people)])
        var bottles: [String: String] = [:]
        for told in all { told.entry.bottle.map { bottles[$0] = told.person } }
        guard !bottles.isEmpty else { return }
        let names = bottles.keys.sorted()
        try connection.run("""
            INSERT INTO bottle (name, person, gateway, told) SELECT name, person, $1, now() FROM unnest($2::text[], $3::text[]) AS told (name, person)
            ON CONFLICT (name) DO UPDATE SET person = excluded.person, gateway = excluded.gateway, told = excluded.told
            """, [visitor.name, Self.array(names), Self.array(names.map { bottles[$0] })])
    }

    private func park(_ poison: [FleetLines.Poison], _ visitor: FleetVisitor) throws {
        guard !poison.isEmpty else { return }
        try connection.run("""
            INSERT INTO parked (gateway, digest, line, reason)
            SELECT $1, encode(sha256(convert_to(line, 'UTF8')), 'hex'), line, min(reason) FROM unnest($2::text[], $3::text[]) AS told (line, reason) GROUP BY line
            LIMIT greatest(0, $4::bigint - (SELECT count(*) FROM parked WHERE gateway = $1))
            ON CONFLICT DO NOTHING
            """, [visitor.id, Self.array(poison.map(\.line)), Self.array(poison.map(\.reason)), "\(Self.parkedLimit)"])
    }
}
