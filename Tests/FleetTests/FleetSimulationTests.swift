import FleetSimulation
import FleetStore
import Foundation
import Support
import Testing
import TrackerCore

@testable import FleetWire

@Suite("A city that does not exist")
struct FleetSimulationTests {
    /// PostgreSQL's primary and one server after the other are killed while gateways tell a week; what is there in the
    /// end is every drink, once.
    @Test(.enabled(if: PostgreSQL.isInstalled, "PostgreSQL 15 is not installed: apt-get install postgresql-15"))
    func everyDrinkIsThereOnceThoughPrimaryAndServersAreKilled() async throws {
        let seed = Self.wish("SEED") ?? UInt64.random(in: 1...1_000_000)
        let gateways = Self.wish("GATEWAYS") ?? 12, bottles = Self.wish("BOTTLES") ?? 2, days = Self.wish("DAYS") ?? 7
        print("fleet simulation: seed \(seed)")
        var chance = SeededGenerator(seed: seed)
        let pair = try await PostgreSQLPair()
        let fleet = try await FleetServeTests.Fleet(pair.words)
        var servers = [try await fleet.serve(), try await fleet.serve()]
        let limit = 120 + Double(gateways * bottles * days) / 4
        let simulation = try Program("waterh-fleet").start(
            [
                "simulate", "--gateways", "\(gateways)", "--bottles", "\(bottles)", "--days", "\(days)", "--seed",
                "\(seed)", "--day-seconds", "0.5", "--limit", "\(Int(limit))",
            ] + servers.flatMap { ["--server", $0.url] }, environment: fleet.environment)
        for day in 2...max(2, days) {
            _ = try await simulation.line(limit: limit) { $0 == "Day \(day) of \(days)" }
            if day == (days + 1) / 2 {
                try await pair.killPrimary()
                try pair.promote()
            } else {
                let victim = Int.random(in: 0...1, using: &chance)
                servers[victim].program.send(signal: SIGKILL)
                _ = try await servers[victim].program.finish()
                // Where it was before, as a service manager starts it again.
                servers[victim] = try await fleet.serve(
                    "--listen", String(servers[victim].url.dropFirst("http://".count)))
            }
        }
        let result = try await simulation.finish(limit: limit + 60)
        print(result.output.split(separator: "\n").suffix(3).joined(separator: "\n"))
        #expect(
            result.exitCode == 0 && result.output.contains("Every drink is there once"),
            "seed \(seed): \(result.output) \(result.error)")
        #expect(!result.output.contains(", 0 without an answer."), "nothing was killed while somebody told")

