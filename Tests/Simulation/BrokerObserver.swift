package import TrackerCore

/// The messages that a broker received, and the checks on them. The broker has the current state of each drink that
/// counts, nothing else, and no repetition of a confirmed message.
package struct BrokerObserver: Sendable {
    /// The last message about each drink.
    private var known: [String: PublishedDrink] = [:]
    /// Drinks in the order of their first message.
    package private(set) var firstMessages: [PublishedDrink] = []
    /// Messages that repeat the state of a drink.
    package private(set) var repetitions = 0
    private var wronglyRepeated: [PublishedDrink] = []

    package init() {}

    /// - Parameter mayRepeat: the connection ended before a confirmation, so the sender cannot know that the message
    ///   arrived.
    package mutating func receive(_ drink: PublishedDrink, mayRepeat: Bool) {
        guard let before = known.updateValue(drink, forKey: drink.id) else { return firstMessages.append(drink) }
        if before.hasSameContent(as: drink) { repetitions += 1 }
        // A change of a field that is not published is a message too.
        if before.sequence >= drink.sequence, !mayRepeat { wronglyRepeated.append(drink) }
    }

    /// The first drink received after a drink with a later time; `nil`: none.
    package var firstOutOfOrder: String? {
        for (before, drink) in zip(firstMessages, firstMessages.dropFirst()) {
            if let earlier = before.at, let at = drink.at, at < earlier { return "\(drink.ml ?? 0) ml at \(at)" }
        }
        return nil
    }

    /// The invariants that the received messages break.
    /// - Parameter entries: the entries of the journal.
    package func violations(_ entries: [JournalEntry]) -> [InvariantViolation] {
        var broken: [InvariantViolation] = []
        var received: [Sip: Int] = [:]
        for drink in known.values where !drink.isDeleted {
            if let ml = drink.ml, let at = drink.at { received[Sip(at: at, ml: ml), default: 0] += 1 }
        }
        for entry in entries {
            guard case .drink(let at, _) = entry.verdict else { continue }
            let sip = Sip(at: at, ml: entry.amountMl)
            guard let left = received[sip], left > 0 else {
                broken.append(
                    InvariantViolation(
                        code: .notDelivered, sentence: "the last message of \(sip) never reached the broker"))
                continue
            }
            received[sip] = left - 1
        }
        for sip in received.filter({ $0.value > 0 }).keys.sorted() {
            broken.append(
                InvariantViolation(code: .invented, sentence: "the broker received a drink that does not count: \(sip)")
            )
        }
        for drink in wronglyRepeated {
            broken.append(
                InvariantViolation(
                    code: .repeated,
                    sentence:
                        "the broker had confirmed message \(drink.sequence), \(drink.ml ?? 0) ml, and received it again"
                ))
        }
        return broken
    }

    package func missedExpectations(_ expectation: ScenarioExpectation) -> [String] {
        var broken: [String] = []
        if let delivered = expectation.delivered, delivered != firstMessages.count {
            broken.append("delivered: \(delivered) expected, \(firstMessages.count) found")
        }
        if let expected = expectation.redelivered, expected != repetitions {
            broken.append("redelivered: \(expected) expected, \(repetitions) found")
        }
        if expectation.isDeliveredInOrder, let late = firstOutOfOrder {
            broken.append("order: the broker received \(late) after a later drink")
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
