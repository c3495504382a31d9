/// What became of a drink, as one line of a stream.
package struct DrinkLine: Hashable, Sendable {
    /// What happened to the drink.
    package enum Change: String, Hashable, Sendable {
        case added
        /// A person's correction: the drink that it takes the place of is told as deleted beside it.
        case corrected
        /// It is other than it was told under the same key.
        case changed
        case deleted
    }

    /// Its place in the sequence of all changes: where a reader goes on.
    package var position: Int64
    /// What happened to the drink.
    package var change: Change
    /// The drink as it is now.
    package var drink: Drink
    /// The number of its row; never used again.
    package var number: Int64
    /// The key of the drink that was there first, of a correction.
    package var original: String?

    package init(position: Int64, change: Change, drink: Drink, number: Int64, original: String? = nil) {
        (self.position, self.change, self.drink, self.number, self.original) = (
            position, change, drink, number, original
        )
    }
}
