import FleetWire

extension FleetStore {
    /// A line that was set aside.
    public struct ParkedLine: Hashable, Sendable, Encodable {
        /// Who told it.
        public var gateway: String
        /// When it was set aside first, UTC.
        public var parked: String
        /// Why it never became an entry.
        public var reason: String
        /// Its beginning.
        public var line: String
    }

    /// What was set aside, oldest first.
    /// - Parameters:
    ///   - gateway: of whom; `nil`: of all.
    ///   - limit: so many lines at most, the newest.
    public func parkedLines(of gateway: String? = nil, limit: Int) throws -> [ParkedLine] {
        try connection.run(
            """
            SELECT g.name, to_char(p.parked, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), p.reason, p.line FROM parked p JOIN \
            gateway g ON g.id = p.gateway
            WHERE $1::text IS NULL OR g.name = $1 ORDER BY p.parked DESC, g.name, p.digest LIMIT $2::bigint
            """, [gateway, "\(limit)"]
        ).reversed().compactMap { row in
            guard let gateway = row[0], let parked = row[1], let reason = row[2], let line = row[3] else { return nil }
            return ParkedLine(gateway: gateway, parked: parked, reason: reason, line: line)
        }
    }

    /// What became of what was set aside.
    public struct ParkedAgain: Hashable, Sendable {
        /// New, or other than what was there.
        public var taken = 0
        /// Entries now, and known or overtaken meanwhile.
        public var known = 0
        /// No entries still.
        public var left = 0
        /// Of gateways that may not tell of somebody, or are let in no more: why, in words.
        public var refused: Set<String> = []
    }

    /// Reads what was set aside once more, as by a newer program that understands more, and takes what is an entry now
    /// from the gateway that told it. Lines that were kept in part only stay what they are.
    /// - Parameter gateway: of whom; `nil`: of all.
    /// - Throws: `FleetFailure`; what is taken by then stays taken, and is not set aside any more.
    public func takeParkedAgain(of gateway: String? = nil) throws -> ParkedAgain {
        var again = ParkedAgain()
        let tellers = try connection.run(
            """
            SELECT id, name FROM gateway WHERE role = 'gateway' AND ($1::text IS NULL OR name = $1) AND id IN \
            (SELECT gateway FROM parked) ORDER BY name
            """,
            [gateway])
        for row in tellers {
            guard let id = row[0], let name = row[1] else { continue }
            let visitor = FleetVisitor(id: id, name: name, role: .gateway, isRevoked: false)
            let parked = try connection.run(
                "SELECT digest, line, whole, reason FROM parked WHERE gateway = $1 ORDER BY parked, digest", [id])
            for row in parked {
                guard let digest = row[0], let line = row[1] else { continue }
                guard let told = Self.told(line, isWhole: row[2].map { $0 == "t" }, reason: row[3] ?? ""),
                    let lines = try? FleetLines(Array(told.utf8)), lines.poison.isEmpty, !lines.entries.isEmpty
                else {
                    again.left += 1
                    continue
                }
                do {
                    let batch = try take(lines, from: visitor, isAgain: true)
                    again.taken += batch.taken
                    again.known += batch.known
                    again.left += batch.parked
                    // What PostgreSQL refuses stays set aside.
                    if batch.parked == 0 {
                        try connection.run("DELETE FROM parked WHERE gateway = $1 AND digest = $2", [id, digest])
                    }
                } catch let refusal as FleetBatch.NotAllowed {
                    again.left += 1
                    again.refused.insert(refusal.description)
                } catch is FleetBatch.Revoked {
                    again.left += 1
                    again.refused.insert("The credential of \(name) was taken back.")
                }
            }
        }
        return again
    }

    /// What a line said when it was told; `nil` where nobody knows that any more: what was altered may have become an
    /// entry by that, of somebody else or of another drink.
    /// - Parameter isWhole: `nil` where an older program kept it, which left signs where it altered anything.
    private static func told(_ line: String, isWhole: Bool?, reason: String) -> String? {
        guard isWhole == nil else { return isWhole == true ? line : nil }
        var line = line
        // It kept the end of the line, too, as a sign for what no text may hold.
        if line.unicodeScalars.last == "\u{FFFD}" { line.unicodeScalars.removeLast() }
        return line.unicodeScalars.contains("\u{FFFD}") || line.unicodeScalars.count >= 1999
            || reason.hasPrefix("the line has ") ? nil : line
    }

    /// Says of whom lines tell that a program kept which did not.
    func nameParked() throws {
        while true {
            let rows = try connection.run(
                """
                SELECT p.gateway, p.digest, p.line, g.name FROM parked p JOIN gateway g ON g.id = p.gateway WHERE \
                p.whose IS NULL LIMIT 1000
                """
            )
            guard !rows.isEmpty else {
                // Of who is forgotten by now nothing stays.
                try connection.run("DELETE FROM parked WHERE whose IN (SELECT digest FROM forgotten)")
                return
            }
            let people = rows.map { row in row[2].flatMap { FleetLines.person(in: Array($0.utf8)[...]) } ?? row[3] }
            try connection.run(
                """
                UPDATE parked p SET whose = \(Self.digest("person")) FROM unnest($1::text[], $2::text[], $3::text[]) \
                AS told (gateway, digest, person)
                WHERE p.gateway = told.gateway AND p.digest = told.digest AND whose IS NULL
                """, [Self.array(rows.map { $0[0] }), Self.array(rows.map { $0[1] }), Self.array(people)])
        }
    }
}
