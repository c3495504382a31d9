import Foundation
import Outgoing
import Support
import Synchronization
import Testing
import TrackerCore

@testable import FleetStore
@testable import FleetWire

/// What a rehearsal of a restore leaves, however it ends, and what it says where somebody is forgotten meanwhile.
@Suite(
    "A rehearsal of a fleet's restore",
    .enabled(if: PostgreSQL.isInstalled, "PostgreSQL 15 is not installed: apt-get install postgresql-15"))
struct FleetRehearsalTests {
    private let fleet: FleetServeTests.Fleet
    private let store: FleetStore
    private let folder: TemporaryFolder

    init() async throws {
        fleet = try await FleetServeTests.Fleet()
        store = FleetStore(try FleetConnection(fleet.words))
        folder = try TemporaryFolder()
        _ = try FleetStoreTests.gateway(store, "one")
        try store.connection.script(
            """
            INSERT INTO person (name) VALUES ('anna'), ('bob');
            INSERT INTO entry SELECT p, 'k' || i, 'one', 's', i, NULL, 1764000000000, 'UTC', '2025-11-24', 100, false, \
            1, NULL, NULL, 0 FROM unnest(ARRAY['anna', 'bob']) p, generate_series(1, 10000) i
            """)
        try store.refresh()
    }

    private func start(_ manner: [String]) throws -> RunningProgram {
        try Program("waterh-fleet").start(
            ["rehearse-restore", "--folder", folder.path] + manner, environment: fleet.environment)
    }

