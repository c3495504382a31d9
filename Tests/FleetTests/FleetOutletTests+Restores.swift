import Foundation
import Store
import Support
import Testing
import TrackerCore

@testable import FleetStore
@testable import FleetSurface

/// A store that is put back, and what its fleet knows then.
extension FleetOutletTests {
    /// What becomes of a store, and of what it tells.
    enum Step: Hashable, Sendable, CustomStringConvertible {
        case log
        /// Of the drinks that were ever logged; where it is there.
        case delete(Int)
        case undo
        case backUp
        /// Of the backups.
        case restore(Int)
        /// An answer gets lost: what waits is told, and not noted.
        case lose
        /// Until the fleet has everything.
        case settle

        var description: String {
            switch self {
            case .log: "log"
            case .delete(let number): "delete \(number)"
            case .undo: "undo"
            case .backUp: "back up"
            case .restore(let number): "restore \(number)"
            case .lose: "lose"
            case .settle: "settle"
            }
        }
    }

    /// What strangers found: deleted behind the backup; the same with a lost answer; a wrong backup, a change, and the way back; and a store that was put back before it was told.
    static let knownDays: [[Step]] = [
        [.log, .log, .settle, .backUp, .delete(0), .settle, .restore(0)],
        [.log, .log, .settle, .backUp, .log, .delete(0), .delete(1), .settle, .log, .lose, .settle, .restore(0)],
        [.log, .log, .settle, .backUp, .log, .log, .log, .settle, .backUp, .restore(0), .delete(0), .settle, .restore(1)],
        [.log, .log, .backUp, .log, .restore(0)],
    ]

    @Test(.enabled(if: PostgreSQL.isInstalled, "PostgreSQL 15 is not installed"), arguments: knownDays) func aStoreThatIsPutBackIsToldAsItIs(steps: [Step]) async throws {
        try await play(steps, "")
    }

    /// Whatever is put back in whatever order, and whichever answers get lost: of each drink that is here the fleet knows how it is here.
    @Test(.enabled(if: PostgreSQL.isInstalled, "PostgreSQL 15 is not installed")) func aStoreIsToldAsItIsWhateverIsPutBack() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var numbers = seed
        func next(_ limit: Int) -> Int {
            numbers = numbers &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(numbers >> 33) % limit
        }
        let steps: [Step] = (0..<60).flatMap { _ -> [Step] in
            let step: Step = switch next(8) {
            case 0, 1: .log
            case 2, 3: .delete(next(100))
            case 4: .undo
            case 5: .backUp
            case 6: .restore(next(100))
            default: .lose
            }
            return next(2) == 0 ? [step, .settle] : [step]
        }
        try await play(steps, "seed \(seed)")
    }

    /// Plays it against a real fleet; then one more is drunk, and the two are compared.
    private func play(_ steps: [Step], _ seed: String) async throws {
        let fleet = try await FleetServeTests.Fleet()
        try Data(try await fleet.credential("ward", "--anybody").utf8).write(to: folder.url("token"))
        let server = try await fleet.serve(), peer = try await WebPeer()
        var (backups, keys): ([String], [String]) = ([], [])
        try await with(peer, plan: FleetPlan(url: server.url, tokenFile: folder.file("token"))) { outlet in
            func settle() async throws {
                await outlet.poke()
                let isTold = try await event { try store.waiting(for: FleetOutlet.name) == 0 ? true : nil }
                #expect(isTold == true)
            }
            for (number, step) in steps.enumerated() {
                switch step {
                case .log: keys.append(try store.logDrink(ml: 100 + number, context()).drink.key)
                case .delete(let drink):
                    guard !keys.isEmpty else { continue }
                    let key = keys[drink % keys.count]
                    if let found = try store.drinks(named: key).first(where: { $0.drink.key == key }), !found.drink.isDeleted { _ = try store.deleteDrink(key, context()) }
                case .undo: _ = try? store.undo(context())
                case .backUp:
                    backups.append(folder.file("b\(number)"))
                    try store.backUp(to: backups[backups.count - 1])
                case .restore(let backup):
                    guard !backups.isEmpty else { continue }
                    let scratch = folder.url("scratch \(number)")
                    try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: false)
                    try store.restore(from: backups[backup % backups.count], scratch: scratch.path)
                case .lose:
                    let changes = try store.changes(for: FleetOutlet.name, limit: 9)
                    guard !changes.isEmpty else { continue }
                    try await settle()
                    let sql = "BEGIN IMMEDIATE; UPDATE outlet SET position = \(changes[0].sequence - 1) WHERE name = 'fleet';"
                        + changes.map { " INSERT INTO drink_change (seq, key) VALUES (\($0.sequence), '\($0.key)') ON CONFLICT DO NOTHING;" }.joined() + " COMMIT;"
                    #expect(try await Program(path: "/usr/bin/sqlite3").run(["-cmd", ".timeout 5000", folder.file("w.sqlite"), sql]).exitCode == 0)
                case .settle: try await settle()
                }
            }
            keys.append(try store.logDrink(ml: 99, context()).drink.key)
            try await settle()
        }
        let there = FleetStore(try FleetConnection(fleet.words))
        for key in Set(keys) {
            guard let here = try store.drinks(named: key).first(where: { $0.drink.key == key })?.drink else { continue }
            let row = try there.connection.run("SELECT ml, deleted FROM drink WHERE person = 'anna' AND key = $1", [key]).first
            #expect(row == ["\(here.ml)", here.isDeleted ? "t" : "f"], "\(seed) \(steps)")
        }
        server.program.send(signal: SIGTERM)
        _ = try await server.program.finish()
    }
}
