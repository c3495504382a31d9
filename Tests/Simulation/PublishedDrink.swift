package import TrackerCore

/// A message to the broker about one drink, or about a change of one.
package struct PublishedDrink: Hashable, Sendable {
    /// The position in the order of writes to the store. A resent message has the same one.
    package var sequence: Int64
    package var id: String
    /// Amount in millilitres; `nil` for a removed drink.
    package var ml: Int?
    package var at: Instant?
    package var isDeleted: Bool

    package init(sequence: Int64, id: String, ml: Int?, at: Instant?, isDeleted: Bool) {
        (self.sequence, self.id, self.ml, self.at, self.isDeleted) = (sequence, id, ml, at, isDeleted)
    }

    func hasSameContent(as other: PublishedDrink) -> Bool {
        id == other.id && ml == other.ml && at == other.at && isDeleted == other.isDeleted
    }
}
