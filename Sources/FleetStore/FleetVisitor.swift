/// Who has a credential.
public struct FleetVisitor: Hashable, Sendable {
    /// What a credential is good for.
    public enum Role: String, Hashable, Sendable {
        /// Tells entries, and sees nothing.
        case gateway
        /// Looks at everybody, and changes nothing.
        case reader
        /// Looks at those people whom it cares for, and changes nothing.
        case carer
        /// Looks at everything, reads the audit, and can have a person forgotten.
        case admin

        /// Sees people.
        public var looks: Bool { self != .gateway }
    }

    /// Made when it was enrolled.
    public var id: String
    /// Its name.
    public var name: String
    /// What it may do.
    public var role: Role
    /// The credential was taken back.
    public var isRevoked: Bool
    /// Whom it may see or tell of; `nil`: anybody.
    public var people: [String]?

    /// All of it.
    public init(id: String, name: String, role: Role, isRevoked: Bool, people: [String]? = nil) {
        (self.id, self.name, self.role, self.isRevoked, self.people) = (id, name, role, isRevoked, people)
    }

    /// Whether it may look at somebody.
    public func sees(_ person: String) -> Bool {
        role.looks && (role != .carer || people?.contains { $0.utf8.elementsEqual(person.utf8) } ?? true)
    }
}

extension FleetStore {
    /// - Parameters:
    ///   - id: random, for ever the same.
    ///   - token: SHA-256 of the credential, hexadecimal.
    ///   - people: of whom it may tell beside the one who is called like it; `nil`: of anybody.
    /// A gateway's people, and the one who is called like it, are known again where they were forgotten.
    /// - Returns: `false` where the name is taken: nothing is changed then.
    public func enrol(_ name: String, as role: FleetVisitor.Role, id: String, token: String, people: [String]? = nil)
        throws -> Bool
    {
        let people = people.map(ExactText.each)
        let words =
            switch role {
            case .gateway: "to tell of \(Self.words(people))"
            case .reader: "to look"
            case .carer: "to care for \(people.map { $0.sorted().joined(separator: ", ") } ?? "anybody")"
            case .admin: "as an administrator"
            }
        return try noting("\(name) was enrolled, \(words)") {
            let new = try connection.run(
                """
                INSERT INTO gateway (id, name, role, token, people) VALUES ($1, $2, $3, $4, $5::text[]) ON \
                CONFLICT (name) DO NOTHING RETURNING 1
                """,
                [id, name, role.rawValue, token, people.map(Self.array)])
            if !new.isEmpty, role == .gateway { try know(again: (people ?? []) + [name]) }
            return new
        }
    }

    private func know(again people: [String]) throws {
        try connection.run(
            """
            DELETE FROM forgotten WHERE digest IN (SELECT \(Self.digest("name")) FROM unnest($1::text[]) AS back \
            (name))
            """,
            [Self.array(people)])
    }

    /// Which of them are forgotten, in the order of their names.
    public func forgotten(among people: [String]) throws -> [String] {
        try connection.run(
            """
            SELECT DISTINCT name COLLATE \"C\" FROM unnest($1::text[]) AS told (name) WHERE \(Self.digest("name")) \
            IN (SELECT digest FROM forgotten) ORDER BY 1
            """,
            [Self.array(people)]
        )
        .compactMap { $0.first ?? nil }
    }

    /// Says of whom a gateway may tell from now on, beside the one who is called like it; or whom a carer sees. Who was
    /// forgotten and is named here is known again.
    /// - Parameter people: `nil`: of anybody.
    /// - Returns: `false` where no gateway goes by that name.
    public func allow(_ name: String, people: [String]?) throws -> Bool {
        let people = people.map(ExactText.each), role = try role(of: name)
        let words =
            role == .carer
            ? "\(name) cares for \(people.map { $0.sorted().joined(separator: ", ") } ?? "anybody")"
            : "\(name) may tell of \(Self.words(people))"
        return try noting(words) {
            let found = try connection.run(
                """
                UPDATE gateway SET people = $2::text[], wants = NULL WHERE name = $1 AND role IN ('gateway', \
                'carer') RETURNING 1
                """,
                [name, people.map(Self.array)])
            if !found.isEmpty, let people, role == .gateway { try know(again: people) }
            return found
        }
    }

