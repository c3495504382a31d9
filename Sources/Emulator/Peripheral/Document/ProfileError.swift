/// An error in a peripheral profile, with its path in the document.
package struct ProfileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The path in the document: `services[2].characteristics[0]`; empty for the whole document.
    package var path: String
    package var sentence: String

    package init(_ path: String, _ sentence: String) {
        self.path = path
        self.sentence = sentence
    }

    package var description: String { path.isEmpty ? sentence : "\(path): \(sentence)" }
}
