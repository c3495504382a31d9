import Foundation
import Support
import Synchronization
import Testing

@testable import PostgreSQL

/// Debian's PostgreSQL on a socket in a folder of its own, for as long as the tests run; never as root.
final class PostgresServer: Sendable {
    /// The programs of the newest installed version.
    static let binaries: String = {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        return "/usr/lib/postgresql/\(versions.compactMap { Int($0) }.max() ?? 15)/bin"
    }()

    /// The server of most tests. Each test has a database and roles of its own.
    static let shared = Task { try await PostgresServer("postgres") }

    let folder: String
    private let name: String
    private let running: Mutex<RunningProgram>
    private let options: String

    /// Creates a cluster, or with `primary` a standby of it, and starts it.
    init(_ name: String, standbyOf primary: PostgresServer? = nil, options: String = "") async throws {
        guard access(Self.binaries + "/postgres", X_OK) == 0 else {
            throw Missing(description: "PostgreSQL is not installed: hardware/bench setup test")
        }
        // The path of a socket has at most 107 bytes.
        let folder = primary?.folder ?? "/tmp/waterh-\(UUID().uuidString.prefix(8).lowercased())"
        self.folder = folder
        (self.name, self.options) = (name, options)
        if primary == nil {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            if geteuid() == 0 {
                _ = try await Program(path: "/usr/bin/chown").run(["postgres:postgres", folder])
            }
        }
        let data = "\(folder)/\(name)"
        try? "admin".write(toFile: "\(folder)/password", atomically: false, encoding: .utf8)
        let create =
            primary.map { "pg_basebackup -h \($0.socket) -U admin -D \(data) -R -X stream -c fast --no-sync" }
            ?? "initdb -D \(data) -A scram-sha-256 -U admin -E UTF8 --locale=C --no-sync --pwfile=\(folder)/password"
        running = Mutex(try Self.start(create, data, data + ".socket", options))
        try await waitUntilReady()
    }

    deinit {
        if let process = try? processIdentifier { kill(process, SIGKILL) }
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Starts a stopped server again.
    func restart() async throws {
        let started = try Self.start("", "\(folder)/\(name)", socket, options)
        running.withLock { $0 = started }
        try await waitUntilReady()
    }

    /// Root cannot run PostgreSQL.
    private static let user = geteuid() == 0 ? "setpriv --reuid=postgres --regid=postgres --clear-groups" : ""

    /// Starts a server, which ends with this process.
    private static func start(_ create: String, _ data: String, _ socket: String, _ options: String) throws
        -> RunningProgram
    {
        try Program(path: "/bin/sh").start(
            [
                "-c",
                """
                cd /tmp; \(user) mkdir -p \(socket)
                [ -e \(data)/PG_VERSION ] || \(user) \(binaries)/\(create) >/dev/null || exit 1
                \(user) \(binaries)/postgres -D \(data) -k \(socket) -c listen_addresses= -c fsync=off \
                -c max_connections=60 -c log_min_messages=fatal \(options) & server=$!
                ( while kill -0 \(getpid()) && kill -0 $$ && kill -0 $server; do sleep 0.2; done
                kill -INT $server; while kill -0 $server; do sleep 0.1; done
                kill -0 \(getpid()) || rm -rf \(data) \(socket) $(dirname \(data))/password
                rmdir $(dirname \(data)) ) 2>/dev/null &
                wait $server
                """,
            ], environment: ["PGPASSWORD": "admin"])
    }

    var socket: String { "\(folder)/\(name).socket" }

    func url(_ database: String, role: String = "admin", password: String = "admin") -> String {
        "postgresql://\(role):\(password)@/\(database)?host=\(socket)"
    }

    func waitUntilReady() async throws {
        let isReady: Bool? = await event(within: 60) {
            do {
                try await PostgresConnection().open(
                    PostgresPlan(url: self.url("postgres") + "&target_session_attrs=any"))
                return true
            } catch { return self.running.withLock({ $0.isRunning }) ? nil : false }
        }
        guard isReady == true else {
            throw Missing(description: "PostgreSQL did not start: \(running.withLock { $0.error })")
        }
    }

    /// The first process of the server.
    var processIdentifier: Int32 {
        get throws {
            let text = try String(contentsOfFile: "\(folder)/\(name)/postmaster.pid", encoding: .utf8)
            return try #require(text.split(separator: "\n").first.flatMap { Int32($0) })
        }
    }

    func stop(_ signal: Int32) async throws {
        kill(try processIdentifier, signal)
        _ = try await running.withLock { $0 }.finish(limit: 20)
    }

    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs SQL as the administrator.
    @discardableResult
    func run(_ script: String, in database: String = "postgres") async throws -> [[String?]] {
        let connection = PostgresConnection()
        try await connection.open(PostgresPlan(url: url(database) + "&target_session_attrs=any"))
        return try await connection.run(script)
    }
}
