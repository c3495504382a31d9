import TrackerCore

/// What must hold when a scenario is over, beside what must hold always: every sip once, none doubled, none invented,
/// and nothing acknowledged that is not in the journal. What is `nil` may be anything.
package struct ScenarioPromise: Hashable, Sendable {
    /// Drinks that count in the journal of the house.
    package var sips: Int?
    /// What they come to, ml.
    package var ml: Int?
    /// The same by day; a day that is not named may be anything.
    package var days: [LocalDay: Int] = [:]
    /// Records that are kept and not counted, since their date is not believed.
    package var doubted: Int?
    /// Pieces of bytes that are no record, over all polls.
    package var quarantined: Int?
    /// Records that the house's polls acknowledged.
    package var acknowledged: Int?
    /// Records that the ring lost before anybody had them.
    package var lost: Int?
    /// Records that somebody else took.
    package var elsewhere: Int?
    /// Polls of the house that failed.
    package var failedPolls: Int?
    /// Drinks that the broker was told of.
    package var heard: Int?
    /// Messages that told the broker nothing that it had not heard of the same drink.
    package var heardAgain: Int?
    /// The broker heard of the drinks in the order in which they were drunk.
    package var hearsInOrder = false
    /// What was told at least once: kinds of failures and codes of warnings.
    package var told: [String] = []

    /// With nothing promised beside what must hold always.
    package init() {}
}
