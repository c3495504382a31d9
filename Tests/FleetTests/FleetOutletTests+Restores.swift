import Foundation
import Store
import Support
import Synchronization
import Testing
import TrackerCore

@testable import FleetStore
@testable import FleetSurface
@testable import FleetWire

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
        /// Until the fleet has everything, where it is on.
        case settle
        /// The configuration names no fleet any more, and once more does.
        case off, on

        var description: String {
            switch self {
            case .log: "log"
            case .delete(let number): "delete \(number)"
            case .undo: "undo"
            case .backUp: "back up"
            case .restore(let number): "restore \(number)"
            case .lose: "lose"
            case .settle: "settle"
            case .off: "off"
            case .on: "on"
            }
        }
    }

    /// What strangers found: deleted behind the backup; the same with a lost answer; a wrong backup, a change, and the
    /// way back; a store that was put back before it was told; and with a fleet that was off meanwhile. Nobody drinks
    /// behind that: a restore is told by itself.
    static let knownDays: [[Step]] = [
        [.log, .log, .settle, .backUp, .delete(0), .settle, .restore(0)],
        [.log, .log, .settle, .backUp, .log, .delete(0), .delete(1), .settle, .log, .lose, .settle, .restore(0)],
        [
            .log, .log, .settle, .backUp, .log, .log, .log, .settle, .backUp, .restore(0), .delete(0), .settle,
            .restore(1),
        ],
        [.log, .log, .backUp, .log, .restore(0)],
        [.log, .log, .settle, .backUp, .delete(0), .settle, .off, .restore(0), .on],
        [.log, .log, .settle, .off, .delete(0), .log, .on],
        [.log, .settle, .backUp, .delete(0), .delete(0), .settle, .restore(0), .log, .lose, .restore(0)],
    ]

    @Test(.enabled(if: PostgreSQL.isInstalled, "PostgreSQL 15 is not installed"), arguments: knownDays)
    func aStoreThatIsPutBackIsToldAsItIs(steps: [Step]) async throws {
        try await play(steps, "")
    }

    /// Whatever is put back in whatever order, and whichever answers get lost: of each drink that is here the fleet
    /// knows how it is here.
    @Test(.enabled(if: PostgreSQL.isInstalled, "PostgreSQL 15 is not installed"))
    func aStoreIsToldAsItIsWhateverIsPutBack() async throws {
        let seed =
            ProcessInfo.processInfo.environment["WATERH_FLEET_SEED"].flatMap(UInt64.init)
            ?? UInt64.random(in: 0 ... .max)
        var numbers = seed
        func next(_ limit: Int) -> Int {
            numbers = numbers &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(numbers >> 33) % limit
        }
        let steps: [Step] = (0..<60).flatMap { _ -> [Step] in
            let step: Step =
                switch next(8) {
                case 0, 1: .log
                case 2, 3: .delete(next(100))
                case 4: .undo
                case 5: .backUp
                case 6: next(4) == 0 ? next(2) == 0 ? .off : .on : .restore(next(100))
                default: .lose
                }
            return next(2) == 0 ? [step, .settle] : [step]
        }
        try await play(steps, "seed \(seed)")
    }

    /// Plays it against a real fleet; then the two are compared.
    private func play(_ steps: [Step], _ seed: String) async throws {
        let fleet = try await FleetServeTests.Fleet()
        try Data(try await fleet.credential("ward", "--anybody").utf8).write(to: folder.url("token"))
        let server = try await fleet.serve(), peer = try await WebPeer()
        var (backups, keys): ([String], [String]) = ([], [])
        // Of what is drunk while no fleet is named it need not hear.
        var untold: Set<String> = []
        let isOn = Mutex(true)
        try await with(
            peer, plan: FleetPlan(url: server.url, tokenFile: folder.file("token")), isOn: { isOn.withLock { $0 } }
        ) { outlet in
            func settle() async throws {
                await outlet.poke()
                guard isOn.withLock({ $0 }) else { return }
                // Who waits for nothing may still be switched off.
                let isOpen = try await event { try store.isOutletOpen(FleetOutlet.name) ? true : nil }
                #expect(isOpen == true)
                let isTold = try await event { try store.waiting(for: FleetOutlet.name) == 0 ? true : nil }
                #expect(isTold == true)
            }
            for (number, step) in steps.enumerated() {
                switch step {
                case .log:
                    keys.append(try store.logDrink(ml: 100 + number, context()).drink.key)
                    if !isOn.withLock({ $0 }) { untold.insert(keys[keys.count - 1]) }
                case .delete(let drink):
                    guard !keys.isEmpty else { continue }
                    let key = keys[drink % keys.count]
                    if let found = try store.drinks(named: key).first(where: { $0.drink.key == key }),
                        !found.drink.isDeleted
                    {
                        _ = try store.deleteDrink(key, context())
                    }
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
                    let sql =
                        "BEGIN IMMEDIATE; UPDATE outlet SET position = \(changes[0].sequence - 1) WHERE name = 'fleet';"
                        + changes.map {
                            """
                             INSERT INTO drink_change (seq, key) VALUES (\($0.sequence), '\($0.key)') ON CONFLICT \
                            DO NOTHING;
                            """
                        }.joined() + " COMMIT;"
                    #expect(
                        try await Program(path: "/usr/bin/sqlite3").run([
                            "-cmd", ".timeout 5000", folder.file("w.sqlite"), sql,
                        ]).exitCode == 0)
                case .settle: try await settle()
                case .off, .on:
                    isOn.withLock { $0 = step == .on }
                    await outlet.poke()
                    let isLooked = try await event {
                        try store.isOutletOpen(FleetOutlet.name) == (step == .on)
                            || store.waiting(for: FleetOutlet.name) > 0 ? true : nil
                    }
                    #expect(isLooked == true)
                }
            }
            isOn.withLock { $0 = true }
            try await settle()
        }
        let there = FleetStore(try FleetConnection(fleet.words))
        for key in Set(keys) {
            guard let here = try store.drinks(named: key).first(where: { $0.drink.key == key })?.drink else { continue }
            let row = try there.connection.run(
                "SELECT ml, deleted FROM drink WHERE person = 'anna' AND key = $1", [key]
            ).first
            #expect(
                row == ["\(here.ml)", here.isDeleted ? "t" : "f"] || row == nil && untold.contains(key),
                """
                \(keys.firstIndex(of: key) ?? -1): here \(here.ml)\(here.isDeleted ? " deleted" : ""), there \
                \(row ?? []); \(seed) \(steps)
                """
            )
        }
        server.program.send(signal: SIGTERM)
        _ = try await server.program.finish()
    }

    private func waiting(_ store: TrackerStore? = nil) throws -> [Int?] {
        try (store ?? self.store).changes(for: FleetOutlet.name, limit: 99).map {
            $0.drink.map { $0.drink.ml * ($0.drink.isDeleted ? -1 : 1) }
        }
    }

    private func tell(_ store: TrackerStore? = nil) throws {
        let store = store ?? self.store
        guard let last = try store.changes(for: FleetOutlet.name, limit: 99).last else { return }
        try store.delivered(FleetOutlet.name, through: last.sequence)
    }

    private func putBack(_ store: TrackerStore? = nil, _ name: String = "backup") throws {
        let scratch = folder.url(UUID().uuidString)
        try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: false)
        try (store ?? self.store).restore(from: folder.file(name), scratch: scratch.path)
    }

    /// One drink of 1 ml that fleet a was told, a backup, and then 400 ml instead, of which it was not told yet.
    private func putRightBehindABackup() throws {
        _ = try store.openOutlet(FleetOutlet.name) { "one" }
        try store.tellFleet("a")
        let key = try store.logDrink(ml: 1, context()).drink.key
        try tell()
        try store.backUp(to: folder.file("backup"))
        _ = try store.editDrink(key, ml: 400, context())
    }

    /// A second restore while the answer to what the first one led to was on its way: that answer counted for what came
    /// behind it.
    @Test func whatIsOnItsWayDuringARestoreSaysNothingOfIt() throws {
        let outlet = try store.openOutlet(FleetOutlet.name) { "one" }
        try store.tellFleet("a")
        for ml in 1...3 { _ = try store.logDrink(ml: ml, context()) }
        try tell()
        try store.backUp(to: folder.file("backup"))
        for key in try store.allDrinks().prefix(2).map(\.key) { _ = try store.deleteDrink(key, context()) }
        try tell()
        try putBack()
        #expect(try waiting() == [1, 2, 3])
        let onItsWay = try #require(store.changes(for: FleetOutlet.name, limit: 99).last)
        try putBack()
        try store.delivered(FleetOutlet.name, through: onItsWay.sequence, as: outlet.id)
        #expect(try waiting() == [1, 2, 3])
        // Places grow, whatever is put back: so the fleet takes none of it for old.
        #expect(try store.changes(for: FleetOutlet.name, limit: 1)[0].sequence > onItsWay.sequence)
        _ = try store.logDrink(ml: 4, context())
        #expect(try waiting() == [1, 2, 3, 4])
        try tell()
        #expect(try waiting() == [])
    }

    /// The store's disk was lost while drinks waited, and the new store was filled before a service had opened it: what
    /// waited in the backup was told by nobody.
    @Test(arguments: [true, false]) func aNewStoreTellsWhatWaitedInTheBackup(isOpenedFirst: Bool) throws {
        _ = try store.logDrink(ml: 9, context())
        _ = try store.openOutlet(FleetOutlet.name) { "one" }
        try store.tellFleet("a")
        for ml in 1...2 { _ = try store.logDrink(ml: ml, context()) }
        try tell()
        for ml in 3...4 { _ = try store.logDrink(ml: ml, context()) }
        try store.backUp(to: folder.file("backup"))
        func open(_ new: TrackerStore, _ fleet: String) throws {
            _ = try new.openOutlet(FleetOutlet.name) { "two" }
            try new.tellFleet(fleet)
        }
        for (fleet, told) in [("a", [1, 2, 3, 4, 5]), ("b", isOpenedFirst ? [3, 4, 5] : [5])] {
            let new = try TrackerStore(path: folder.file("\(fleet).sqlite"), hostZone: "UTC")
            if isOpenedFirst { try open(new, fleet) }
            try putBack(new)
            try open(new, fleet)
            _ = try new.logDrink(ml: 5, context())
            // What was drunk before there was a fleet is none of its business, and neither is what another one was
            // told.
            #expect(try waiting(new) == told, "\(fleet)")
        }
    }

    /// Purged and put back under a running service: everything that was ever drunk was told, to a fleet and to a
    /// broker, as if it were news.
    @Test func whatIsPutBackBehindAPurgeIsNoNews() throws {
        for ml in 1...3 { _ = try store.logDrink(ml: ml, context()) }
        for name in ["mqtt", FleetOutlet.name] { _ = try store.openOutlet(name) { "one" } }
        try store.tellFleet("a")
        _ = try store.logDrink(ml: 4, context())
        let onItsWay = try #require(store.changes(for: FleetOutlet.name, limit: 9).last)
        try tell()
        try store.noteKept(["generation 1"], of: FleetOutlet.name)
        try store.backUp(to: folder.file("backup"))
        try store.purge()
        // No broker can take back what the outlet notes for itself.
        #expect(try store.leavings().isEmpty)
        try putBack()
        _ = try store.logDrink(ml: 5, context())
        for name in ["mqtt", FleetOutlet.name] { _ = try store.openOutlet(name, tellsAll: true) { "two" } }
        try store.tellFleet("a")
        #expect(try store.changes(for: "mqtt", limit: 9).map { $0.drink?.drink.ml } == [5])
        #expect(try waiting() == [5, 4])
        // An answer of before the purge says nothing.
        try store.delivered(FleetOutlet.name, through: onItsWay.sequence + 100, as: "one")
        #expect(try waiting() == [5, 4])
    }

    /// A record that was dated anew has another key, and its old one waited to be told as gone: after a restore the
    /// fleet kept both.
    @Test func whatWaitsToBeToldAsGoneWaitsBehindARestore() async throws {
        _ = try store.openOutlet(FleetOutlet.name) { "one" }
        try store.tellFleet("a")
        for ml in 1...2 { _ = try store.logDrink(ml: ml, context()) }
        try tell()
        #expect(
            try await Program(path: "/usr/bin/sqlite3").run([folder.file("w.sqlite"), "DELETE FROM drink WHERE ml = 1"])
                .exitCode == 0)
        #expect(try waiting() == [nil])
        try store.backUp(to: folder.file("backup"))
        try putBack()
        #expect(try waiting() == [2, nil])
        // What is drunk behind the backup and not there any more stays as it was told.
        _ = try store.logDrink(ml: 3, context())
        try putBack()
        #expect(try waiting() == [2, nil])
    }

    /// The amount was put right behind the backup: after the restore the fleet counted the sip twice, as it was and as
    /// it was put right.
    @Test func whatWasPutRightBehindTheBackupCountsOnce() throws {
        try putRightBehindABackup()
        #expect(try waiting() == [400, -1])
        try tell()
        try putBack()
        #expect(try waiting() == [1, nil])
    }

    /// The fleet had committed it, and its answer got lost or was on its way when the backup was put back: the sip
    /// counted as it was and as it was put right.
    @Test func whatWasPutRightAndIsOnItsWayCountsOnceBehindARestore() throws {
        try putRightBehindABackup()
        try store.tellingFleet(through: try #require(store.changes(for: FleetOutlet.name, limit: 9).last).sequence)
        try putBack()
        #expect(try waiting() == [1, nil])
    }

    /// No restore at all: of an amount that was put right while no fleet was named it was told that the old one is
    /// gone, and never the new one.
    @Test func whatIsPutRightWhileTheFleetIsOffIsToldWhenItIsOnAgain() throws {
        _ = try store.openOutlet(FleetOutlet.name) { "one" }
        try store.tellFleet("a")
        let key = try store.logDrink(ml: 1, context()).drink.key
        _ = try store.logDrink(ml: 2, context())
        try tell()
        try store.closeOutlet(FleetOutlet.name, sparing: 0)
        #expect(try !store.isOutletOpen(FleetOutlet.name))
        let first = try store.editDrink(key, ml: 300, context())
        _ = try store.editDrink(first.drink.key, ml: 400, context())
        _ = try store.logDrink(ml: 3, context())
        _ = try store.openOutlet(FleetOutlet.name) { "two" }
        try store.tellFleet("a")
        let told = try waiting()
        #expect(told.compactMap { $0 }.filter { $0 > 0 }.sorted() == [2, 400], "\(told)")
    }

    /// A typing error in the fleet's address, for some seconds: the list of what the right one was told was gone, and a
    /// restore behind that left it with other figures.
    @Test func anAddressThatWasAMistakeForgetsNothing() throws {
        try putRightBehindABackup()
        try tell()
        try store.tellFleet("b")
        #expect(try waiting() == [])
        try store.tellFleet("a")
        #expect(try waiting() == [-1, 400])
        try putBack()
        #expect(try waiting() == [1, nil])
    }

    /// Of what one fleet was told another one is not even told that it is gone.
    @Test func whatOneFleetWasToldIsNoBusinessOfAnother() throws {
        try putRightBehindABackup()
        try tell()
        try store.tellFleet("b")
        try putBack()
        #expect(try waiting() == [])
    }

    /// Who is called otherwise is somebody else to the fleet: after a restore everything was told again under the new
    /// name, and stayed under the old one, too.
    @Test func whoIsCalledOtherwiseIsToldNothingOfBefore() async throws {
        let peer = try await WebPeer()
        func settled() async throws {
            let isTold = try await event { try store.waiting(for: FleetOutlet.name) == 0 ? true : nil }
            #expect(isTold == true)
        }
        try await with(peer, person: "anna") { outlet in
            _ = try store.logDrink(ml: 1, context())
            await outlet.poke()
            try await settled()
        }
        try store.backUp(to: folder.file("backup"))
        try await with(peer, person: "ben") { outlet in
            try putBack()
            _ = try store.logDrink(ml: 2, context())
            await outlet.poke()
            try await settled()
        }
        let told = try await peer.seen().filter { $0.path == "/v1/entries" }.flatMap {
            try FleetLines($0.bytes).entries
        }.map { "\($0.person ?? "") \($0.drink?.ml ?? 0)" }
        #expect(told == ["anna 1", "ben 2"])
    }

    /// The configuration names no fleet any more while a slow answer of it is on its way: what was drunk afterwards was
    /// still told to it.
    @Test func whoIsNotNamedAnyMoreHearsNoMore() async throws {
        let peer = try await WebPeer(), isOn = Mutex(true)
        try await peer.answers(#"[{"silent": 1.5}]"#)
        try await with(peer, isOn: { isOn.withLock { $0 } }) { outlet in
            _ = try store.logDrink(ml: 1, context())
            await outlet.poke()
            _ = try await peer.seen(1)
            isOn.withLock { $0 = false }
            _ = try store.logDrink(ml: 2, context())
            await outlet.poke()
            // The slow one counts; the other one waits, should the fleet be named again.
            let isCounted = try await event { try store.waiting(for: FleetOutlet.name) == 1 ? true : nil }
            #expect(isCounted == true)
            let isOff = await event { said.words.withLock { $0 }.contains(.off) ? true : nil }
            #expect(isOff == true)
        }
        #expect(
            try await peer.seen().filter { $0.path == "/v1/entries" }.flatMap { try FleetLines($0.bytes).entries }.map {
                $0.drink?.ml
            } == [1])
    }

    /// A fleet that knew of more than ten thousand drinks since the backup named ten thousand, and the others stayed as
    /// they were told.
    @Test func aFleetThatNamesAsManyAsItMayIsToldEverything() async throws {
        let peer = try await WebPeer()
        try await with(peer) { outlet in
            for ml in 1...2 { _ = try store.logDrink(ml: ml, context()) }
            await outlet.poke()
            let isFirst = try await event { try store.waiting(for: FleetOutlet.name) == 0 ? true : nil }
            #expect(isFirst == true)
            let names = (0..<FleetStanding.Ahead.keyLimit).map { "\\\"\($0)\\\"" }.joined(separator: ",")
            try await peer.answers(
                "[{\"status\": 409, \"body\": \"{\\\"generation\\\": 1, \\\"keys\\\": [\(names)]}\"}]")
            _ = try store.logDrink(ml: 3, context())
            await outlet.poke()
            let isSecond = try await event { try store.waiting(for: FleetOutlet.name) == 0 ? true : nil }
            #expect(isSecond == true)
        }
        let last = try #require(
            try await peer.seen().last { $0.path == "/v1/entries" && $0.headers["content-encoding"] == nil })
        let entries = try FleetLines(last.bytes).entries.map { "\($0.generation) \($0.drink?.ml ?? 0)" }
        // What was on its way counts as told, too, and is told once more.
        #expect(entries == ["1 3", "1 1", "1 2", "1 3"], "\(entries)")
    }
}
