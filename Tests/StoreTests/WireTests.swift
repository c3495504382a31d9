import Foundation
import GatewaySupport
import Store
import Support
import Testing
import TrackerCore

@Suite struct WireTests {
    let here, there: TrackerStore

    init() throws {
        (here, there) = (try TrackerStore(inMemory: "Etc/UTC"), try TrackerStore(inMemory: "Etc/UTC"))
    }

    private static func lines(_ store: TrackerStore) throws -> [String] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var lines: [String] = []
        try store.forEachWireEntry(gateway: "g") {
            lines.append(String(decoding: try encoder.encode($0), as: UTF8.self))
        }
        return lines
    }

    private static func read(_ line: String) throws -> WireEntry {
        try JSONDecoder().decode(WireEntry.self, from: Data(line.utf8))
    }

    private static func entries(_ store: TrackerStore) throws -> [WireEntry] { try lines(store).map(read) }

    @Test func `an entry keeps every field in a round trip`() throws {
        _ = try here.append([entry()])
        #expect(
            try Self.lines(here) == [
                #"""
                {"at":1770070875000,"bottle":"A4:C1:38:00:00:01","gateway":"g","ml":16,\#
                "raw":"1A020216150F00100000016100","received":1770070875000,"verdict":"drink","version":1,\#
                "wall":"2026-02-02T22:21:15","zone":"Etc/UTC"}
                """#
            ])
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `two journals are equal after they import each other`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for store in [here, there] {
            for _ in 0..<Int.random(in: 0...30, using: &random) {
                let verdict: JournalEntry.Verdict? =
                    [nil, nil, .notADrink(reason: "flag"), .quarantined(reason: "impossibleDate")].randomElement(
                        using: &random) ?? nil
                var one = entry(
                    ["A4:C1:38:00:00:01", "A4:C1:38:00:00:02"].randomElement(using: &random) ?? "",
                    hour: Int.random(in: 0...23, using: &random),
                    minute: Int.random(in: 0...2, using: &random), ml: Int.random(in: 1...3, using: &random),
                    verdict: verdict)
                one.reading = "calendar/u16be"
                if case .notADrink = one.verdict { one.raw[12] = 1 }
                _ = try store.append([one])
            }
            for drink in try store.drinks(on: LocalDay(year: 2026, month: 2, day: 2)!).prefix(2)
            where Bool.random(using: &random) {
                _ = try store.deleteDrink("d\(drink.number)", context(at: sampleInstant))
            }
        }
        for (from, to) in [(here, there), (there, here), (here, there)] { _ = try to.importEntries(Self.entries(from)) }
        #expect(try Set(Self.lines(here)).count == Set(Self.lines(there)).count, "seed \(seed)")
        #expect(try there.importEntries(Self.entries(here)) == 0, "seed \(seed)")
    }

    @Test(arguments: [
        (#""version":1"#, #""version":2"#), (#""version":1"#, #""version":0"#), (#""ml":16"#, #""ml":65536"#),
        (#""ml":16"#, #""ml":0"#), (#""ml":16"#, #""ml":-1"#),
        (#""raw":"1A"#, #""raw":"1G"#), (#""raw":"1A02"#, #""raw":"1A"#),
        (#""verdict":"drink""#, #""verdict":"drunk""#), (#""zone":"Etc/UTC""#, #""zone":"Mars""#),
        (#""at":1770070875000"#, #""at":9223372036854775807"#),
        (#""received":1770070875000"#, #""received":-9223372036854775808"#),
        (#""gateway":"g""#, #""gateway":"""#), (#""wall":"2026-02-02T22:21:15""#, #""wall":"2026-02-30T22:21:15""#),
        (#""bottle":"A4:C1:38:00:00:01""#, #""bottle":"a\u0007b""#),
        (#""at":1770070875000,"#, ""),
    ]) func `a line that is not an entry is rejected`(part: String, other: String) throws {
        _ = try here.append([entry()])
        let line = try #require(try Self.lines(here).first)
        try #require(line.contains(part))
        #expect(throws: (any Error).self) { try Self.read(line.replacingOccurrences(of: part, with: other)) }
    }

    @Test func `an entry truncated at any byte is rejected`() throws {
        _ = try here.append([entry()])
        let line = try #require(try Self.lines(here).first)
        for length in 0..<line.utf8.count {
            #expect(throws: (any Error).self) { try Self.read(String(line.utf8.prefix(length)) ?? "") }
        }
    }

    private static func drinks(_ store: TrackerStore) throws -> [Int] {
        try store.drinks(on: LocalDay(year: 2026, month: 2, day: 2)!).map(\.ml).sorted()
    }

    @Test func `a sip of a bottle with two addresses counts once`() throws {
        _ = try there.append([entry("A4:C1:38:00:00:01", ml: 101)])
        #expect(try there.adoptBottle("A4:C1:38:00:00:02", as: "A4:C1:38:00:00:01"))
        _ = try there.append([entry("A4:C1:38:00:00:02", ml: 250)])
        _ = try here.append([entry("A4:C1:38:00:00:02", ml: 250)])
        #expect(try here.importEntries(Self.entries(there)) == 1)
        #expect(try Self.drinks(here) == [101, 250])
        // Later records from either address are known too.
        let empty = try TrackerStore(inMemory: "Etc/UTC")
        _ = try empty.importEntries(Self.entries(there))
        #expect(
            try empty.append([entry("A4:C1:38:00:00:02", ml: 101), entry("A4:C1:38:00:00:01", ml: 250)]) == [
                .duplicate, .duplicate,
            ])
    }

    @Test func `an owned bottle gets no addresses from another journal`() throws {
        _ = try there.append([entry("A4:C1:38:00:00:01", ml: 101)])
        try there.adoptBottle("A4:C1:38:00:00:02", as: "A4:C1:38:00:00:01")
        try here.adoptBottle("A4:C1:38:00:00:01")
        _ = try here.importEntries(Self.entries(there))
        #expect(try here.bottles().map(\.identities) == [["A4:C1:38:00:00:01"]])
    }

    @Test func `an import does not change the decoding of a known record`() throws {
        var (wide, narrow) = (entry(ml: 300), entry(ml: 300))
        (wide.reading, narrow.reading, narrow.amountMl) = ("calendar/u16be", "strict/u8", 44)
        _ = try here.append([wide])
        _ = try there.append([narrow])
        let before = try Self.lines(here)
        #expect(try here.importEntries(Self.entries(there)) == 0)
        #expect(try Self.lines(here) == before)
        #expect(try Self.drinks(here) == [300])
    }

    @Test func `a corrected drink keeps its correction in another store`() throws {
        let context = context(at: sampleInstant.advanced(seconds: 3600))
        _ = try there.append([entry(ml: 200), entry(minute: 5, ml: 300), entry(minute: 7, ml: 40)])
        let names = try there.drinks(on: LocalDay(year: 2026, month: 2, day: 2)!).map { "d\($0.number)" }
        _ = try there.editDrink(names[0], ml: 250, context)
        let moved = try there.editDrink(names[1], at: sampleInstant.advanced(seconds: 60), context)
        _ = try there.editDrink("d\(moved.number)", ml: 90, context)
        _ = try there.deleteDrink(names[2], context)
        for _ in 1...2 { _ = try here.importEntries(Self.entries(there)) }
        #expect(try Self.drinks(here) == Self.drinks(there))
        #expect(try Self.drinks(here).count == 2)
        // Another reading gives the drink another key. Its correction remains a correction.
        var again = entry(ml: 200)
        (again.reading, again.amountMl) = ("strict/u8", 200)
        _ = try there.append([again])
        #expect(try Self.lines(there).filter { $0.contains("\"edit\"") }.count == 2)
    }

    /// A corrected date must not be replaced by the bottle's wrong one when another dialect reads the record.
    @Test(arguments: [false, true])
    func `a manual date is kept in another store and by later readings`(waits: Bool) throws {
        _ = try there.append([entry(ml: 200, verdict: .quarantined(reason: JournalQuarantine.bottleClock))])
        if waits { _ = try here.append([entry(ml: 200, verdict: .quarantined(reason: JournalQuarantine.bottleClock))]) }
        let record = try #require(try there.quarantinedRecords().first)
        let day = sampleInstant.advanced(seconds: 20 * 86_400)
        _ = try there.dateRecord(record.id, at: day, context(at: day))
        let lines = try Self.lines(there)
        #expect(lines.count == 1 && lines[0].contains(#""byHand":true"#), "\(lines)")
        _ = try here.importEntries(try lines.map(Self.read))
        #expect(try Self.lines(here) == lines)
        for store in [there, here] {
            var strict = entry(ml: 200)
            (strict.reading, strict.amountMl) = ("strict/u8", 200)
            _ = try store.append([strict])
            #expect(try store.lastDrink()?.at == day)
        }
        #expect(try here.importEntries(Self.entries(there)) == 0)
    }

    @Test func `a drink counts on its own day in a store of another zone`() throws {
        let (here, there) = (try TrackerStore(inMemory: "Asia/Tokyo"), try TrackerStore(inMemory: "America/New_York"))
        var sip = entry(hour: 12, ml: 90)
        // 2026-02-02T14:00 UTC, the 3rd in Tokyo
        sip.verdict = .drink(at: Instant(milliseconds: 1_770_058_800_000), zone: "America/New_York")
        _ = try there.append([sip])
        _ = try here.importEntries(Self.entries(there))
        #expect(try Self.drinks(there) == [90] && Self.drinks(here) == [90])
    }
}
