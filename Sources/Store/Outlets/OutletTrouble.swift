import TrackerCore

/// Somebody who is to be told of the day and could not be, as it was when a service tried last.
public struct OutletTrouble: Hashable, Sendable {
    /// Who: `mqtt`, `ntfy` or `webhook`.
    public var outlet: String
    /// Why, in words.
    public var words: String
    /// When it began, by the machine's clock of then; `nil`: nobody noted it.
    public var since: Instant?
    /// What waits: drinks for a broker, notifications for the others.
    public var waiting: Int

    public init(outlet: String, words: String, since: Instant? = nil, waiting: Int = 0) {
        (self.outlet, self.words, self.since, self.waiting) = (outlet, words, since, waiting)
    }
}
