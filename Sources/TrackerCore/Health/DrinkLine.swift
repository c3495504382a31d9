/// A change of a drink as one line of a stream.
package struct DrinkLine: Hashable, Sendable {
    package enum Change: String, Hashable, Sendable {
        case added
        /// The user's correction of a drink. The original is reported as deleted.
        case corrected
        /// The drink changed under the same key.
        case changed
        case deleted
    }

    /// The position in the sequence of changes, from which a reader can resume.
    package var position: Int64
    package var change: Change
    package var drink: Drink
    /// The row id, which is never reused.
    package var number: Int64
    /// The key of the drink that the user corrected.
    package var original: String?

    package init(position: Int64, change: Change, drink: Drink, number: Int64, original: String? = nil) {
        (self.position, self.change, self.drink, self.number, self.original) = (
            position, change, drink, number, original
        )
    }
}
