/// What became of a drink, as one line of a stream.
public struct DrinkLine: Hashable, Sendable {
    /// What happened to the drink.
    public enum Change: String, Hashable, Sendable {
        case added
        /// A person's correction: the drink that it takes the place of is told as deleted beside it.
        case corrected
        /// It is other than it was told under the same key.
        case changed
        case deleted
    }

    /// Its place in the sequence of all changes: where a reader goes on.
    public var position: Int64
    /// What happened to the drink.
    public var change: Change
    /// The drink as it is now.
    public var drink: Drink
    /// The number of its row; never used again.
    public var number: Int64
    /// The key of the drink that was there first, of a correction.
    public var original: String?

    public init(position: Int64, change: Change, drink: Drink, number: Int64, original: String? = nil) {
        (self.position, self.change, self.drink, self.number, self.original) = (
            position, change, drink, number, original
        )
    }
}
