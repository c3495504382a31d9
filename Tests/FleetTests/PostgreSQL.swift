import FleetStore
import Foundation
import Support

/// Debian's PostgreSQL on a socket in a folder of its own, for as long as the tests run; never as root.
final class PostgreSQL: Sendable {
    static let binaries = "/usr/lib/postgresql/15/bin"
    static let isInstalled = access(binaries + "/postgres", X_OK) == 0
    static let shared = Task { try await PostgreSQL() }

    let folder: String
    let running: RunningProgram

    private init() async throws {
        folder = "/tmp/wf-\(UUID().uuidString.prefix(8).lowercased())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try await Self.own(folder)
        running = try Self.start(
            "initdb -D \(folder)/data -A trust -U fleet -E UTF8 --locale=C --no-sync", data: "data", socket: "",
            in: folder, "-c fsync=off -c max_connections=60")
        let isThere = await event(within: 40) {
            (try? FleetConnection(self.words("postgres"))) != nil ? true : running.isRunning ? nil : false
        }
        guard isThere == true else { throw Trouble(description: "PostgreSQL does not start: \(running.error)") }
    }

    /// Root cannot run it: then it is the user whom Debian's package made.
    private static let how = geteuid() == 0 ? "setpriv --reuid=postgres --regid=postgres --clear-groups" : ""

    static func own(_ folder: String) async throws {
        if geteuid() == 0 { _ = try await Program(path: "/usr/bin/chown").run(["postgres:postgres", folder]) }
    }

    /// Makes a cluster and starts it; it ends with whoever started it, however that ended.
    static func start(_ make: String, data: String, socket: String, in folder: String, _ options: String) throws
        -> RunningProgram
    {
        try Program(path: "/bin/sh").start([
            "-c",
            """
            cd \(folder) && \(how) mkdir -p ./\(socket) && \(how) \(binaries)/\(make) >/dev/null || exit 1
            \(how) \(binaries)/postgres -D \(folder)/\(data) -k \(folder)/\(socket) -c listen_addresses= \(options) & \
            server=$!
            ( while kill -0 \(getpid()) && kill -0 $$ && kill -0 $server; do sleep 0.2; done
            kill -INT $server; left=100; while kill -0 $server && [ $left -gt 0 ]; do left=$((left - 1)); sleep 0.2; \
            done
            rm -rf \(folder)/\(data) \(folder)/\(socket); cd /; rmdir \(folder) ) 2>/dev/null &
            wait $server
            """,
        ])
    }

    struct Trouble: Error, CustomStringConvertible {
        let description: String
    }

    func words(_ database: String) -> String { "host=\(folder) dbname=\(database) user=fleet" }

    /// A database of a test's own.
    /// - Returns: the words that name it.
    static func database(migrated: Bool = true) async throws -> String {
        let server = try await shared.value
        let name = "t\(UUID().uuidString.prefix(8).lowercased())"
        try FleetConnection(server.words("postgres")).script("CREATE DATABASE \(name)")
        if migrated { _ = try FleetStore(FleetConnection(server.words(name))).migrate() }
        return server.words(name)
    }
}
