import TrackerCore

/// Somebody who is to be told of the day and could not be, as it was when a service tried last.
package struct OutletTrouble: Hashable, Sendable {
    /// Who: `mqtt`, `ntfy` or `webhook`.
    package var outlet: String
    /// Why, in words.
    package var words: String
    /// When it began, by the machine's clock of then; `nil`: nobody noted it.
    package var since: Instant?
    /// What waits: drinks for a broker, notifications for the others.
    package var waiting: Int

    package init(outlet: String, words: String, since: Instant? = nil, waiting: Int = 0) {
        (self.outlet, self.words, self.since, self.waiting) = (outlet, words, since, waiting)
    }
}
