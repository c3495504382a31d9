import TrackerCore

/// What came of a scenario, by the names of `ScenarioPromise`.
public struct ScenarioOutcome: Hashable, Sendable {
    public var sips = 0
    public var ml = 0
    public var days: [LocalDay: Int] = [:]
    public var doubted = 0
    public var quarantined = 0
    public var acknowledged = 0
    public var lost = 0
    public var elsewhere = 0
    public var polls = 0
    public var failedPolls = 0
    public var told: [String] = []
}
