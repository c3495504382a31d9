import CommandKit
import FleetSimulation
import FleetStore
import Foundation

/// All that a fleet stands on, for a rehearsal: PostgreSQL with a synchronous standby on sockets in a folder, and two
/// servers of this program. Something of it is killed on each day that is played.
actor Rehearsal {
    private let folder: String
    private var primary: RehearsalChild
    private var standby: RehearsalChild
    private var servers: [(child: RehearsalChild, place: String)] = []
    private var chance: FleetChance
    private var kills = 0

    /// The database at whichever of both takes writes.
    nonisolated let words: String

    /// Starts everything; nothing of this machine's own PostgreSQL is touched.
    init(seed: UInt64) async throws {
        let binaries = try Self.binaries()
        // A socket's path is short.
        let temporary = NSTemporaryDirectory()
        folder =
            "\(temporary.utf8.count > 60 ? "/tmp/" : temporary)waterh-fleet-\(UUID().uuidString.prefix(8).lowercased())"
        chance = FleetChance(seed: ~seed)
        words = "host='\(folder)/a,\(folder)/b' dbname=fleet user=fleet target_session_attrs=read-write"
        do {
            (primary, standby) = try await Self.cluster(binaries, folder)
            try FleetConnection("host='\(folder)/a' dbname=postgres user=fleet").script("CREATE DATABASE fleet")
            _ = try FleetStore(FleetConnection(words)).migrate()
        } catch {
            try? FileManager.default.removeItem(atPath: folder)
            if let failure = error as? FleetFailure { throw DatabaseOptions.failure(failure) }
            throw error
        }
        do {
            for number in 0..<2 { servers.append(try await Self.serve("127.0.0.1:0", number, folder, words)) }
        } catch {
            await stop()
            throw error
        }
    }

    /// `http://…` of each server.
    var addresses: [String] { servers.map { "http://\($0.place)" } }

    /// Kills the primary in the middle of the days, and a server on each of the others.
    /// - Returns: what was done, in words.
    func disturb(day: Int, of days: Int) async throws -> String {
        guard day != (days + 1) / 2 else {
            try await primary.kill()
            do {
                try FleetConnection("host='\(folder)/b' dbname=postgres user=fleet").run("SELECT pg_promote(true, 20)")
            } catch { throw DatabaseOptions.failure(error) }
            return "The primary is killed, and its standby promoted."
        }
        let victim = Int.random(in: servers.indices, using: &chance)
        try await servers[victim].child.kill()
        kills += 1
        // Where it was before, as a service manager starts it again.
        servers[victim] = try await Self.serve(servers[victim].place, servers.count + kills, folder, words)
        return "Server \(victim + 1) is killed, and started again."
    }

    /// As much of the machine's memory as each server that runs now had at most, in kB.
    func memory() -> [Int] { servers.compactMap(\.child.peak) }

    /// Ends everything, and leaves nothing behind.
    func stop() async {
        for child in servers.map(\.child) + [standby, primary] { try? await child.stop() }
        try? FileManager.default.removeItem(atPath: folder)
    }

    // MARK: - Parts

    private static let root = "/usr/lib/postgresql"

    /// Of the newest PostgreSQL that Debian installed.
    private static func binaries() throws -> String {
        let versions = ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).compactMap { Int($0) }
            .sorted()
        guard
            let newest = versions.last(where: {
                $0 >= 15 && access("\(root)/\($0)/bin/pg_basebackup", X_OK) == 0
                    && access("\(root)/\($0)/bin/postgres", X_OK) == 0
            })
        else {
            throw CommandFailure(
                .failed, "There is no PostgreSQL 15 or newer under \(root), and no server was named.",
                advice:
                    """
                    Install it (apt-get install postgresql-15), or name running servers with --server and their \
                    database with --database.
                    """
            )
        }
        return "\(root)/\(newest)/bin"
    }

    private static func cluster(_ binaries: String, _ folder: String) async throws -> (
        primary: RehearsalChild, standby: RehearsalChild
    ) {
        // Root cannot run it: then it is the user whom Debian's package made.
        let how = geteuid() == 0 ? "setpriv --reuid=postgres --regid=postgres --clear-groups " : ""
        let owner = geteuid() == 0 ? "chown postgres:postgres \(RehearsalChild.quoted(folder)) && " : ""
        try await shell(
            """
            mkdir -m 700 \(RehearsalChild.quoted(folder)) && \(owner)cd \(RehearsalChild.quoted(folder)) && \
            \(how)mkdir a b && \(how)\(binaries)/initdb -D one -A trust -U fleet -E UTF8 --locale=C --no-sync
            """
        )
        func start(_ data: String, _ socket: String, _ more: String) async throws -> RehearsalChild {
            // Processes are killed, and no machine loses its power: nothing has to be on the disk.
            let child = try RehearsalChild(
                """
                cd \(RehearsalChild.quoted(folder)) && exec \(how)\(binaries)/postgres -D \(data) -k \
                \(RehearsalChild.quoted("\(folder)/\(socket)")) -c listen_addresses= -c fsync=off -c \
                max_connections=60\(more)
                """,
                name: data, in: folder)
            return try await child.wait(seconds: 40) {
                (try? FleetConnection("host='\(folder)/\(socket)' dbname=postgres user=fleet")).map { _ in child }
            }
        }
        // Named on its command line only: the other waits for nobody when it is promoted.
        let primary = try await start("one", "a", " -c synchronous_standby_names='*'")
        try await shell(
            """
            cd \(RehearsalChild.quoted(folder)) && \(how)\(binaries)/pg_basebackup -h \
            \(RehearsalChild.quoted("\(folder)/a")) -U fleet -D two -R -X stream -c fast --no-sync
            """
        )
        return (primary, try await start("two", "b", ""))
    }

    private static func shell(_ script: String) async throws {
        let result = await OtherProgram(path: "/bin/sh").run(["-c", script], limit: 120)
        guard result?.exitCode == 0 else {
            throw CommandFailure(
                .failed,
                """
                PostgreSQL does not start for the rehearsal: \
                \(result?.output.split(separator: "\n").last ?? "it took longer than two minutes").
                """
            )
        }
    }

    private static func serve(_ place: String, _ number: Int, _ folder: String, _ words: String) async throws -> (
        child: RehearsalChild, place: String
    ) {
        // This program itself, also where its file is another one by now.
        let child = try RehearsalChild(
            "exec /proc/\(getpid())/exe serve --listen \(place) --database \(RehearsalChild.quoted(words))",
            name: "server-\(number)", in: folder)
        let mark = "Serving at http://"
        return try await child.wait(seconds: 40) {
            child.words.split(separator: "\n", omittingEmptySubsequences: false).dropLast().first { $0.hasPrefix(mark) }
                .map { (child, String($0.dropFirst(mark.count).prefix { $0 != "/" })) }
        }
    }
}
