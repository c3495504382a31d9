import FleetStore
import Foundation
import Support

/// A primary and its synchronous standby: a commit returns when both have it.
final class PostgreSQLPair: Sendable {
    private let folder: String
    private let primary: RunningProgram
    private let standby: RunningProgram

    init() async throws {
        let folder = "/tmp/wfp-\(UUID().uuidString.prefix(8).lowercased())"
        self.folder = folder
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try await PostgreSQL.own(folder)
        let options = "-c fsync=off -c max_connections=60"
        // Its standby is named on its command line only: the other waits for nobody when it is promoted.
        let first = try PostgreSQL.start(
            "initdb -D \(folder)/one -A trust -U fleet -E UTF8 --locale=C --no-sync", data: "one", socket: "a",
            in: folder, options + " -c synchronous_standby_names='*'")
        primary = first
        try await Self.wait(first, "host=\(folder)/a dbname=postgres user=fleet")
        let second = try PostgreSQL.start(
            "pg_basebackup -h \(folder)/a -U fleet -D \(folder)/two -R -X stream -c fast --no-sync", data: "two",
            socket: "b", in: folder, options)
        standby = second
        try await Self.wait(second, "host=\(folder)/b dbname=postgres user=fleet")
        try FleetConnection("host=\(folder)/a dbname=postgres user=fleet").script("CREATE DATABASE fleet")
    }

    private static func wait(_ program: RunningProgram, _ words: String) async throws {
        let isThere = await event(within: 40) {
            (try? FleetConnection(words)) != nil ? true : program.isRunning ? nil : false
        }
        guard isThere == true else {
            throw PostgreSQL.Trouble(description: "PostgreSQL does not start: \(program.error)")
        }
    }

    /// The database `fleet` at whichever of both takes writes.
    var words: String { "host=\(folder)/a,\(folder)/b dbname=fleet user=fleet target_session_attrs=read-write" }

    func connection() throws -> FleetConnection { try FleetConnection(words) }

    /// A process of a cluster, as the kernel knows it.
    private func postmaster(_ data: String) throws -> Int32 {
        let lines = try String(contentsOfFile: "\(folder)/\(data)/postmaster.pid", encoding: .utf8).split(
            separator: "\n")
        guard let number = lines.first.flatMap({ Int32($0) }), number > 1 else {
            throw PostgreSQL.Trouble(description: "no process of \(data)")
        }
        return number
    }

    func killPrimary() async throws {
        kill(try postmaster("one"), SIGKILL)
        _ = try await primary.finish(limit: 20)
    }

    /// What was committed comes to the standby no more, until it does.
    func standbyHears(_ hears: Bool) throws {
        let receiver = try FleetConnection("host=\(folder)/b dbname=postgres user=fleet").run(
            "SELECT pid FROM pg_stat_wal_receiver"
        ).first?.first
        guard let number = (receiver ?? nil).flatMap({ Int32($0) }), number > 1 else {
            throw PostgreSQL.Trouble(description: "the standby hears nobody")
        }
        kill(number, hears ? SIGCONT : SIGSTOP)
    }

    func promote() throws {
        try FleetConnection("host=\(folder)/b dbname=postgres user=fleet").run("SELECT pg_promote(true, 20)")
    }
}
