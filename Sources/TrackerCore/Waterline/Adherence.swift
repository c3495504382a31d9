/// The adherence to the rule "water every N drinks" (tracker spec E7).
package struct Adherence: Hashable, Sendable, Codable {
    package var met: Int
    package var missed: Int

    /// Counts chances. A water after at least one drink is a met chance, N drinks without water are a missed one. Fewer
    /// drinks at the end are not due, and a water without a drink before it does not count.
    package init(_ kinds: some Sequence<LogEntry.Kind>, everyNDrinks: Int) {
        let rule = max(1, everyNDrinks)
        var count = 0
        met = 0
        missed = 0
        for kind in kinds {
            switch kind {
            case .alcohol:
                if count == rule {
                    missed += 1
                    count = 0
                }
                count += 1
            case .water:
                if count >= 1 { met += 1 }
                count = 0
            }
        }
        if count == rule { missed += 1 }
    }

    /// The adherence in percent, rounded half up; `nil` if no water was due and none followed a drink.
    package var percent: Int? {
        let chances = met + missed
        return chances == 0 ? nil : (200 * met + chances) / (2 * chances)
    }
}
