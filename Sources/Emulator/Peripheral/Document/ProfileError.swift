/// An error in a peripheral profile, with its path in the document.
package struct ProfileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The path in the document: `services[2].characteristics[0]`; empty for the whole document.
    package var place: String
    package var sentence: String

    package init(_ place: String, _ sentence: String) {
        self.place = place
        self.sentence = sentence
    }

    package var description: String { place.isEmpty ? sentence : "\(place): \(sentence)" }
}
