/// Who has a credential.
public struct FleetVisitor: Hashable, Sendable {
    public enum Role: String, Hashable, Sendable {
        /// Tells entries, and sees nothing.
        case gateway
        /// Looks, and changes nothing.
        case reader
    }

    public var id: String
    public var name: String
    public var role: Role
    /// The credential was taken back.
    public var isRevoked: Bool
}

extension FleetStore {
    /// - Parameters:
    ///   - id: random, for ever the same.
    ///   - token: SHA-256 of the credential, hexadecimal.
    /// - Returns: `false` where the name is taken: nothing is changed then.
    public func enrol(_ name: String, as role: FleetVisitor.Role, id: String, token: String) throws -> Bool {
        !(try connection.run(
            "INSERT INTO gateway (id, name, role, token) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO NOTHING RETURNING 1", [id, name, role.rawValue, token])).isEmpty
    }

    /// Takes a credential back. A batch that is under way is stored before, or not at all.
    /// - Returns: `false` where nobody goes by that name.
    public func revoke(_ name: String) throws -> Bool {
        !(try connection.run("UPDATE gateway SET revoked = coalesce(revoked, now()) WHERE name = $1 RETURNING 1", [name])).isEmpty
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
