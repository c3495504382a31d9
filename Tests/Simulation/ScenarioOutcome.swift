package import TrackerCore

/// The results of a scenario, with the names of `ScenarioExpectation`.
package struct ScenarioOutcome: Hashable, Sendable {
    package var sips = 0
    package var ml = 0
    package var days: [LocalDay: Int] = [:]
    package var doubted = 0
    package var quarantined = 0
    package var acknowledged = 0
    package var lost = 0
    package var elsewhere = 0
    package var polls = 0
    package var failedPolls = 0
    package var scanned = 0
    package var heardAgain = 0
    package var isHeardInOrder = true
    package var reported: [String] = []

    package init() {}
}
