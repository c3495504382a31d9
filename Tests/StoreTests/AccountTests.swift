import Foundation
import TrackerService
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerSupport

@testable import Store

@Suite final class AccountTests: StoreFixture {
    let now = context(at: Instant(iso: "2026-02-03T18:00:00Z")!)

    @Test func `a token is valid until it is revoked`() throws {
        let first = try store.addToken("secret one", label: "phone", now)
        _ = try store.addToken("secret two", label: "tablet", now)
        func isValid(_ token: String) throws -> Bool { try store.authenticate(token, at: now.now) != nil }
        #expect(try isValid("secret one") && !isValid("secret") && !isValid(""))
        #expect(try store.revokeTokens(String(first.id.prefix(8)), now) == 1)
        #expect(try !isValid("secret one") && isValid("secret two"))
        // An identifier prefix with NUL must not act as an empty prefix, which matches everything.
        for beginning in ["\u{0}", "", "\u{0}" + first.id, first.id + "\u{0}"] {
            #expect(throws: Refusal.self) { try store.revokeTokens(beginning, now) }
        }
        #expect(try store.revokeTokens(nil, now) == 1)
        let bytes =
            try Data(contentsOf: URL(fileURLWithPath: scratch.store + "-wal"))
            + Data(contentsOf: URL(fileURLWithPath: scratch.store))
        #expect(bytes.range(of: Data("secret one".utf8)) == nil)
    }

    /// The keys of the drinks in a health file of the store.
    private func keys(_ name: String) throws -> [String] {
        let text = try String(contentsOf: scratch.url("health/\(name)"), encoding: .utf8)
        return try HealthReader.samples(text).compactMap(\.uuid).sorted()
    }

    /// D4: a change of drinks replaces the files, and a modified file is repaired.
    @Test func `health files contain the stored drinks after each change`() throws {
        _ = try store.logDrink(ml: 100, now)
        try store.updateHealthFiles()
        #expect(!FileManager.default.fileExists(atPath: scratch.file("health")), "off by default")
        try store.changeSettings([("health.enabled", "true")], now)
        for hour in 10..<13 {
            _ = try store.append([try sip("2026-02-03T\(hour):00:00", hour)])
            try store.updateHealthFiles()
            try store.updateHealthFiles()
        }
        func stored() throws -> [String] { try store.allDrinks().map(\.key).sorted() }
        #expect(try keys("waterh.sqlite-drinks.xml") == stored() && keys("waterh.sqlite-drinks.csv") == stored())
        _ = try store.deleteDrink("d1", now)
        try store.updateHealthFiles()
        #expect(try keys("waterh.sqlite-drinks.xml") == stored() && keys("waterh.sqlite-drinks.csv") == stored())
        try Data("broken".utf8).write(to: scratch.url("health/waterh.sqlite-drinks.csv"))
        try store.updateHealthFiles()
        #expect(try keys("waterh.sqlite-drinks.csv") == stored())
    }

