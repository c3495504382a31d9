package import TrackerCore

/// An error of the database or of the connection to it, with the action that ends it.
package struct PostgresFailure: Problem, Hashable {
    /// `nil` for an error of the connection.
    package var sqlState: String?
    /// The message of libpq or the server.
    package var cause: String
    package var advice: String?

    package var code: String { "postgres" }
    package var category: ProblemCategory { .failed }
    package var sentence: String { advice.map { "\(cause). \($0)" } ?? cause }

    package init(_ cause: String, advice: String? = nil, sqlState: String? = nil) {
        // libpq reports each host in a line.
        let lines = cause.split(whereSeparator: \.isNewline)
        let hosts = lines.filter { $0.hasPrefix("connection to server") }
        let text = hosts.isEmpty ? lines.first.map(String.init) ?? "no message" : hosts.joined(separator: ", ")
        self.cause = text.hasSuffix(".") ? String(text.dropLast()) : text
        self.sqlState = sqlState
        self.advice = advice ?? sqlState.flatMap(Self.advice(sqlState:)) ?? (sqlState == nil ? Self.advice(cause) : nil)
    }

    static let initialise = "An administrator of the database runs: waterh-gateway postgres init URL"

    static let otherStore = PostgresFailure(
        "another store writes as this role",
        advice: "Each store needs a role of its own. To replace the other store: \(initialise) --gateway NAME.")
    static let timeout = "the database did not respond in time"

    /// Whether a statement took too long.
    var isTimeout: Bool { sqlState == "57014" || cause == Self.timeout }

    private static func advice(sqlState: String) -> String? {
        switch sqlState {
        case "3F000", "42P01", "42703", "42883": "The database has no schema of this version. \(initialise)."
        case "42501": "The rights of the role are missing or revoked. \(initialise) --gateway NAME."
        case "25006": "The database is read-only. Name the primary, or all hosts, in url."
        case "53100": "The disk of the database is full."
        case "53200", "53300", "53400": "The database has reached a limit, for example max_connections."
        case "57014", "55P03": "The database was too slow, or a lock was held."
        default: nil
        }
    }

    /// The advice for an error of the connection, which has no code.
    private static func advice(_ message: String) -> String? {
        func has(_ words: String...) -> Bool { words.contains(where: message.contains) }
        if has("too many clients", "too many connections", "connection slots") {
            return "The database has reached a limit, for example max_connections."
        }
        if has("password", "role \"", "not permitted to log in", "pg_hba.conf") {
            return "Check the role in url and the password (password-file). A new password: "
                + "waterh-gateway postgres init URL --gateway NAME."
        }
        if has("read-only", "hot standby") { return "Name the primary, or all hosts, in url." }
        if has("SSL", "certificate") { return "Check sslmode and sslrootcert in url." }
        if has("database \"") { return "Create the database: createdb NAME." }
        return "Check that the database is running, and the host in url."
    }
}