    /// As what somebody was enrolled; `nil` where nobody goes by that name.
    public func role(of name: String) throws -> FleetVisitor.Role? {
        (try connection.run("SELECT role FROM gateway WHERE name = $1", [name]).first?.first ?? nil).flatMap(
            FleetVisitor.Role.init)
    }

    /// Takes a credential back. A batch that is under way is stored before, or not at all.
    /// - Returns: `false` where nobody goes by that name.
    public func revoke(_ name: String) throws -> Bool {
        try noting("\(name) is let in no more") {
            try connection.run(
                "UPDATE gateway SET revoked = coalesce(revoked, now()) WHERE name = $1 RETURNING 1", [name])
        }
    }

    /// Who changed what about those who are let in, oldest first.
    /// - Parameters:
    ///   - limit: so many at most, the newest.
    ///   - all: also every batch and every look at a person, of the last 90 days.
    public func audit(limit: Int, all: Bool = false) throws -> [(at: String, who: String, what: String)] {
        try connection.run(
            """
            SELECT to_char(at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), who, what FROM audit WHERE $2::boolean OR kind = \
            'change' ORDER BY at DESC, id LIMIT $1::bigint
            """, ["\(limit)", all ? "t" : "f"]
        ).reversed().compactMap { row in
            guard row.count == 3, let at = row[0], let who = row[1], let what = row[2] else { return nil }
            return (at, who, what)
        }
    }

    /// A change and the note of it, both or neither.
    /// - Returns: whether there was anything to change.
    private func noting(_ what: String, _ change: () throws -> [[String?]]) throws -> Bool {
        try connection.transaction {
            // Who is being forgotten just now is waited for.
            try connection.run("SELECT pg_advisory_xact_lock_shared(\(Self.batchLock))")
            guard try !change().isEmpty else { return false }
            try note(what, kind: .change)
            return true
        }
    }

    /// What kind of line the audit holds. Changes stay for ever, the others for 90 days.
    enum Note: String {
        case change, batch, look
    }

    /// - Parameter who: `nil`: the user of PostgreSQL.
    func note(_ what: String, kind: Note, by who: String? = nil) throws {
        try connection.run(
            """
            INSERT INTO audit (id, who, what, kind) VALUES (gen_random_uuid()::text, coalesce($1, \
            session_user::text), $2, $3)
            """,
            [who, what, kind.rawValue])
    }

    /// Something was done with the fleet as a whole.
    public func noteChange(_ what: String) throws { try note(what, kind: .change) }

    /// Somebody looked at a person.
    public func noteLook(_ visitor: FleetVisitor, at person: String) throws {
        try connection.transaction {
            // Who is being forgotten just now is waited for, and is not named behind that.
            try connection.run("SELECT pg_advisory_xact_lock_shared(\(Self.batchLock))")
            guard try !isForgotten(person) else { return }
            try note("looked at \(person)", kind: .look, by: visitor.name)
        }
    }

    /// Lets go of what the audit need not hold any more.
    public func tidy() throws {
        try connection.run("DELETE FROM audit WHERE kind <> 'change' AND at < now() - interval '90 days'")
    }

    private static func words(_ people: [String]?) -> String {
        guard let people else { return "anybody" }
        return (["the one who is called so"] + people.sorted()).joined(separator: ", ")
    }

    /// Whose credential it is.
    /// - Parameter token: SHA-256, hexadecimal.
    public func visitor(_ token: String) throws -> FleetVisitor? {
        guard
            let row = try connection.run(
                "SELECT id, name, role, revoked IS NOT NULL, people IS NULL FROM gateway WHERE token = $1", [token]
            ).first, row.count == 5,
            let id = row[0], let name = row[1], let role = row[2].flatMap(FleetVisitor.Role.init)
        else { return nil }
        guard role == .carer, row[4] == "f" else {
            return FleetVisitor(id: id, name: name, role: role, isRevoked: row[3] == "t")
        }
        let people = try connection.run("SELECT unnest(people) FROM gateway WHERE id = $1", [id]).compactMap {
            $0.first ?? nil
        }
        return FleetVisitor(id: id, name: name, role: role, isRevoked: row[3] == "t", people: people)
    }
}