    private func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path) }

    private func exists(_ database: String) throws -> Bool {
        try !store.connection.run("SELECT 1 FROM pg_database WHERE datname = $1", [database]).isEmpty
    }

    /// Sends a signal to a rehearsal as soon as there is a copy.
    /// - Returns: the copy.
    private func end(_ rehearsal: RunningProgram, _ signal: Int32, staying: Stay? = nil) async throws -> String {
        let words = fleet.words, path = folder.path, server = try await PostgreSQL.shared.value
        let found = try await eventAside(within: 60) { () throws -> (name: String, files: Int)? in
            guard rehearsal.isRunning else { return ("", 0) }
            guard
                let name = try FleetStore(FleetConnection(words)).scratchDatabases().first(where: {
                    $0.isHeld && $0.isOfThis
                })?.name
            else { return nil }
            let files = try FileManager.default.contentsOfDirectory(atPath: path).count
            try staying?.come(to: server.words(name))
            rehearsal.send(signal: signal)
            return (name, files)
        }
        #expect(found?.files == 1)
        return try #require(found?.name.isEmpty == false ? found?.name : nil, "\(rehearsal.output)\(rehearsal.error)")
    }

    /// Somebody in a database: nobody drops it meanwhile.
    private final class Stay: Sendable {
        private let connection = Mutex<FleetConnection?>(nil)

        func come(to database: String) throws { try connection.withLock { $0 = try FleetConnection(database) } }

        func leave() { connection.withLock { $0 = nil } }
    }

    /// A timer ends what takes too long with SIGTERM, and a whole copy of the fleet stayed behind, with its keys.
    @Test(arguments: [[], ["--dump"]], [SIGTERM, SIGHUP, SIGINT]) func whoIsAskedToEndTakesEverythingAway(
        manner: [String], signal: Int32
    ) async throws {
        let rehearsal = try start(manner), name = try await end(rehearsal, signal)
        let end = try await rehearsal.finish()
        #expect(
            end.exitCode == (signal == SIGINT ? 130 : 1) && end.error.contains("ended before it was over"), "\(end)")
        #expect(try !exists(name) && files().isEmpty)
    }

    @Test func whatAKilledOneLeftGoesAtTheNextStartAndWhenSomebodyIsForgotten() async throws {
        let stay = Stay(), rehearsal = try start([]), name = try await end(rehearsal, SIGKILL, staying: stay)
        _ = try await rehearsal.finish()
        #expect(try exists(name) && files().count == 1)
        let said = try await fleet.run("rehearse-restore", "--folder", folder.path)
        #expect(
            said.contains("\(name) was left behind by a rehearsal and is still there")
                && said.contains("waterh-fleet-restore-") && said.hasSuffix("What was restored is what there was.\n"),
            "\(said)")
        #expect(try exists(name) && files().isEmpty)
        stay.leave()
        let isAlone = await event(within: 30) {
            (try? store.connection.run("SELECT 1 FROM pg_stat_activity WHERE datname = $1", [name]).isEmpty) == true
                ? true : nil
        }
        #expect(isAlone == true)
        // Rehearsals of other tests may take it away before.
        _ = try await fleet.run("rehearse-restore", "--folder", folder.path)
        #expect(try !exists(name))

        // One that is under way is nobody's leaving.
        let mine = FleetStore(try FleetConnection(fleet.words)),
            mark = String(UUID().uuidString.prefix(8).lowercased()),
            left = String(UUID().uuidString.prefix(8).lowercased())
        let own = try mine.makeScratchDatabase(mark)
        try store.connection.script("CREATE DATABASE fleet_rehearsal_\(left) TEMPLATE template0")
        let words = try await fleet.run("forget", "anna")
        #expect(words.hasPrefix("Forgotten.\n") && words.contains("\(own) holds what there was, until"), "\(words)")
        #expect(try exists(own) && !exists("fleet_rehearsal_\(left)"))
        try mine.dropScratchDatabase(own)
    }

    /// The command took the database of a killed one away, and left its folder, with everything in it.
    @Test func whoForgetsTakesFoldersAwayThatWereLeftBehind() async throws {
        let left = folder.file("waterh-fleet-restore-0a1b2c3d")
        try FileManager.default.createDirectory(atPath: left, withIntermediateDirectories: false)
        let result = try await Program("waterh-fleet").run(
            ["forget", "anna"], environment: fleet.environment.merging(["TMPDIR": folder.path]) { $1 })
        #expect(
            result.exitCode == 0 && result.output.contains("\(left), which a rehearsal left behind, is taken away.\n"),
            "\(result.output)\(result.error)")
        #expect(try files().isEmpty)
    }

    /// Whoever forgot by way of a server did not hear that a copy of everything was there.
    @Test func whoForgetsByAServerHearsOfTheCopies() async throws {
        let server = try await fleet.serve(), admin = try await fleet.credential("chief", "--admin")
        let mine = FleetStore(try FleetConnection(fleet.words)),
            own = try mine.makeScratchDatabase(String(UUID().uuidString.prefix(8).lowercased()))
        let answer = try await OutgoingClient().send(
            OutgoingRequest("DELETE", server.url + "/v1/people/anna", headers: [("Authorization", "Bearer \(admin)")]))
        let text = String(decoding: answer.body, as: UTF8.self)
        #expect(answer.status == 200 && text.contains(#""forgotten":true"#) && text.contains(own), "\(text)")
        try mine.dropScratchDatabase(own)
        server.program.send(signal: SIGTERM)
        #expect(try await server.program.finish().exitCode == 0)
    }

    /// Nor is a carer of somebody who is forgotten, whom no backup names.
    @Test func aCarerOfSomebodyForgottenIsNoDifference() async throws {
        #expect(
            try store.forget("bob")
                && store.enrol("nurse", as: .carer, id: "n", token: "hash-nurse", people: ["anna", "bob"]))
        let said = try await fleet.run("rehearse-restore", "--folder", folder.path)
        #expect(
            said.contains("The same, gateways and others with a credential: 2.\n")
                && said.contains("The same, people forgotten or known again: 1.\n"), "\(said)")
    }

    /// "DIFFERENT … do not rely on these backups", though they were good.
    @Test func whoIsForgottenMeanwhileIsNoDifference() async throws {
        // The rehearsal has its moment, and waits for the keys as for somebody who forgets.
        let beside = FleetStore(try FleetConnection(fleet.words))
        try beside.connection.run("SELECT pg_advisory_lock(\(FleetStore.batchLock))")
        let rehearsal = try start([])
        let waits = await event(within: 60) {
            (try? store.connection.run(
                """
                SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM \
                pg_database WHERE datname = current_database())
                """
            ).isEmpty) == false ? true : nil
        }
        #expect(waits == true)
        #expect(try beside.forget("bob"))
        try beside.connection.run("SELECT pg_advisory_unlock(\(FleetStore.batchLock))")
        let end = try await rehearsal.finish()
        #expect(
            end.exitCode == 0 && end.output.contains("Somebody was forgotten meanwhile")
                && !end.output.contains("DIFFERENT") && end.output.hasSuffix("What was restored is what there was.\n"),
            "\(end)")
        #expect(end.output.contains("The same, entries by identity: 10000.\n"))
        #expect(try files().isEmpty)
    }
}
