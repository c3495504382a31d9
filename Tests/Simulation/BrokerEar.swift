import TrackerCore

/// What a broker heard, and what must hold of it: each drink that counts is known there as it is, nothing else is, and
/// nothing that was confirmed is told again.
package struct BrokerEar: Sendable {
    /// Of each drink the last that was heard.
    private var known: [String: HeardDrink] = [:]
    /// Drinks in the order in which they were heard of first.
    package private(set) var first: [HeardDrink] = []
    /// Messages that told of a drink what had been heard of it before.
    package private(set) var again = 0
    private var repeated: [HeardDrink] = []

    /// Nothing was heard yet.
    package init() {}

    /// - Parameter mayRepeat: the connection had ended before it could be confirmed: who told it could not know that it
    ///   was heard.
    package mutating func hear(_ drink: HeardDrink, mayRepeat: Bool) {
        guard let before = known.updateValue(drink, forKey: drink.id) else { return first.append(drink) }
        if before.says(theSameAs: drink) { again += 1 }
        // A change of what is not told is a message of its own.
        if before.sequence >= drink.sequence, !mayRepeat { repeated.append(drink) }
    }

    /// What was heard of after one that was drunk later; `nil`: nothing was.
    package var firstOutOfOrder: String? {
        for (before, drink) in zip(first, first.dropFirst()) {
            if let earlier = before.at, let at = drink.at, at < earlier { return "\(drink.ml ?? 0) ml at \(at)" }
        }
        return nil
    }

    /// What does not hold.
    /// - Parameter entries: the journal's.
    package func broken(_ entries: [JournalEntry]) -> [BrokenPromise] {
        var broken: [BrokenPromise] = []
        var told: [Sip: Int] = [:]
        for drink in known.values where !drink.isDeleted {
            if let ml = drink.ml, let at = drink.at { told[Sip(at: at, ml: ml), default: 0] += 1 }
        }
        for entry in entries {
            guard case .drink(let at, _) = entry.verdict else { continue }
            let sip = Sip(at: at, ml: entry.amountMl)
            guard let left = told[sip], left > 0 else {
                broken.append(
                    BrokenPromise(code: .unheard, sentence: "the broker was never told of \(sip), or otherwise at last")
                )
                continue
            }
            told[sip] = left - 1
        }
        for sip in told.filter({ $0.value > 0 }).keys.sorted() {
            broken.append(
                BrokenPromise(code: .invented, sentence: "the broker was told of what does not count: \(sip)"))
        }
        for drink in repeated {
            broken.append(
                BrokenPromise(
                    code: .repeated,
                    sentence:
                        "the broker had confirmed message \(drink.sequence), \(drink.ml ?? 0) ml, and was told again"))
        }
        return broken
    }

    /// What a scenario promises of it, and is not so.
    package func broken(_ promise: ScenarioPromise) -> [String] {
        var broken: [String] = []
        if let heard = promise.heard, heard != first.count {
            broken.append("heard: \(heard) promised, \(first.count) found")
        }
        if let wanted = promise.heardAgain, wanted != again {
            broken.append("heard-again: \(wanted) promised, \(again) found")
        }
        if promise.hearsInOrder, let late = firstOutOfOrder {
            broken.append("heard-in-order: promised, and the broker heard of \(late) after a later one")
        }
        return broken
    }

    private struct Sip: Hashable, Comparable, CustomStringConvertible {
        var at: Instant
        var ml: Int
        var description: String { "\(ml) ml at \(at)" }
        static func < (left: Sip, right: Sip) -> Bool { (left.at, left.ml) < (right.at, right.ml) }
    }
}
