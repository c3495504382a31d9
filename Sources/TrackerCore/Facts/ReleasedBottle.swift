/// The error for a bottle that the user released from the store during a poll.
package struct ReleasedBottle: Error, Hashable, Sendable, CustomStringConvertible {
    package var bottle: String

    package init(_ bottle: String) { self.bottle = bottle }

    package var description: String {
        "\(bottle) was released during the poll. No more records are imported."
    }
}
