import FleetStore
import Foundation
import Support

/// Debian's PostgreSQL on a socket in a folder of its own, for as long as the tests run; never as root.
final class PostgreSQL: Sendable {
    static let binaries = "/usr/lib/postgresql/15/bin"
    static let isInstalled = access(binaries + "/postgres", X_OK) == 0
    static let shared = Task { try await PostgreSQL() }

    private let folder: String
    private let running: RunningProgram

    private init() async throws {
        folder = "/tmp/wf-\(UUID().uuidString.prefix(8).lowercased())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        // Root cannot run it: then it is the user whom Debian's package made.
        let isRoot = geteuid() == 0
        let how = isRoot ? "setpriv --reuid=postgres --regid=postgres --clear-groups" : ""
        if isRoot { _ = try await Program(path: "/usr/bin/chown").run(["postgres:postgres", folder]) }
        // It ends with whoever started it, however that ended.
        running = try Program(path: "/bin/sh").start(["-c", """
            cd \(folder) && \(how) \(Self.binaries)/initdb -D \(folder)/data -A trust -U fleet -E UTF8 --locale=C --no-sync >/dev/null || exit 1
            \(how) \(Self.binaries)/postgres -D \(folder)/data -k \(folder) -c listen_addresses= -c fsync=off -c max_connections=60 &
            while kill -0 \(getpid()) 2>/dev/null && kill -0 $! 2>/dev/null; do sleep 0.2; done
            kill -INT $! 2>/dev/null; wait $!; rm -rf \(folder)
            """])
        let isThere = await event(within: 40) { (try? FleetConnection(self.words("postgres"))) != nil ? true : running.isRunning ? nil : false }
        guard isThere == true else { throw Trouble(description: "PostgreSQL does not start: \(running.error)") }
    }

    private struct Trouble: Error, CustomStringConvertible {
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
