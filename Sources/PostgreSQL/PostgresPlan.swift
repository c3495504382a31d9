import CLibPQ
import Foundation
import Store
import TrackerCore

/// The table `[postgres]` of the configuration: a database for libpq. libpq also reads `$PGPASSFILE` and the other
/// variables of the environment.
package struct PostgresPlan: Hashable, Sendable, CustomStringConvertible {
    /// A connection URI, such as `postgresql://anna@db.example/water?sslmode=verify-full`.
    package var url: String
    package var password: String?

    /// - Parameter table: the keys `url`, `url-file`, `password` and `password-file`.
    /// - Returns: `nil` for an empty table.
    /// - Throws: `WrongInput` with the reason.
    package init?(_ table: [String: String]) throws {
        guard !table.isEmpty else { return nil }
        guard let url = try table["url"] ?? table["url-file"].map({ try Self.secret($0, "url-file", "address") }) else {
            throw WrongInput("postgresURLMissing", "url is not set.")
        }
        try self.init(url: url)
        password =
            try table["password"]
            ?? table["password-file"].map { try Self.secret($0, "password-file", "password", Settings.isPassword) }
    }

    package init(url: String) throws {
        self.url = url
        guard ["postgresql://", "postgres://"].contains(where: url.hasPrefix), try Self.options(url)["dbname"] != nil
        else {
            throw WrongInput(
                "postgresURL",
                "The address must begin with postgresql:// and name a database: postgresql://HOST/DATABASE.")
        }
    }

    private static func secret(
        _ path: String, _ key: String, _ kind: String, _ accepts: (String) -> Bool = Settings.isToken
    ) throws -> String {
        try SmallFile.secret(path, setting: "postgres.\(key)", kind: kind, accepts: accepts) {
            WrongInput("postgresFile", $0)
        }
    }

    /// The options of a connection URI by libpq's names. Percent encoding is decoded.
    private static func options(_ url: String) throws -> [String: String] {
        var message: UnsafeMutablePointer<CChar>?
        guard let first = PQconninfoParse(url, &message) else {
            defer { PQfreemem(message) }
            // The message contains the address, which might have a password.
            throw WrongInput("postgresURL", "The address is not a valid connection URI of PostgreSQL.")
        }
        defer { PQconninfoFree(first) }
        var (found, option) = ([String: String](), first)
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { found[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        return found
    }

    /// The parameters for libpq: defaults, then the address, which takes precedence.
    var parameters: [(name: String, value: String)] {
        let defaults = [
            // The limit for each host in seconds, also for its response.
            ("connect_timeout", "5"),
            // If there are several hosts, select the one that accepts writes.
            ("target_session_attrs", "read-write"),
            // Detects a dead connection (milliseconds).
            ("tcp_user_timeout", "15000"),
            ("fallback_application_name", "waterh"), ("dbname", url), ("client_encoding", "UTF8"),
        ]
        return defaults + (password.map { [("password", $0)] } ?? [])
    }

    /// The database, the hosts and the role, which identify a person or a site.
    package var privateNames: [String] {
        let options = (try? Self.options(url)) ?? [:]
        let hosts = [options["host"], options["hostaddr"]].compactMap(\.self).flatMap { $0.split(separator: ",") }
        return hosts.map(String.init) + [options["user"], options["dbname"]].compactMap(\.self)
    }

    /// The password of the table or of the address.
    package var knownPassword: String? { password ?? (try? Self.options(url))?["password"] }

    /// Database, hosts and role, without the password.
    package var description: String {
        let options = (try? Self.options(url)) ?? [:]
        let hosts = options["host"] ?? options["hostaddr"] ?? "the local socket"
        return "\(options["dbname"] ?? "") on \(hosts)" + (options["user"].map { " as \($0)" } ?? "")
    }

    /// The address with another role and its password, without other credentials.
    package func url(role: String, password: String) -> String {
        let scheme = url.hasPrefix("postgres://") ? "postgres://" : "postgresql://"
        let rest = url.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        let parts = rest.dropFirst(authority.count).split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let credentials: Set = ["user", "password", "passfile", "sslcert", "sslkey", "sslpassword"]
        let options = (parts.count > 1 ? parts[1].split(separator: "&") : []).filter { option in
            let key = String(option.prefix { $0 != "=" })
            return !credentials.contains(key.removingPercentEncoding ?? key)
        }
        return "\(scheme)\(role):\(password)@\(host)\(parts.first ?? "")"
            + (options.isEmpty ? "" : "?" + options.joined(separator: "&"))
    }
}
