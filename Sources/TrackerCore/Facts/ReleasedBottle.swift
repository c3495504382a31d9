/// A bottle that was the journal's own when a poll began, and is so no more: a person has let it go.
package struct ReleasedBottle: Error, Hashable, Sendable, CustomStringConvertible {
    /// Its identity.
    package var bottle: String

    /// - Parameter bottle: its identity.
    package init(_ bottle: String) { self.bottle = bottle }

    /// In words, for who polled.
    package var description: String {
        "\(bottle) was let go from this store while it was polled: nothing more is taken from it."
    }
}
