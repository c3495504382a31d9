/// Who has a credential.
public struct FleetVisitor: Hashable, Sendable {
    /// What a credential is good for.
    public enum Role: String, Hashable, Sendable {
        /// Tells entries, and sees nothing.
        case gateway
        /// Looks, and changes nothing.
        case reader
    }

    /// Made when it was enrolled.
    public var id: String
    /// Its name.
    public var name: String
    /// What it may do.
    public var role: Role
    /// The credential was taken back.
    public var isRevoked: Bool
}

extension FleetStore {
    /// - Parameters:
    ///   - id: random, for ever the same.
    ///   - token: SHA-256 of the credential, hexadecimal.
    ///   - people: of whom it may tell beside the one who is called like it; `nil`: of anybody.
    /// - Returns: `false` where the name is taken: nothing is changed then.
    public func enrol(_ name: String, as role: FleetVisitor.Role, id: String, token: String, people: [String]? = nil) throws -> Bool {
        try noting(role == .reader ? "\(name) was enrolled, to look" : "\(name) was enrolled, to tell of \(Self.words(people))") {
            try connection.run(
                "INSERT INTO gateway (id, name, role, token, people) VALUES ($1, $2, $3, $4, $5::text[]) ON CONFLICT (name) DO NOTHING RETURNING 1",
                [id, name, role.rawValue, token, people.map(Self.array)])
        }
    }

    /// Says of whom a gateway may tell from now on, beside the one who is called like it.
    /// - Parameter people: `nil`: of anybody.
    /// - Returns: `false` where no gateway goes by that name.
    public func allow(_ name: String, people: [String]?) throws -> Bool {
        try noting("\(name) may tell of \(Self.words(people))") {
            try connection.run("UPDATE gateway SET people = $2::text[], wants = NULL WHERE name = $1 AND role = 'gateway' RETURNING 1", [name, people.map(Self.array)])
        }
    }

    /// Takes a credential back. A batch that is under way is stored before, or not at all.
    /// - Returns: `false` where nobody goes by that name.
    public func revoke(_ name: String) throws -> Bool {
        try noting("\(name) is let in no more") { try connection.run("UPDATE gateway SET revoked = coalesce(revoked, now()) WHERE name = $1 RETURNING 1", [name]) }
    }

    /// Who changed what about those who are let in, oldest first.
    /// - Parameter limit: so many at most, the newest.
    public func audit(limit: Int) throws -> [(at: String, who: String, what: String)] {
        try connection.run("SELECT to_char(at, 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), who, what FROM audit ORDER BY at DESC, id LIMIT $1::bigint", ["\(limit)"]).reversed().compactMap { row in
            guard row.count == 3, let at = row[0], let who = row[1], let what = row[2] else { return nil }
            return (at, who, what)
        }
    }

    /// A change and the note of it, both or neither.
    /// - Returns: whether there was anything to change.
    private func noting(_ what: String, _ change: () throws -> [[String?]]) throws -> Bool {
        try connection.transaction {
            guard try !change().isEmpty else { return false }
            try connection.run("INSERT INTO audit (id, who, what) VALUES (gen_random_uuid()::text, session_user::text, $1)", [what])
            return true
        }
    }

    private static func words(_ people: [String]?) -> String {
        guard let people else { return "anybody" }
        return (["the one who is called so"] + people.sorted()).joined(separator: ", ")
    }

    /// Whose credential it is.
    /// - Parameter token: SHA-256, hexadecimal.
    public func visitor(_ token: String) throws -> FleetVisitor? {
        guard let row = try connection.run("SELECT id, name, role, revoked IS NOT NULL FROM gateway WHERE token = $1", [token]).first, row.count == 4,
            let id = row[0], let name = row[1], let role = row[2].flatMap(FleetVisitor.Role.init)
        else { return nil }
        return FleetVisitor(id: id, name: name, role: role, isRevoked: row[3] == "t")
    }
}
