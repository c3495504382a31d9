import TrackerCore

/// An amount as it is typed: a number, or the name of one that the settings have.
package enum Amount: Hashable, Sendable {
    case ml(Int)
    /// The setting `hydration.cupMl`.
    case cup
    /// One of the setting `hydration.quickAddMl`, counted from 1.
    case quick(Int)

    /// `250`, `0.25l`, `8oz` (`Amounts.typed`), `cup`, `quick1`; `nil` for anything else.
    package init?(_ text: String) {
        if let ml = Amounts.typed(text) {
            self = .ml(ml)
        } else if text == "cup" {
            self = .cup
        } else if text.hasPrefix("quick"), let number = Int(text.dropFirst(5)), number > 0 {
            self = .quick(number)
        } else {
            return nil
        }
    }

    /// - Throws: `Refusal` where the settings have no such amount.
    package func millilitres(_ settings: Settings) throws -> Int {
        switch self {
        case .ml(let ml): return ml
        case .cup: return settings.cupMl
        case .quick(let number):
            let amounts = settings.quickAddMl
            guard amounts.indices.contains(number - 1) else {
                throw Refusal(
                    "noSuchAmount",
                    """
                    There is no quick\(number): hydration.quickAddMl has \(amounts.count) \
                    amount\(amounts.count == 1 ? "" : "s").
                    """
                )
            }
            return amounts[number - 1]
        }
    }
}