        // Its judge is awake: one drink less is a difference, and is told.
        let connection = try pair.connection()
        try connection.script(
            "DELETE FROM entry WHERE (person, key) IN (SELECT person, key FROM drink WHERE NOT deleted LIMIT 1)")
        var same = FleetChance(seed: seed)
        let world = FleetWorld(gateways: gateways, bottles: bottles, days: days, using: &same)
        try FleetStore(connection).refresh()
        let differences = try world.differences { try FleetStore(connection).days(of: $0) }
        #expect(differences.count == 1, "\(differences)")
        for server in servers { server.program.send(signal: SIGTERM) }
        // And a second time there is no room for it.
        #expect(
            try await fleet.run("simulate", "--server", servers[0].url, code: 3).contains("This database is in use"))
    }

    /// The issue's own words are a command that needs nothing but Debian's PostgreSQL: it asked for servers that nobody
    /// had started.
    @Test(.enabled(if: PostgreSQL.isInstalled, "PostgreSQL 15 is not installed: apt-get install postgresql-15"))
    func aRehearsalWithoutServersStartsAndKillsItsOwn() async throws {
        let folder = try TemporaryFolder()
        let simulation = try Program("waterh-fleet").start(
            ["simulate", "--gateways", "4", "--bottles", "2", "--days", "4", "--seed", "11"],
            environment: ["TMPDIR": folder.path, "WATERH_FLEET_DATABASE": ""])
        let result = try await simulation.finish(limit: 200)
        #expect(
            result.exitCode == 0 && result.output.contains("Every drink is there once"),
            "\(result.output) \(result.error)")
        #expect(
            result.output.contains("The primary is killed, and its standby promoted.\n")
                && result.lines.filter { $0.hasSuffix("is killed, and started again.") }.count == 2)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty, "it leaves nothing behind")
    }

    /// A larger one, or one seed again: `WATERH_FLEET_GATEWAYS=500 WATERH_FLEET_BOTTLES=3 WATERH_FLEET_DAYS=30
    /// WATERH_FLEET_SEED=4`.
    private static func wish<Number: FixedWidthInteger>(_ name: String) -> Number? {
        ProcessInfo.processInfo.environment["WATERH_FLEET_\(name)"].flatMap { Number($0) }
    }

    /// Who cancels a commit that waits for the standby gets it nevertheless, on the primary alone; the fleet said 200,
    /// and the standby would not have had it.
    @Test(.enabled(if: PostgreSQL.isInstalled, "PostgreSQL 15 is not installed: apt-get install postgresql-15"))
    func whatTheStandbyMayNotHaveIsNotAnsweredWith200() async throws {
        let pair = try await PostgreSQLPair()
        let fleet = try await FleetServeTests.Fleet(pair.words)
        let gateway = try await fleet.credential("ward-1", "--anybody")
        let server = try await fleet.serve()
        let batch = try FleetLines.bytes([FleetEntryTests.entry()])
        try pair.standbyHears(false)
        async let first = FleetServeTests.post(server.url, gateway, batch)
        let looker = try pair.connection()
        let waiting = try await event {
            try looker.run("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").isEmpty
                ? nil : true
        }
        #expect(waiting == true)
        let answer = try await first
        #expect(
            answer.status == 503
                && String(decoding: answer.body, as: UTF8.self).contains("See whether its standby gets on"),
            "\(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        try pair.standbyHears(true)
        // It is told again, and known; this time both have it.
        let again = try await FleetServeTests.post(server.url, gateway, batch)
        #expect(
            again.status == 200 && String(decoding: again.body, as: UTF8.self) == #"{"taken":0,"known":1,"parked":0}"#)
        try await pair.killPrimary()
        try pair.promote()
        #expect(try FleetStore(try pair.connection()).days(of: "anna")?.map(\.ml) == [16])
        server.program.send(signal: SIGTERM)
    }

    /// The database's limit does not end a COMMIT that waits for a standby. It was given up after a minute and not
    /// after 22 s, and kept its place at the database, until nobody was let in.
    @Test(.enabled(if: PostgreSQL.isInstalled, "PostgreSQL 15 is not installed: apt-get install postgresql-15"))
    func whatWaitsForAStandbyIsGivenUpInTimeAndLeavesItsPlace() async throws {
        let pair = try await PostgreSQLPair()
        let looker = try pair.connection()
        _ = try FleetStore(looker).migrate()
        let gateway = try FleetStoreTests.gateway(FleetStore(looker), "one")
        let store = FleetStore(try FleetConnection(pair.words, statementLimit: .seconds(3)))
        try pair.standbyHears(false)
        let before = ContinuousClock.now
        let failure = #expect(throws: FleetFailure.self) {
            try store.take(FleetStoreTests.lines([FleetEntryTests.entry()]), from: gateway)
        }
        // It is 5 s; that of each of three statements would be 11 s.
        #expect(failure?.kind == .slow && ContinuousClock.now - before < .seconds(9), "\(ContinuousClock.now - before)")
        let isFree = try await event {
            try looker.run("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'").isEmpty ? true : nil
        }
        #expect(isFree == true)
        try pair.standbyHears(true)
        #expect(
            try FleetStore(try pair.connection()).take(FleetStoreTests.lines([FleetEntryTests.entry()]), from: gateway)
                .known == 1)
    }

    @Test func aSeedPlaysTheSameDaysAndTheFoldOfThemIsThat() {
        var chances = [FleetChance(seed: 7), FleetChance(seed: 7), FleetChance(seed: 8)]
        let worlds = chances.indices.map { FleetWorld(gateways: 3, bottles: 2, days: 3, using: &chances[$0]) }
        let told = worlds.map { $0.gateways.map { $0.changes.map(\.entry) } }
        #expect(told[0] == told[1] && told[0] != told[2] && worlds[0].totals == worlds[1].totals)
        for gateway in worlds[0].gateways {
            #expect(gateway.changes.map(\.entry.place) == gateway.changes.indices.map { Int64($0 + 1) })
            #expect(
                gateway.changes.map(\.hour) == gateway.changes.map(\.hour).sorted()
                    && gateway.changes.allSatisfy { (0..<72).contains($0.hour) })
            #expect(gateway.changes.allSatisfy { $0.entry.bottle != nil })
        }
        let own = worlds[0].totals
        #expect(worlds[0].differences { person in own[person]?.map { ($0.key, $0.value.ml, $0.value.drinks) } } == [])
        #expect(worlds[0].differences { _ in nil }.count == own.values.reduce(0) { $0 + $1.count })
    }
}
