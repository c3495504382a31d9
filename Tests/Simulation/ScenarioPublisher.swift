package import TrackerCore

/// The journal's entries for the broker, in order, each until the broker confirms it.
package protocol ScenarioPublisher {
    /// The oldest unconfirmed entries, as many as one batch holds.
    /// - Parameter now: the time of the host's clock.
    func due(now: Instant) throws -> [PublishedDrink]
    /// The broker has all entries up to this one.
    func confirmed(through sequence: Int64) throws
}
