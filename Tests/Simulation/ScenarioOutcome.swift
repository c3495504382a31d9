import TrackerCore

/// What came of a scenario, by the names of `ScenarioPromise`.
public struct ScenarioOutcome: Hashable, Sendable {
    /// Drinks that count in the journal of the house.
    public var sips = 0
    /// What they come to, ml.
    public var ml = 0
    /// The same by day.
    public var days: [LocalDay: Int] = [:]
    /// Records that are kept and not counted, since their date is not believed.
    public var doubted = 0
    /// Pieces of bytes that are no record, over all polls.
    public var quarantined = 0
    /// Records that the house's polls acknowledged.
    public var acknowledged = 0
    /// Records that the ring lost before anybody had them.
    public var lost = 0
    /// Records that somebody else took.
    public var elsewhere = 0
    /// Polls of the house that ended.
    public var polls = 0
    /// Those of them that failed.
    public var failedPolls = 0
    /// Drinks that the broker was told of.
    public var heard = 0
    /// Messages that told the broker nothing new.
    public var heardAgain = 0
    /// The broker heard of the drinks in the order in which they were drunk.
    public var isHeardInOrder = true
    /// What was told: kinds of failures and codes of warnings, in order.
    public var told: [String] = []

    /// Of a day on which nothing happened.
    public init() {}
}
