import ArgumentParser
import CommandKit
import FleetServer
import FleetSimulation
import FleetStore
import Foundation
import TrackerCore

struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract:
            "Plays many gateways against servers, and compares what is there in the end with each gateway's own store.",
        discussion: """
            Batches go to any of the servers, some answers get lost, some batches are told again, gateways are cut off \
            for hours. It ends when everything is told, and fails
            where one drink is there twice, or not at all.

            Without --server it starts what it needs in a temporary folder: Debian's PostgreSQL (15 or newer) with a \
            synchronous standby, and two servers. On each day one of
            the servers is killed and started again; in the middle the primary is killed and the standby promoted. \
            With --server the database has to be migrated and
            empty, and you kill what you like.
            """)

    @Option(
        help:
            """
            A running server, as http://HOST:PORT; can be given several times. Without one: two, and PostgreSQL, \
            of this rehearsal's own.
            """
    )
    var server: [String] = []

    @Option(help: "How many gateways (1 to 5000).")
    var gateways = 20

    @Option(help: "How many bottles each has at home (1 to 100).")
    var bottles = 3

    @Option(help: "How many days are played (1 to 400).")
    var days = 7

    @Option(help: "The same seed plays the same days.")
    var seed: UInt64 = 1

    @Option(help: "A simulated day takes so many seconds at least (0 to 3600). Default: 0 with --server, else 0.5.")
    var daySeconds: Double?

    @Option(
        help:
            """
            Within so many seconds everything is to be told (1 to 86400). Default: 600, or more where much is to \
            be told.
            """
    )
    var limit: Int?

    @Flag(help: "Nobody is reached on any of the days, nothing is killed, and afterwards all tell everything at once.")
    var outage = false

    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        guard !server.isEmpty || database.database == nil else {
            throw ValidationError(
                "A database alone serves nobody: name a server of it, too (--server http://127.0.0.1:8090), or neither."
            )
        }
        guard (1...5000).contains(gateways) else { throw ValidationError("--gateways is 1 to 5000.") }
        guard (1...100).contains(bottles) else { throw ValidationError("--bottles is 1 to 100.") }
        guard (1...400).contains(days) else { throw ValidationError("--days is 1 to 400.") }
        guard (0...3600).contains(daySeconds ?? 0) else { throw ValidationError("--day-seconds is 0 to 3600.") }
        guard (1...86_400).contains(limit ?? 1) else { throw ValidationError("--limit is 1 to 86400 seconds.") }
    }

    func run() async throws {
        guard server.isEmpty else { return try await play(server, database) }
        let rehearsal = try await Rehearsal(seed: seed)
        do {
            TextOutput.standard.line("PostgreSQL with a standby and two servers run.")
            TextOutput.standard.flush()
            var own = DatabaseOptions()
            own.database = rehearsal.words
            try await play(await rehearsal.addresses, own, rehearsal)
        } catch {
            await rehearsal.stop()
            throw error
        }
        await rehearsal.stop()
    }

    /// - Parameter rehearsal: what is killed on each day; `nil`: nothing, by us.
    private func play(_ servers: [String], _ database: DatabaseOptions, _ rehearsal: Rehearsal? = nil) async throws {
        var chance = FleetChance(seed: seed)
        let world = FleetWorld(gateways: gateways, bottles: bottles, days: days, using: &chance)
        let credentials = try enrol(world, database)
        let began = ContinuousClock.now
        let count = days
        let limit = limit ?? max(600, gateways * bottles * days / 20)
        let dayLength = Duration.seconds(daySeconds ?? (rehearsal == nil ? 0 : 0.5))
        let (days, day) = AsyncStream.makeStream(of: Int.self)
        let player = FleetPlayer(
            world, servers: servers, credentials: credentials, seed: seed, dayLength: dayLength, isOutage: outage,
            limit: .seconds(limit)
        ) { word in
            switch word {
            case .day(let number):
                TextOutput.standard.line("Day \(number) of \(count)")
                day.yield(number)
            case .waiting(let waiting):
                TextOutput.standard.line("The days are over: \(waiting) changes are still to be told.")
                day.finish()
            }
            TextOutput.standard.flush()
        }
        let (tally, waiting): (FleetTally, Int)
        do {
            (tally, waiting) = try await withThrowingTaskGroup(of: (tally: FleetTally, waiting: Int)?.self) { group in
                group.addTask { try await player.run() }
                group.addTask {
                    try await Self.disturb(rehearsal, days, of: count)
                    return nil
                }
                defer { group.cancelAll() }
                var played: (tally: FleetTally, waiting: Int) = (FleetTally(), 0)
                for try await result in group { played = result ?? played }
                return played
            }
        } catch let failure as CommandFailure { throw failure } catch {
            throw CommandFailure(.failed, "The simulation ended: \(error)")
        }
        let seconds = (ContinuousClock.now - began).components.seconds
        let changes = world.gateways.reduce(0) { $0 + $1.changes.count }
        TextOutput.standard.line(
            """
            \(gateways) gateways, \(world.people.count) bottles, \(count) days, seed \(seed): \(changes) changes \
            told as \(tally.entries) in \(tally.committed) batches, in \(seconds) s.
            """
        )
        let refused = tally.refused.sorted { $0.key < $1.key }.map { ", \($0.value) times status \($0.key)" }.joined()
        TextOutput.standard.line(
            """
            On the way: \(tally.lost) answers lost, \(tally.replayed) batches with what was told before, \
            \(tally.unanswered) without an answer\(refused).
            """
        )
        guard waiting == 0 else {
            throw CommandFailure(
                .failed, "\(waiting) changes were not told within \(limit) s.",
                advice: "See whether the servers take batches, or allow more with --limit.")
        }
        let differences = try database.use { store in
            try store.refresh()
            return try world.differences { try store.days(of: $0) }
        }
        guard differences.isEmpty else {
            for difference in differences.prefix(10) { TextOutput.standard.line(difference) }
            throw CommandFailure(
                .failed, "\(differences.count) days are not those of the gateways' own stores (seed \(seed)).")
        }
        if let memory = await rehearsal?.memory() {
            TextOutput.standard.line(
                "The servers used at most \(memory.map { "\($0 >> 10) MB" }.joined(separator: " and ")).")
        }
        let totals = world.totals.values.flatMap(\.values)
        TextOutput.standard.line(
            """
            Every drink is there once: \(totals.reduce(0) { $0 + $1.drinks }) drinks on \(totals.count) days, as \
            in the gateways' own stores.
            """
        )
    }

    /// From the second day on, one thing after the other.
    private static func disturb(_ rehearsal: Rehearsal?, _ days: AsyncStream<Int>, of count: Int) async throws {
        guard let rehearsal else { return }
        for await day in days where day > 1 {
            TextOutput.standard.line(try await rehearsal.disturb(day: day, of: count))
            TextOutput.standard.flush()
        }
    }

    private func enrol(_ world: FleetWorld, _ database: DatabaseOptions) throws -> [String] {
        try database.use { store in
            let there = try store.overview(now: Instant(milliseconds: 0))
            guard there.people.isEmpty, there.gateways.isEmpty else {
                throw CommandFailure(
                    .refused, "This database is in use: there are gateways or people in it.",
                    advice: "Create one for the simulation, and run waterh-fleet migrate there.")
            }
            var random = SystemRandomNumberGenerator()
            return try world.gateways.map { gateway in
                let credential = FleetCredential.text(
                    random: (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) })
                guard
                    try store.enrol(
                        gateway.name, as: .gateway, id: UUID().uuidString.lowercased(),
                        token: FleetCredential.hash(credential))
                else {
                    throw CommandFailure(.refused, "Another simulation begins in this database.")
                }
                return credential
            }
        }
    }
}
