import Foundation
import Support
import Testing
import TrackerCore

@testable import FleetStore
@testable import FleetWire

/// What a rehearsal of a restore leaves, however it ends, and what it says where somebody is forgotten meanwhile.
@Suite("A rehearsal of a fleet's restore", .enabled(if: PostgreSQL.isInstalled, "PostgreSQL 15 is not installed: apt-get install postgresql-15"))
struct FleetRehearsalTests {
    private let fleet: FleetServeTests.Fleet
    private let store: FleetStore
    private let folder: TemporaryFolder

    init() async throws {
        fleet = try await FleetServeTests.Fleet()
        store = FleetStore(try FleetConnection(fleet.words))
        folder = try TemporaryFolder()
        _ = try FleetStoreTests.gateway(store, "one")
        try store.connection.script("""
            INSERT INTO person (name) VALUES ('anna'), ('bob');
            INSERT INTO entry SELECT p, 'k' || i, 'one', 's', i, NULL, 1764000000000, 'UTC', '2025-11-24', 100, false, 1, NULL, NULL, 0 FROM unnest(ARRAY['anna', 'bob']) p, generate_series(1, 10000) i
            """)
        try store.refresh()
    }

    private func start(_ manner: [String]) throws -> RunningProgram {
        try Program("waterh-fleet").start(["rehearse-restore", "--folder", folder.path] + manner, environment: fleet.environment)
    }

    private func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path) }

    private func exists(_ database: String) throws -> Bool { try !store.connection.run("SELECT 1 FROM pg_database WHERE datname = $1", [database]).isEmpty }

    /// The copy, as soon as there is one.
    private func copy(of rehearsal: RunningProgram) async throws -> String {
        let found = await event(within: 60) { rehearsal.isRunning ? try? store.sweepScratchDatabases().underWay.first : "" }
        return try #require(found?.isEmpty == false ? found : nil, "\(rehearsal.output)\(rehearsal.error)")
    }

    /// A timer ends what takes too long with SIGTERM, and a whole copy of the fleet stayed behind, with its keys.
    @Test(arguments: [[], ["--dump"]], [SIGTERM, SIGHUP, SIGINT]) func whoIsAskedToEndTakesEverythingAway(manner: [String], signal: Int32) async throws {
        let rehearsal = try start(manner), name = try await copy(of: rehearsal)
        #expect(try files().count == 1)
        rehearsal.send(signal: signal)
        let end = try await rehearsal.finish()
        #expect(end.exitCode == (signal == SIGINT ? 130 : 1) && end.error.contains("ended before it was over"), "\(end)")
        #expect(try !exists(name) && files().isEmpty)
    }

    @Test func whatAKilledOneLeftGoesAtTheNextStartAndWhenSomebodyIsForgotten() async throws {
        let rehearsal = try start([]), name = try await copy(of: rehearsal)
        rehearsal.send(signal: SIGKILL)
        _ = try await rehearsal.finish()
        #expect(try exists(name) && files().count == 1)
        let isAlone = await event(within: 30) { (try? store.connection.run("SELECT 1 FROM pg_stat_activity WHERE datname = $1", [name]).isEmpty) == true ? true : nil }
        #expect(isAlone == true)
        let said = try await fleet.run("rehearse-restore", "--folder", folder.path)
        #expect(said.contains("\(name), which a rehearsal left behind, is taken away.\n") && said.contains("waterh-fleet-restore-") && said.hasSuffix("What was restored is what there was.\n"), "\(said)")
        #expect(try !exists(name) && files().isEmpty)

        // One that is under way is nobody's leaving.
        let mine = FleetStore(try FleetConnection(fleet.words)), mark = String(UUID().uuidString.prefix(8).lowercased()), left = String(UUID().uuidString.prefix(8).lowercased())
        let own = try mine.makeScratchDatabase(mark)
        try store.connection.script("CREATE DATABASE fleet_rehearsal_\(left) TEMPLATE template0")
        let words = try await fleet.run("forget", "anna")
        #expect(words.hasPrefix("Forgotten.\n") && words.contains("fleet_rehearsal_\(left), which a rehearsal left behind, is taken away.\n") && words.contains("\(own) holds what there was, until"), "\(words)")
        #expect(try exists(own) && !exists("fleet_rehearsal_\(left)"))
        try mine.dropScratchDatabase(own)
    }

    /// "DIFFERENT … do not rely on these backups", though they were good.
    @Test func whoIsForgottenMeanwhileIsNoDifference() async throws {
        // The rehearsal has its moment, and waits for the keys as for somebody who forgets.
        let beside = FleetStore(try FleetConnection(fleet.words))
        try beside.connection.run("SELECT pg_advisory_lock(\(FleetStore.batchLock))")
        let rehearsal = try start([])
        let waits = await event(within: 60) {
            (try? store.connection.run("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())").isEmpty) == false ? true : nil
        }
        #expect(waits == true)
        #expect(try beside.forget("bob"))
        try beside.connection.run("SELECT pg_advisory_unlock(\(FleetStore.batchLock))")
        let end = try await rehearsal.finish()
        #expect(end.exitCode == 0 && end.output.contains("Somebody was forgotten meanwhile") && !end.output.contains("DIFFERENT") && end.output.hasSuffix("What was restored is what there was.\n"), "\(end)")
        #expect(end.output.contains("The same, entries by identity: 10000.\n"))
        #expect(try files().isEmpty)
    }
}
