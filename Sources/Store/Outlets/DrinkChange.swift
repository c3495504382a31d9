/// A drink that is new or other than it was.
public struct DrinkChange: Hashable, Sendable {
    /// Its place in the sequence of all changes.
    public var sequence: Int64
    /// The drink's key; for ever the same.
    public var key: String
    /// As it is now; `nil` where it is not there any more, `isDeleted` where somebody took it out.
    public var drink: StoredDrink?

    public init(sequence: Int64, key: String, drink: StoredDrink?) {
        (self.sequence, self.key, self.drink) = (sequence, key, drink)
    }
}
