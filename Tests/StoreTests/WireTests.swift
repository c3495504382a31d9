import Foundation
import Store
import Support
import Testing
import TrackerCore

/// The journal on its way to another store.
@Suite struct WireTests {
    private static let context = WriteContext(now: sampleInstant, zone: .utc, source: "cli", makeID: { "id" })

    private static func lines(_ store: TrackerStore) throws -> [String] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var lines: [String] = []
        try store.forEachWireEntry(gateway: "g") { lines.append(String(decoding: try encoder.encode($0), as: UTF8.self)) }
        return lines
    }

    private static func read(_ line: String) throws -> WireEntry { try JSONDecoder().decode(WireEntry.self, from: Data(line.utf8)) }

    @Test func `an entry keeps all that it is`() throws {
        let store = try TrackerStore(inMemory: "Etc/UTC")
        _ = try store.append([entry()])
        #expect(try Self.lines(store) == [
            #"{"at":1770070875000,"bottle":"A4:C1:38:00:00:01","gateway":"g","ml":16,"raw":"1A020216150F00100000016100","received":1770070875000,"verdict":"drink","version":1,"wall":"2026-02-02T22:21:15","zone":"Etc/UTC"}"#
        ])
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>) func `two journals that have read each other are equal`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let (left, right) = (try TrackerStore(inMemory: "Etc/UTC"), try TrackerStore(inMemory: "Etc/UTC"))
        for store in [left, right] {
            for _ in 0..<Int.random(in: 0...30, using: &random) {
                let verdict: JournalEntry.Verdict? =
                    [nil, nil, .notADrink(reason: "flag"), .quarantined(reason: "impossibleDate")].randomElement(using: &random) ?? nil
                var one = entry(
                    ["A4:C1:38:00:00:01", "A4:C1:38:00:00:02"].randomElement(using: &random) ?? "", hour: Int.random(in: 0...23, using: &random),
                    minute: Int.random(in: 0...2, using: &random), ml: Int.random(in: 1...3, using: &random), verdict: verdict)
                one.reading = "calendar/u16be"
                if case .notADrink = one.verdict { one.raw[12] = 1 }
                _ = try store.append([one])
            }
            for drink in try store.drinks(on: LocalDay(year: 2026, month: 2, day: 2)!).prefix(2) where Bool.random(using: &random) {
                _ = try store.deleteDrink("d\(drink.number)", Self.context)
            }
        }
        for (from, to) in [(left, right), (right, left), (left, right)] {
            _ = try to.take(try Self.lines(from).map(Self.read))
        }
        #expect(try Set(Self.lines(left)).count == Set(Self.lines(right)).count, "seed \(seed)")
        let again = try right.take(try Self.lines(left).map(Self.read))
        #expect(again.added == 0, "seed \(seed)")
    }

    @Test(arguments: [
        (#""version":1"#, #""version":2"#), (#""version":1"#, #""version":0"#), (#""ml":16"#, #""ml":65536"#), (#""ml":16"#, #""ml":0"#), (#""ml":16"#, #""ml":-1"#),
        (#""raw":"1A"#, #""raw":"1G"#), (#""raw":"1A02"#, #""raw":"1A"#), (#""verdict":"drink""#, #""verdict":"drunk""#), (#""zone":"Etc/UTC""#, #""zone":"Mars""#),
        (#""at":1770070875000"#, #""at":9223372036854775807"#), (#""received":1770070875000"#, #""received":-9223372036854775808"#),
        (#""gateway":"g""#, #""gateway":"""#), (#""wall":"2026-02-02T22:21:15""#, #""wall":"2026-02-30T22:21:15""#), (#""bottle":"A4:C1:38:00:00:01""#, #""bottle":"a\u0007b""#),
        (#""at":1770070875000,"#, ""),
    ]) func `what is no entry is refused`(part: String, other: String) throws {
        let store = try TrackerStore(inMemory: "Etc/UTC")
        _ = try store.append([entry()])
        let line = try #require(try Self.lines(store).first)
        try #require(line.contains(part))
        #expect(throws: (any Error).self) { try Self.read(line.replacingOccurrences(of: part, with: other)) }
    }

    @Test func `an entry cut at every byte is refused`() throws {
        let store = try TrackerStore(inMemory: "Etc/UTC")
        _ = try store.append([entry()])
        let line = try #require(try Self.lines(store).first)
        for length in 0..<line.utf8.count { #expect(throws: (any Error).self) { try Self.read(String(line.utf8.prefix(length)) ?? "") } }
    }
}
