import FleetWire
import TrackerCore

extension FleetStore {
    /// All that lies in doubt in a store of a person's, in the place of what lay there before.
    /// - Parameters:
    ///   - boundary: the hour at which that person's days begin, 0–6; `nil`: the store does not say.
    ///   - mark: what the store calls all of this, and says with each batch from now on; `nil`: it does not say.
    /// - Throws: `FleetFailure`, `FleetBatch.Revoked`, `FleetBatch.NotAllowed`.
    public func take(
        _ doubts: [FleetDoubt], of person: String?, in store: String, from visitor: FleetVisitor, boundary: Int? = nil,
        mark: String? = nil
    ) throws {
        let person = person ?? visitor.name
        try connection.transaction {
            let isForgotten = try letIn(visitor, [person], latest: nil).forgotten.contains(ExactText(person))
            let settled = try connection.run(
                "DELETE FROM doubt WHERE person = $1 AND gateway = $2 AND store = $3 RETURNING 1",
                [person, visitor.id, store])
            // Who calls what it told is one person's store: who is called otherwise from now on leaves none behind.
            if try !connection.run(
                """
                SELECT 1 FROM teller WHERE gateway = $1 AND store = $2 AND doubts IS NOT NULL AND whose <> \
                \(Self.digest("$3::text"))
                """,
                [visitor.id, store, person]
            ).isEmpty {
                try connection.run("DELETE FROM doubt WHERE gateway = $1 AND store = $2", [visitor.id, store])
            }
            guard !isForgotten else { return }
            try connection.run(
                """
                INSERT INTO teller (gateway, store, generation, place, doubts, whose) SELECT $1, $2, 0, 0, $3::text, \
                \(Self.digest("$4::text"))
                ON CONFLICT (gateway, store) DO UPDATE SET doubts = excluded.doubts, whose = excluded.whose
                """, [visitor.id, store, mark, person])
            // What changed nothing is not noted: who is not known is not named.
            guard !settled.isEmpty || !doubts.isEmpty || boundary != nil else { return }
            try note("told \(doubts.count) doubts of \(person)", kind: .batch, by: visitor.name)
            if let boundary {
                try connection.run(
                    """
                    INSERT INTO person (name, boundary) VALUES ($1, $2::smallint) ON CONFLICT (name) DO UPDATE SET \
                    boundary = excluded.boundary
                    """,
                    [person, "\(boundary)"])
            }
            guard !doubts.isEmpty else { return }
            func column(_ value: (FleetDoubt) -> String?) -> String { Self.array(doubts.map(value)) }
            try connection.run("INSERT INTO person (name) VALUES ($1) ON CONFLICT DO NOTHING", [person])
            try connection.run(
                """
                INSERT INTO doubt (person, gateway, store, bottle, raw, wall, ml, reason, received)
                SELECT $1, $2, $3, bottle, raw, wall, ml, reason, received
                FROM unnest($4::text[], $5::text[], $6::text[], $7::integer[], $8::text[], $9::bigint[]) AS told \
                (bottle, raw, wall, ml, reason, received)
                ON CONFLICT DO NOTHING
                """,
                [
                    person, visitor.id, store, column(\.bottle), column(\.raw), column(\.wall), column { "\($0.ml)" },
                    column(\.reason), column { "\($0.received.milliseconds)" },
                ])
        }
    }

    /// What lies in doubt of a person's, newest first, so many at most.
    public func doubts(of person: String, limit: Int = 200) throws -> [FleetDoubt] {
        try connection.run(
            """
            SELECT DISTINCT ON (received, bottle, raw) bottle, raw, wall, ml, reason, received FROM doubt WHERE person \
            = $1 ORDER BY received DESC, bottle, raw LIMIT $2::bigint
            """, [person, "\(limit)"]
        ).compactMap { row in
            guard let bottle = row[0], let raw = row[1], let ml = row[3].flatMap(Int.init), let reason = row[4],
                let received = row[5].flatMap(Int64.init)
            else { return nil }
            return FleetDoubt(
                bottle: bottle, raw: raw, wall: row[2], ml: ml, reason: reason,
                received: Instant(milliseconds: received))
        }
    }
}
