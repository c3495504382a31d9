package import TrackerCore

/// The expected results of a scenario, in addition to the invariants: every drink once, none twice, none invented, and
/// nothing acknowledged that is not in the journal. `nil` accepts any value.
package struct ScenarioExpectation: Hashable, Sendable {
    /// Drinks that count in the gateway's journal.
    package var sips: Int?
    /// The total of these drinks, ml.
    package var ml: Int?
    /// The total by day; other days can have any value.
    package var days: [LocalDay: Int] = [:]
    /// Quarantined records: stored and not counted, because their date is not trusted.
    package var quarantined: Int?
    package var acknowledged: Int?
    /// Records that the ring overwrote before a central read them.
    package var lost: Int?
    /// Records that another central acknowledged.
    package var acknowledgedElsewhere: Int?
    package var failedPolls: Int?
    /// Kinds of failures and codes of warnings, each reported at least once.
    package var reported: [String] = []

    package init() {}
}
