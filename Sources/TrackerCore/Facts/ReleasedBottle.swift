/// The user released this bottle from the store during a poll.
package struct ReleasedBottle: Error, Hashable, Sendable, CustomStringConvertible {
    package var bottle: String

    package init(_ bottle: String) { self.bottle = bottle }

    package var description: String {
        "\(bottle) was let go from this store while it was polled: nothing more is taken from it."
    }
}
