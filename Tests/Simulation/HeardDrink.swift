import TrackerCore

/// What a broker was told of one drink, or of a change of one.
public struct HeardDrink: Hashable, Sendable {
    /// Its place in the order in which the store was written; the same message has the same one.
    public var sequence: Int64
    /// Which drink.
    public var id: String
    /// How much, and when it was drunk; `nil` where nothing is left of it.
    public var ml: Int?
    /// When it was drunk.
    public var at: Instant?
    /// It does not count any more.
    public var isDeleted: Bool

    public init(sequence: Int64, id: String, ml: Int?, at: Instant?, isDeleted: Bool) {
        (self.sequence, self.id, self.ml, self.at, self.isDeleted) = (sequence, id, ml, at, isDeleted)
    }

    /// Whether somebody who listens learns nothing from the other one.
    func says(theSameAs other: HeardDrink) -> Bool {
        id == other.id && ml == other.ml && at == other.at && isDeleted == other.isDeleted
    }
}
