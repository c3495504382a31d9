/// A bottle that was the journal's own when a poll began, and is so no more: a person has let it go.
public struct ReleasedBottle: Error, Hashable, Sendable, CustomStringConvertible {
    /// Its identity.
    public var bottle: String

    /// - Parameter bottle: its identity.
    public init(_ bottle: String) { self.bottle = bottle }

    /// In words, for who polled.
    public var description: String {
        "\(bottle) was let go from this store while it was polled: nothing more is taken from it."
    }
}
