import Foundation
import GRDB
import GatewaySupport
import Support
import Testing
import TrackerCore

@testable import Store

/// At most one version of a drink counts after any sequence of edits, imports and restores.
@Suite final class VersionTests: StoreFixture {
    let now = context(at: Instant(iso: "2026-02-03T18:00:00Z")!)

    private func export(_ store: TrackerStore) throws -> [HealthSample] { try Self.samples(store) }

    static func samples(_ store: TrackerStore) throws -> [HealthSample] {
        var samples: [HealthSample] = []
        try store.forEachDrink { drink, original, _ in
            var sample = HealthSample(at: drink.at, ml: drink.ml, uuid: drink.key, sourceName: HealthFiles.sourceName)
            (sample.zone, sample.day, sample.source) = (drink.zone, drink.localDay, drink.source)
            sample.original = original
            samples.append(sample)
        }
        return samples
    }

    private func amounts() throws -> [Int] { try store.allDrinks().map(\.ml).sorted() }

    @Test(arguments: [true, false])
    func `importing an earlier export of the store keeps later changes`(isCorrected: Bool) throws {
        let drink = try store.logDrink(ml: 100, now)
        let backup = scratch.store + "-backup"
        try store.backUp(to: backup)
        _ = try store.editDrink("d\(drink.number)", ml: 200, now)
        let file = try export(store)
        try store.restore(from: backup, scratch: scratch.path)
        _ = try isCorrected ? store.editDrink(drink.key, ml: 300, now) : store.deleteDrink(drink.key, now)
        #expect(try store.importSamples(file, now).added == 0)
        #expect(try amounts() == (isCorrected ? [300] : []))
    }

    @Test func `the last of several corrections of a drink in a file counts`() throws {
        let drink = try store.logDrink(ml: 100, now)
        let original = try export(store)
        let corrections = (1...3).map { number in
            var sample = original[0]
            (sample.uuid, sample.original, sample.ml) = ("c\(number)", drink.key, 100 + number)
            return sample
        }
        for store in [store, try TrackerStore(inMemory: nil)] {
            _ = try store.importSamples(original + corrections, now)
            #expect(try store.allDrinks().map(\.ml) == [103])
            #expect(try store.importSamples(original + corrections, now).added == 0)
        }
    }

