import Support
import Testing

@testable import TrackerCore

/// Invariant 3 as properties: totals are a fold, however the records arrive.
@Suite struct IngestProperties {
    private func drinks(_ random: inout SeededGenerator) -> [Drink] {
        let calendar = DayCalendar(zone: .utc)
        let base = Instant(seconds: 1_772_000_000)
        return (0..<Int.random(in: 1...60, using: &random)).map { _ in
            let at = base.advanced(seconds: Double(Int.random(in: 0...300_000, using: &random)))
            let ml = Int.random(in: 0...60, using: &random)
            let wall = Zone.utc.wall(at: at)
            return Drink(
                key: Drink.bottleKey(
                    bottle: "b\(Int.random(in: 1...2, using: &random))", wall: wall.description, amountMl: ml), at: at,
                calendar: calendar, ml: ml, source: .bottle, updatedAt: at)
        }
    }

    @Test(arguments: 1...200) func `any split, order or repetition of batches gives the same state`(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let drinks = drinks(&random)
        let whole = DrinkLedger(drinks)
        var pieces = drinks.shuffled(using: &random)
        var ledger = DrinkLedger()
        while !pieces.isEmpty {
            let batch = Array(pieces.prefix(Int.random(in: 1...10, using: &random)))
            ledger.ingest(batch)
            // Some records are sent again with the next batch, as by a bottle without an acknowledgement.
            if Bool.random(using: &random) { pieces.removeFirst(batch.count) } else { pieces.removeFirst() }
            ledger.ingest(Array(drinks.shuffled(using: &random).prefix(Int.random(in: 0...3, using: &random))))
        }
        #expect(ledger == whole, "seed \(seed)")
        for (day, total) in ledger.totals {
            #expect(
                ledger.intake(on: day).totalMl == total && whole.intake(on: day) == ledger.intake(on: day),
                "seed \(seed)")
        }
    }

    @Test(arguments: 1...100) func `deleted drinks stay deleted`(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let drinks = drinks(&random)
        var ledger = DrinkLedger(drinks)
        let gone = Set(drinks.shuffled(using: &random).prefix(drinks.count / 3).map(\.key))
        let now = Instant(seconds: 1_773_000_000)
        for key in gone {
            let wasThere = ledger.delete(key, at: now)
            #expect(wasThere, "seed \(seed)")
        }
        let reset = try #require(drinks.randomElement(using: &random)).localDay
        ledger.reset(reset, at: now)
        let state = ledger
        for _ in 0..<3 { ledger.ingest(drinks.shuffled(using: &random)) }
        #expect(ledger == state && ledger.intake(on: reset).totalMl == 0 && ledger.totals[reset] == nil, "seed \(seed)")
        for key in gone { #expect(ledger.drinks[key]?.isDeleted == true, "seed \(seed)") }
    }

    @Test(arguments: 1...100) func `the Waterline value does not depend on the order of insertion`(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let words = (0..<Int.random(in: 0...12, using: &random)).map { _ in
            ["A", "W", "1.6", "0.7"].randomElement(using: &random) ?? "A"
        }
        let logs = entries(words.joined(separator: " ") + (words.count == 1 ? " " : ""))
        let state = WaterlineState.computeState(logs, warningThreshold: 2)
        #expect(
            WaterlineState.computeState(logs.shuffled(using: &random), warningThreshold: 2) == state, "seed \(seed)")
        // FR-4: the value is the sum of the estimates less the number of waters.
        #expect(state.valueThousandths == state.standardThousandths - 1000 * state.waters, "seed \(seed)")
    }

    /// E7's closed form: a run of L drinks closed by water gives ceil(L/N) chances, one met; an open one floor(L/N).
    @Test(arguments: 1...4) func `adherence equals its closed form`(rule: Int) {
        for length in 0...8 {
            for bits in 0..<(1 << length) {
                let kinds: [LogEntry.Kind] = (0..<length).map { bits >> $0 & 1 == 1 ? .water : .alcohol }
                var (met, missed, run) = (0, 0, 0)
                for kind in kinds {
                    if kind == .alcohol {
                        run += 1
                    } else if run > 0 {
                        met += 1
                        missed += (run + rule - 1) / rule - 1
                        run = 0
                    }
                }
                missed += run / rule
                let adherence = Adherence(kinds, everyNDrinks: rule)
                #expect(adherence.met == met && adherence.missed == missed, "\(kinds)")
            }
        }
    }
}
