import Foundation
import TrackerCore

/// The schema of the database, and its roles.
package enum PostgresSchema {
    package static let version = 1
    /// The statements that create the schema, or bring an older one up to date.
    package static var statements: String { String(decoding: PackageResources.schema_sql, as: UTF8.self) }

    static func check(_ found: Int) throws {
        guard found != version else { return }
        throw PostgresFailure(
            "the schema of the database has version \(found), and this gateway needs version \(version)",
            advice: found < version ? "\(PostgresFailure.initialise)." : "Update the gateway.")
    }

    /// Creates the schema, or brings an older one up to date.
    package static func install(_ plan: PostgresPlan) async throws {
        let connection = PostgresConnection()
        try await connection.open(plan)
        guard try await connection.run("SHOW server_encoding").first?[0] == "UTF8" else {
            throw PostgresFailure(
                "the database does not use UTF-8", advice: "Create one: createdb -E UTF8 -T template0 NAME.")
        }
        let isInstalled = try await connection.run("SELECT to_regclass('waterh.schema')").first?[0] != nil
        let found = isInstalled ? try await connection.run("SELECT version FROM waterh.schema").first?[0] : nil
        if let found = found.flatMap({ Int($0) }), found > version { try check(found) }
        try await connection.run("BEGIN; \(statements); COMMIT", limit: .seconds(600))
    }

    /// The name of a gateway or viewer is the name of its role.
    package static func checkName(_ name: String) throws {
        guard name.wholeMatch(of: /[a-z][a-z0-9_-]{0,62}/) != nil, !name.hasPrefix("pg_"), !name.hasPrefix("waterh_")
        else {
            throw WrongInput(
                "postgresRole",
                """
                invalid name \(name): expected a lower-case letter, then letters, digits, - or _; not pg_… and not \
                waterh_…
                """)
        }
    }

    /// Creates the role of a gateway. An existing role gets a new password, and the next store that connects owns it.
    /// - Parameter person: the name of the person; `nil` keeps the old name, or uses that of the gateway.
    /// - Returns: the password.
    package static func addGateway(_ name: String, person: String?, _ plan: PostgresPlan) async throws -> String {
        try await addRole(name, memberOf: "waterh_gateway", plan) { connection in
            try await connection.run(
                """
                INSERT INTO waterh.gateway (name, person) VALUES ($1, coalesce($2, $1))
                ON CONFLICT (name) DO UPDATE SET store = NULL, person = coalesce($2, waterh.gateway.person)
                """, [.text(name), .text(person)])
        }
    }

    /// Creates a role that reads all rows.
    package static func addViewer(_ name: String, _ plan: PostgresPlan) async throws -> String {
        try await addRole(name, memberOf: "waterh_viewer", plan) { _ in }
    }

    private static func addRole(
        _ name: String, memberOf group: String, _ plan: PostgresPlan,
        _ body: @Sendable (PostgresConnection) async throws -> Void
    ) async throws -> String {
        try checkName(name)
        let connection = PostgresConnection()
        try await connection.open(plan)
        let password = Data((0..<24).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_")
        let verifier = try await connection.quoted(connection.verifier(password, role: name))
        let role = try await connection.quoted(name, isName: true)
        let rows = try await connection.run(
            """
            SELECT NOT r.rolsuper AND EXISTS (SELECT FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid
                WHERE m.member = r.oid AND g.rolname = $2) FROM pg_roles r WHERE r.rolname = $1
            """, [.text(name), .text(group)])
        guard rows.first?[0] != "f" else {
            throw PostgresFailure(
                "the role \(name) exists and is not a member of \(group)", advice: "Choose another name.")
        }
        try await connection.run("BEGIN")
        try await connection.run("\(rows.isEmpty ? "CREATE" : "ALTER") ROLE \(role) LOGIN PASSWORD \(verifier)")
        try await connection.run("GRANT \(group) TO \(role)")
        try await body(connection)
        try await connection.run("COMMIT")
        return password
    }
}
