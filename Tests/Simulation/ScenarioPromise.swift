import TrackerCore

/// What must hold when a scenario is over, beside what must hold always: every sip once, none doubled, none invented,
/// and nothing acknowledged that is not in the journal. What is `nil` may be anything.
public struct ScenarioPromise: Hashable, Sendable {
    /// Drinks that count in the journal of the house.
    public var sips: Int?
    /// What they come to, ml.
    public var ml: Int?
    /// The same by day; a day that is not named may be anything.
    public var days: [LocalDay: Int] = [:]
    /// Records that are kept and not counted, since their date is not believed.
    public var doubted: Int?
    /// Pieces of bytes that are no record, over all polls.
    public var quarantined: Int?
    /// Records that the house's polls acknowledged.
    public var acknowledged: Int?
    /// Records that the ring lost before anybody had them.
    public var lost: Int?
    /// Records that somebody else took.
    public var elsewhere: Int?
    /// Polls of the house that failed.
    public var failedPolls: Int?
    /// Drinks that the broker was told of.
    public var heard: Int?
    /// Messages that told the broker nothing that it had not heard of the same drink.
    public var heardAgain: Int?
    /// The broker heard of the drinks in the order in which they were drunk.
    public var hearsInOrder = false
    /// What was told at least once: kinds of failures and codes of warnings.
    public var told: [String] = []

    /// With nothing promised beside what must hold always.
    public init() {}
}
