/// A drink that is new or other than it was.
package struct DrinkChange: Hashable, Sendable {
    /// Its place in the sequence of all changes.
    package var sequence: Int64
    /// The drink's key; for ever the same.
    package var key: String
    /// As it is now; `nil` where it is not there any more, `isDeleted` where somebody took it out.
    package var drink: StoredDrink?

    package init(sequence: Int64, key: String, drink: StoredDrink?) {
        (self.sequence, self.key, self.drink) = (sequence, key, drink)
    }
}
