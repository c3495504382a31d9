import Support
import Testing

@testable import TrackerCore

@Suite struct WaterlineProperties {
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
    @Test(arguments: 1...4) func `adherence equals a separate calculation for all short sessions`(rule: Int) {
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
