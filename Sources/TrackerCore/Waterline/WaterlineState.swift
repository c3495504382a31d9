/// The Waterline engine (tracker spec E1): a drink raises the value by its estimate, a water lowers it by one.
package struct WaterlineState: Hashable, Sendable {
    /// The value in thousandths of a drink, so that 0.6 + 0.7 + 0.7 is 2 (K-E12). Can be negative.
    package var valueThousandths: Int
    /// The number of drinks since the last water.
    package var sinceWater: Int
    package var drinks: Int
    package var waters: Int
    package var standardThousandths: Int
    package var isWarning: Bool

    package var value: Double { Double(valueThousandths) / 1000 }
    package var standardDrinks: Double { Double(standardThousandths) / 1000 }

    /// Replays all entries by time, then by sequence number. The order of the input is irrelevant.
    package static func computeState(_ logs: [LogEntry], warningThreshold: Int) -> WaterlineState {
        var state = WaterlineState(
            valueThousandths: 0, sinceWater: 0, drinks: 0, waters: 0, standardThousandths: 0, isWarning: false)
        for log in logs.sorted(by: isEarlier) {
            switch log.kind {
            case .alcohol:
                state.valueThousandths += log.thousandths
                state.standardThousandths += log.thousandths
                state.sinceWater += 1
                state.drinks += 1
            case .water:
                state.valueThousandths -= 1000
                state.sinceWater = 0
                state.waters += 1
            }
        }
        state.isWarning = isHigh(state.valueThousandths, threshold: warningThreshold)
        return state
    }

    package static func isEarlier(_ left: LogEntry, _ right: LogEntry) -> Bool {
        (left.timestamp, left.seq, left.id) < (right.timestamp, right.seq, right.id)
    }

    static func isHigh(_ valueThousandths: Int, threshold: Int) -> Bool {
        valueThousandths >= threshold.saturatingMultiply(1000)
    }
}

/// The texts of the session screen (tracker spec E5).
extension WaterlineState {
    package static let warningText = "Drink water to return to center"

    /// The number of drinks until water is due by the rule "every N drinks"; 0 means now.
    package func waterDueIn(everyNDrinks: Int) -> Int { max(0, everyNDrinks.saturatingSubtract(sinceWater)) }

    /// The text of `waterDueIn`: `Water due in: 2 drinks`, or `Water due now`.
    package func waterDueText(everyNDrinks: Int) -> String {
        let left = waterDueIn(everyNDrinks: everyNDrinks)
        return left == 0 ? "Water due now" : "Water due in: \(counted(left, "drink"))"
    }

    /// The position of the gauge, 0…1: 0.5 is the centre, higher values are over-paced.
    package var gauge: Double { min(1, max(0, 0.5 + value / 12)) }
}
