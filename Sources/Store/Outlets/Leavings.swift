/// What the other end of an outlet keeps of ours and nobody owns any more.
public struct Leavings: Hashable, Sendable {
    /// Where that is, in the outlet's own words; empty: nobody noted it.
    public var place: String
    /// Under which the other end knows who left it.
    public var id: String
    /// At which topics.
    public var topics: [String]
    /// For how long services have tried to take it back, seconds.
    public var tried: Int

    public init(place: String, id: String, topics: [String], tried: Int = 0) {
        (self.place, self.id, self.topics, self.tried) = (place, id, topics, tried)
    }
}
