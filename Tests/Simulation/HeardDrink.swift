import TrackerCore

/// What a broker was told of one drink, or of a change of one.
package struct HeardDrink: Hashable, Sendable {
    /// Its place in the order in which the store was written; the same message has the same one.
    package var sequence: Int64
    /// Which drink.
    package var id: String
    /// How much, and when it was drunk; `nil` where nothing is left of it.
    package var ml: Int?
    /// When it was drunk.
    package var at: Instant?
    /// It does not count any more.
    package var isDeleted: Bool

    package init(sequence: Int64, id: String, ml: Int?, at: Instant?, isDeleted: Bool) {
        (self.sequence, self.id, self.ml, self.at, self.isDeleted) = (sequence, id, ml, at, isDeleted)
    }

    /// Whether somebody who listens learns nothing from the other one.
    func says(theSameAs other: HeardDrink) -> Bool {
        id == other.id && ml == other.ml && at == other.at && isDeleted == other.isDeleted
    }
}
