/// A document that holds no gadget that could be shown: where it is wrong, and in what.
package struct GadgetFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// Of the document: `services[2].characteristics[0]`; empty for the whole of it.
    package var place: String
    /// What is wrong.
    package var sentence: String

    /// Where in the document, and what is wrong there.
    package init(_ place: String, _ sentence: String) {
        self.place = place
        self.sentence = sentence
    }

    /// Where, and what.
    package var description: String { place.isEmpty ? sentence : "\(place): \(sentence)" }
}
