import ArgumentParser
import CommandKit
import FleetServer
import FleetSimulation
import FleetStore
import Foundation
import TrackerCore

struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate", abstract: "Plays many gateways against running servers, and compares what is there in the end with each gateway's own store.",
        discussion: """
            The database has to be migrated and empty: the gateways are enrolled in it. Batches go to any of the servers, some answers get lost, some batches are told again,
            gateways are cut off for hours. Kill servers and PostgreSQL meanwhile as you like: it ends when everything is told, and fails where one drink is there twice, or
            not at all.
            """)

    @Option(help: "A server, as http://HOST:PORT; can be given several times.")
    var server: [String] = []

    @Option(help: "How many gateways (1 to 5000).")
    var gateways = 20

    @Option(help: "How many bottles each has at home (1 to 100).")
    var bottles = 3

    @Option(help: "How many days are played (1 to 400).")
    var days = 7

    @Option(help: "The same seed plays the same days.")
    var seed: UInt64 = 1

    @Option(help: "A simulated day takes so many seconds at least (0 to 3600).")
    var daySeconds = 0.0

    @Option(help: "Within so many seconds everything is to be told (1 to 86400).")
    var limit = 600

    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        guard !server.isEmpty else { throw ValidationError("Name a server: --server http://127.0.0.1:8090") }
        guard (1...5000).contains(gateways) else { throw ValidationError("--gateways is 1 to 5000.") }
        guard (1...100).contains(bottles) else { throw ValidationError("--bottles is 1 to 100.") }
        guard (1...400).contains(days) else { throw ValidationError("--days is 1 to 400.") }
        guard (0...3600).contains(daySeconds) else { throw ValidationError("--day-seconds is 0 to 3600.") }
        guard (1...86_400).contains(limit) else { throw ValidationError("--limit is 1 to 86400 seconds.") }
    }

    func run() async throws {
        var chance = FleetChance(seed: seed)
        let world = FleetWorld(gateways: gateways, bottles: bottles, days: days, using: &chance)
        let credentials = try enrol(world)
        let began = ContinuousClock.now
        let count = days
        let player = FleetPlayer(world, servers: server, credentials: credentials, seed: seed, dayLength: .seconds(daySeconds), limit: .seconds(limit)) { word in
            switch word {
            case .day(let number): TextOutput.standard.line("Day \(number) of \(count)")
            case .waiting(let waiting): TextOutput.standard.line("The days are over: \(waiting) changes are still to be told.")
            }
            TextOutput.standard.flush()
        }
        let (tally, waiting): (FleetTally, Int)
        do { (tally, waiting) = try await player.run() } catch { throw CommandFailure(.failed, "The simulation ended: \(error)") }
        let seconds = (ContinuousClock.now - began).components.seconds
        let changes = world.gateways.reduce(0) { $0 + $1.changes.count }
        TextOutput.standard.line("\(gateways) gateways, \(world.people.count) bottles, \(days) days, seed \(seed): \(changes) changes told as \(tally.entries) in \(tally.committed) batches, in \(seconds) s.")
        let refused = tally.refused.sorted { $0.key < $1.key }.map { ", \($0.value) times status \($0.key)" }.joined()
        TextOutput.standard.line("On the way: \(tally.lost) answers lost, \(tally.replayed) batches with what was told before, \(tally.unanswered) without an answer\(refused).")
        guard waiting == 0 else { throw CommandFailure(.failed, "\(waiting) changes were not told within \(limit) s.", advice: "See whether the servers take batches, or allow more with --limit.") }
        let differences = try database.use { store in try world.differences { try store.days(of: $0) } }
        guard differences.isEmpty else {
            for difference in differences.prefix(10) { TextOutput.standard.line(difference) }
            throw CommandFailure(.failed, "\(differences.count) days are not those of the gateways' own stores (seed \(seed)).")
        }
        let totals = world.totals.values.flatMap(\.values)
        TextOutput.standard.line("Every drink is there once: \(totals.reduce(0) { $0 + $1.drinks }) drinks on \(totals.count) days, as in the gateways' own stores.")
    }

    private func enrol(_ world: FleetWorld) throws -> [String] {
        try database.use { store in
            let there = try store.overview(now: Instant(milliseconds: 0))
            guard there.people.isEmpty, there.gateways.isEmpty else {
                throw CommandFailure(.refused, "This database is in use: there are gateways or people in it.", advice: "Create one for the simulation, and run waterh-fleet migrate there.")
            }
            var random = SystemRandomNumberGenerator()
            return try world.gateways.map { gateway in
                let credential = FleetCredential.text(random: (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) })
                guard try store.enrol(gateway.name, as: .gateway, id: UUID().uuidString.lowercased(), token: FleetCredential.hash(credential)) else {
                    throw CommandFailure(.refused, "Another simulation begins in this database.")
                }
                return credential
            }
        }
    }
}