    @Test func `the schema rejects a second version of a drink`() throws {
        let drink = try store.logDrink(ml: 100, now)
        #expect(throws: DatabaseError.self) {
            try store.database.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO drink (key, instant, zone, localDay, ml, source, updatedAt, correctionOf)
                        SELECT 'second', instant, zone, localDay, ml, source, updatedAt, key FROM drink WHERE id = ?
                        """, arguments: [drink.number])
            }
        }
    }

    // MARK: - Names

    @Test(arguments: ["health", "session"])
    func `an alias equal to an import source changes no import`(_ alias: String) throws {
        try store.adopt(BottleNames("A4:C1:38:00:00:01"))
        try store.changeSettings([("bottle.alias", alias)], ofBottle: "A4:C1:38:00:00:01")
        let sample = HealthSample(at: Instant(seconds: 1_770_000_000), ml: 250, sourceName: "Other")
        #expect(try store.importSamples([sample], now).added == 1)
        #expect(try store.importSamples([sample], now).added == 0)
        #expect(try amounts() == [250])
        #expect(throws: Refusal.self) { try store.adoptBottle(alias) }
    }

    @Test func `an alias that is an address is rejected`() throws {
        let (own, other) = ("A4:C1:38:00:00:01", "A4:C1:38:00:00:02")
        try store.adopt(BottleNames(own, alias: other))
        #expect(throws: Refusal.self) { try store.changeSettings([("bottle.alias", other)], ofBottle: own) }
        #expect(throws: Refusal.self) {
            try store.changeSettings([("bottle.alias", other)], context())
        }
        try store.adopt(BottleNames(other))
        #expect(try store.append([entry(own), entry(other)]) == [.stored, .stored])
        #expect(try Set(store.bottles().map(\.name)) == [own, other])
    }

    @Test func `an alias does not replace another bottle's identity`() throws {
        try store.adopt(BottleNames("A4:C1:38:00:00:01", alias: "SN-7"))
        try store.adopt(BottleNames("SN-7"))
        #expect(try store.bottles().count == 2)
        #expect(try store.append([entry("A4:C1:38:00:00:01"), entry("SN-7")]) == [.stored, .stored])
    }

    // MARK: - Rewrites

    @Test func `an imported correction rewrites the health files`() throws {
        try store.changeSettings([("health.enabled", "true")], now)
        let drink = try store.logDrink(ml: 100, now)
        try store.updateHealthFiles()
        var correction = try export(store)[0]
        (correction.uuid, correction.original, correction.ml) = ("c", drink.key, 200)
        #expect(try store.importSamples([correction], now).added == 1)
        try store.updateHealthFiles()
        let file = scratch.url("health/waterh.sqlite-drinks.csv")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 2 && lines[1].contains("200"), "\(lines)")
    }
}

/// Random operations on a store, compared with a simple model of its drinks.
@Suite(.timeLimit(.minutes(20))) struct RandomChangeTests {
    private struct Version: Equatable {
        var ml: Int
        var isDeleted = false
        /// The user corrected or deleted it, so it no longer follows its session entry.
        var isManual = false
        var hasEntry = true
        /// Corrected here, also if undone later.
        var wasCorrected = false
        var counts: Bool { !isDeleted && hasEntry }

        mutating func edit(_ body: (inout Version) -> Void) {
            isManual = true
            body(&self)
            if !isDeleted { wasCorrected = true }
        }
    }

    /// All drinks by the key of their first version, and the state before each undoable change.
    private struct Model: Equatable {
        var drinks: [String: Version] = [:]
        var total: Int { drinks.values.filter(\.counts).reduce(0) { $0 + $1.ml } }
    }

    private enum Operation {
        case log, sip, edit, delete, addWater, changeEntry, undo, backUpOrRestore, importExport
    }

    @Test(arguments: (1...5).map { UInt64($0) })
    func `totals after random changes equal those of a reference model`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let scratch = try TemporaryFolder()
        let store = try TrackerStore(path: scratch.store)
        var model = Model(), undo: [(model: Model, keys: Set<String>)] = []
        var saved: [(file: String, model: Model)] = []
        var exports: [(samples: [HealthSample], model: Model)] = []
        var now = try #require(Instant(iso: "2026-02-03T08:00:00Z"))
        var sips: [JournalEntry] = [], entries: [String: String] = [:], log: [Operation] = []
        let operations: [Operation] = [
            .log, .log, .sip, .sip, .edit, .edit, .delete, .addWater, .changeEntry, .undo, .backUpOrRestore,
            .importExport,
        ]
        func at() -> WriteContext { context(at: now) }
        try store.changeSettings([("hydration.countSessionWater", "true")], at())
        _ = try store.startSession(at())

        func counted() throws -> [String: Int] {
            var found: [String: Int] = [:]
            try store.forEachDrink { drink, original, _ in found[original ?? drink.key, default: 0] += drink.ml }
            return found
        }
        func change(_ keys: Set<String>, _ body: (inout Model) -> Void) {
            undo.append((model, keys))
            body(&model)
        }
        for step in 0..<80 {
            now = now.advanced(seconds: Double(Int.random(in: 1...120, using: &random)))
            var names: [String: String] = [:]
            try store.forEachDrink { drink, original, _ in names[original ?? drink.key] = drink.key }
            let key = names.keys.sorted().randomElement(using: &random)
            let name = key.flatMap { names[$0] }
            let ml = Int.random(in: 1...900, using: &random)
            let operation = operations.randomElement(using: &random) ?? .log
            log.append(operation)
            switch operation {
            case .log:
                let drink = try store.logDrink(ml: ml, at())
                change([drink.key]) { $0.drinks[drink.key] = Version(ml: ml) }
            case .sip:
                sips.append(try sip(Zone.utc.wall(at: now).description, ml))
                _ = try store.append(sips.suffix(1) + sips.shuffled(using: &random).prefix(3))
                let found = try counted()
                for sip in sips {
                    let key = Drink.bottleKey(
                        bottle: sip.bottle, wall: sip.wall?.description ?? "", amountMl: sip.amountMl)
                    if model.drinks[key] == nil, found[key] != nil { model.drinks[key] = Version(ml: sip.amountMl) }
                }
            case .edit:
                guard let key, let name else { continue }
                _ = try store.editDrink(name, ml: ml, at())
                change([key]) { $0.drinks[key]?.edit { $0.ml = ml } }
            case .delete:
                guard let key, let name else { continue }
                _ = try store.deleteDrink(name, at())
                change([key]) { $0.drinks[key]?.edit { $0.isDeleted = true } }
            case .addWater:
                let entry = try store.addLog(.water(oz: 8), at())
                let key = Drink.sessionKeys + entry.id
                entries[entry.id] = key
                change([key, entry.id]) { $0.drinks[key] = Version(ml: Ounces.millilitres(8)) }
            case .changeEntry:
                let present = try store.activeSession(at: now)?.logs.map(\.id).filter { entries[$0] != nil } ?? []
                guard let id = present.sorted().randomElement(using: &random), let key = entries[id] else { continue }
                if Bool.random(using: &random) {
                    let ounces = Double(Int.random(in: 1...20, using: &random))
                    _ = try store.editLog(id, amountOz: ounces, at())
                    change([key, id]) {
                        if $0.drinks[key]?.isManual == false { $0.drinks[key]?.ml = Ounces.millilitres(ounces) }
                    }
                } else {
                    try store.deleteLog(id, at())
                    change([key, id]) { $0.drinks[key]?.hasEntry = false }
                }
            case .undo:
                guard let last = undo.last else { continue }
                do {
                    _ = try store.undo(at())
                    // Drinks that the bottle delivered since stay.
                    var before = last.model
                    for (key, version) in model.drinks {
                        before.drinks[key, default: version].wasCorrected = version.wasCorrected
                        // A drink that the undone change created stays as a tombstone.
                        if last.keys.contains(key), last.model.drinks[key] == nil {
                            before.drinks[key]?.isDeleted = true
                        }
                    }
                    model = before
                    undo.removeLast()
                } catch is Refusal {
                    undo.removeAll()
                }
            case .backUpOrRestore:
                if saved.isEmpty || Bool.random(using: &random) {
                    let file = scratch.store + "-backup\(step)"
                    try store.backUp(to: file)
                    saved.append((file, model))
                    exports.append((try VersionTests.samples(store), model))
                } else if let backup = saved.randomElement(using: &random) {
                    try store.restore(from: backup.file, scratch: scratch.path)
                    model = backup.model
                    undo.removeAll()
                }
            case .importExport:
                guard let export = exports.randomElement(using: &random) else { continue }
                _ = try store.importSamples(export.samples, at())
                // Unknown samples are new. Known ones stay as they are here.
                for (key, version) in export.model.drinks where version.counts && model.drinks[key] == nil {
                    let isCorrected = export.samples.contains { $0.original == key }
                    model.drinks[key] = Version(ml: version.ml, isManual: isCorrected, wasCorrected: isCorrected)
                }
                for sample in export.samples {
                    // A correction of a drink without changes here since.
                    guard let key = sample.original, let here = model.drinks[key], here.counts, !here.isManual,
                        !here.wasCorrected
                    else {
                        continue
                    }
                    model.drinks[key]?.ml = sample.ml
                    model.drinks[key]?.isManual = true
                }
                undo.removeAll()
            }
            let found = try counted()
            let expected = model.drinks.filter(\.value.counts).mapValues(\.ml)
            try #require(found == expected, "seed \(seed), step \(step): \(log.suffix(12))")
            let day = try #require(LocalDay("2026-02-03"))
            let totals = try store.totals(from: day.adding(days: -1), through: day.adding(days: 1))
            #expect(totals.reduce(0) { $0 + $1.totalMl } == model.total)
        }
        #expect(try store.integrityProblems().isEmpty)
    }
}
