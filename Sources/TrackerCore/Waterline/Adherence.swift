/// How often water came within the rule "every N drinks" (tracker spec E7).
package struct Adherence: Hashable, Sendable, Codable {
    /// Chances that were kept.
    package var met: Int
    /// Chances that were not.
    package var missed: Int

    /// Each water that follows at least one drink is a chance met; each N drinks without water are one missed.
    /// Drinks still short of N at the end are not due, water without a drink before it is neither.
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

    /// Half up; `nil` when there was no chance.
    package var percent: Int? {
        let chances = met + missed
        return chances == 0 ? nil : (200 * met + chances) / (2 * chances)
    }
}
