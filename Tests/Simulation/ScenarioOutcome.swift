package import TrackerCore

/// The results of a scenario, with the names of `ScenarioExpectation`.
package struct ScenarioOutcome: Hashable, Sendable {
    package var sips = 0
    package var ml = 0
    package var days: [LocalDay: Int] = [:]
    package var quarantined = 0
    package var acknowledged = 0
    package var lost = 0
    package var acknowledgedElsewhere = 0
    package var polls = 0
    package var failedPolls = 0
    package var delivered = 0
    package var redelivered = 0
    package var isDeliveredInOrder = true
    package var reported: [String] = []

    package init() {}
}
