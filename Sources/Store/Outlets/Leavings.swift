import TrackerCore

/// What the other end of an outlet keeps of ours and nobody owns any more.
public struct Leavings: Hashable, Sendable {
    /// Where that is, in the outlet's own words; empty: nobody noted it.
    public var place: String
    /// Under which the other end knows who left it.
    public var id: String
    /// At which topics.
    public var topics: [String]
    /// When it was first tried to take it back.
    public var since: Instant?

    public init(place: String, id: String, topics: [String], since: Instant? = nil) {
        (self.place, self.id, self.topics, self.since) = (place, id, topics, since)
    }
}
