import TrackerCore

/// What came of a scenario, by the names of `ScenarioPromise`.
package struct ScenarioOutcome: Hashable, Sendable {
    /// Drinks that count in the journal of the house.
    package var sips = 0
    /// What they come to, ml.
    package var ml = 0
    /// The same by day.
    package var days: [LocalDay: Int] = [:]
    /// Records that are kept and not counted, since their date is not believed.
    package var doubted = 0
    /// Pieces of bytes that are no record, over all polls.
    package var quarantined = 0
    /// Records that the house's polls acknowledged.
    package var acknowledged = 0
    /// Records that the ring lost before anybody had them.
    package var lost = 0
    /// Records that somebody else took.
    package var elsewhere = 0
    /// Polls of the house that ended.
    package var polls = 0
    /// Those of them that failed.
    package var failedPolls = 0
    /// Drinks that the broker was told of.
    package var heard = 0
    /// Messages that told the broker nothing new.
    package var heardAgain = 0
    /// The broker heard of the drinks in the order in which they were drunk.
    package var isHeardInOrder = true
    /// What was told: kinds of failures and codes of warnings, in order.
    package var told: [String] = []

    /// Of a day on which nothing happened.
    package init() {}
}
