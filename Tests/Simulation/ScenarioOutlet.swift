import TrackerCore

/// What a journal tells the house's broker: in order, each until the broker has confirmed it.
package protocol ScenarioOutlet {
    /// What the broker has not confirmed yet, oldest first, as the broker will hear it; as many as are under way at
    /// once.
    /// - Parameter now: by the host's clock.
    func due(now: Instant) throws -> [HeardDrink]
    /// All up to this one are at the broker.
    func confirmed(through sequence: Int64) throws
}
