/// What the other end of an outlet keeps of ours and nobody owns any more.
package struct Leavings: Hashable, Sendable {
    /// Where that is, in the outlet's own words; empty: nobody noted it.
    package var place: String
    /// Under which the other end knows who left it.
    package var id: String
    /// At which topics.
    package var topics: [String]
    /// For how long services have tried to take it back, seconds.
    package var tried: Int

    package init(place: String, id: String, topics: [String], tried: Int = 0) {
        (self.place, self.id, self.topics, self.tried) = (place, id, topics, tried)
    }
}