    /// Service, poll and commands update the files concurrently after their commits.
    @Test func `health files written by several processes have each drink once`() throws {
        let (path, now) = (scratch.store, now)
        try store.changeSettings([("health.enabled", "true")], now)
        let errors = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 6) { number in
            do {
                let store = try TrackerStore(path: path)
                for ml in 1...25 {
                    _ = try store.logDrink(ml: 100 * number + ml, now)
                    try store.updateHealthFiles()
                }
            } catch {
                errors.withLock { $0.append(FileErrorText.text(error)) }
            }
        }
        #expect(errors.withLock(\.self).isEmpty)
        let stored = try store.allDrinks().map(\.key).sorted()
        #expect(stored.count == 150)
        for name in ["waterh.sqlite-drinks.xml", "waterh.sqlite-drinks.csv"] {
            #expect(try keys(name) == stored, "\(name)")
        }
    }

    @Test func `a health file that cannot be written is reported with the system's error`() throws {
        try store.changeSettings([("health.enabled", "true")], now)
        try Data().write(to: scratch.url("health"))
        _ = try store.logDrink(ml: 100, now)
        let errors = store.afterCommit(now)
        #expect(
            errors == [
                """
                Writing the health files failed (the store is not affected): Not a directory, at \
                \(scratch.path)/health
                """
            ])
        for (error, words) in [
            (
                CocoaError(.fileWriteOutOfSpace, userInfo: [NSFilePathErrorKey: "/a"]) as any Error,
                "No space left on device, at /a"
            ),
            (POSIXError(.ENOSPC), "No space left on device"),
            (
                NSError(
                    domain: NSCocoaErrorDomain, code: 640,
                    userInfo: [NSUnderlyingErrorKey: NSError(domain: NSPOSIXErrorDomain, code: 28)]),
                "No space left on device"
            ),
            (NSError(domain: "odd", code: 7), "reading or writing failed (odd 7)"),
            (StoreError(.busy, "It is busy", at: "/b"), "\(StoreError(.busy, "It is busy", at: "/b"))"),
        ] { #expect(FileErrorText.text(error) == words) }
    }

    @Test func `a purge leaves empty tables and no bytes`() throws {
        _ = try store.finishOnboarding(now)
        _ = try store.append([try sip("2026-02-03T10:00:00", 50, bottle: "BOTTLE-TO-FORGET")])
        _ = try store.startSession(now)
        _ = try store.addLog(.drink(), now)
        _ = try store.evaluate(now, sinks: [MemorySink()])
        try store.purge()
        // A purge writes a new random number.
        #expect(try store.rowCounts().filter { $0.rows > 0 }.map(\.table) == ["drink_sequence"])
        #expect(try store.read(Schema.statements) == Schema.tables, "VACUUM keeps the order of the tables")
        for suffix in ["", "-wal"] {
            let bytes = (try? Data(contentsOf: URL(fileURLWithPath: scratch.store + suffix))) ?? Data()
            #expect(bytes.range(of: Data("BOTTLE-TO-FORGET".utf8)) == nil)
        }
        #expect(try store.finishOnboarding(now), "setup runs again after a purge")
    }

    /// D4: a store that is restored from its export knows the bottle's records, including tombstones.
    @Test func `an import of a full export restores a store`() throws {
        let batch = try (10..<20).map { try sip("2026-02-03T\($0):00:00", $0) }
        _ = try store.append(batch)
        for format in HealthFiles.Format.allCases {
            let other = try TrackerStore(inMemory: nil)
            let samples = try HealthReader.samples(HealthExport.text(format, store.allDrinks()))
            #expect(try other.importSamples(samples, now).added == 10)
            #expect(try other.importSamples(samples, now).known == 10)
            _ = try other.append(batch)
            #expect(
                try other.allDrinks().map(\.key) == (try store.allDrinks().map(\.key)),
                "the bottle's own delivery adds nothing")
            _ = try other.resetToday(now)
            #expect(try other.importSamples(samples, now).added == 0)
        }
    }

    @Test func `a file with a future sample is rejected`() throws {
        let store = try TrackerStore(inMemory: "Etc/UTC")
        let allowed = HealthSample(at: now.now.advanced(seconds: 600), ml: 100)
        var tooLate = HealthSample(at: now.now.advanced(seconds: 601), ml: 100)
        #expect(throws: Refusal.self) { try store.importSamples([allowed, tooLate], now) }
        #expect(try store.allDrinks().isEmpty)
        // A drink with our own key is imported, because the clock of this machine might be wrong.
        tooLate.uuid = "a-key-of-ours"
        #expect(try store.importSamples([allowed, tooLate], now).added == 2)
    }

    /// Drinks of a store that knows the bottle by its new address, imported into one that knows both addresses. The
    /// bottle delivers them again.
    @Test(arguments: [true, false])
    func `an imported drink counts once under another bottle identity`(isCorrected: Bool) throws {
        let (old, new) = ("A4:C1:38:00:00:01", "A4:C1:38:00:00:02")
        let (store, other) = (try TrackerStore(inMemory: nil), try TrackerStore(inMemory: nil))
        _ = try other.append([try sip("2026-02-03T09:00:00", 101, bottle: old)])
        _ = try other.adoptBottle(new, as: old)
        _ = try store.append([try sip("2026-02-03T10:00:00", 202, bottle: new)])
        if isCorrected { _ = try store.editDrink("d1", ml: 210, now) }
        var export = HealthExport(.json)
        var bytes = Array(export.header.utf8)
        try store.forEachDrink { export.append($0, insteadOf: $1, record: $2, to: &bytes) }
        let samples = try HealthReader.samples(bytes + Array(export.end.utf8))
        #expect(try other.importSamples(samples, now).added == 1)
        _ = try other.append([try sip("2026-02-03T10:00:00", 202, bottle: new)])
        #expect(try other.allDrinks().map(\.ml) == [101, isCorrected ? 210 : 202])
        #expect(try other.importSamples(samples, now).added == 0)
    }

    /// Apple Health returns our drink with another app's name, before or after our sample in one file.
    @Test func `an exported drink returned by another app counts once`() throws {
        let ours = HealthSample(at: Instant(seconds: 40_000), ml: 250, uuid: "k1", sourceName: HealthFiles.sourceName)
        let copy = HealthSample(at: Instant(seconds: 40_000), ml: 250, uuid: "k1", sourceName: "Another")
        let foreign = HealthSample(at: Instant(seconds: 40_000), ml: 250, uuid: "k2", sourceName: "Another")
        for samples in [[ours, copy, foreign], [copy, foreign, ours], [foreign, copy, ours, foreign]] {
            let store = try TrackerStore(inMemory: nil)
            let outcome = try store.importSamples(samples, now)
            #expect(outcome.added == 2 && outcome.known == samples.count - 2, "\(samples): \(outcome)")
            let drinks = try store.allDrinks()
            #expect(
                Set(drinks.map(\.key)) == ["k1", foreign.importKey]
                    && drinks.allSatisfy { $0.zone == "UTC" && $0.source == .health }, "\(drinks)")
            #expect(drinks.allSatisfy { $0.localDay.description == "1970-01-01" }, "\(drinks)")
            #expect(try store.importSamples(samples, now).known == samples.count)
        }
    }
}
