/// A document that holds no gadget that could be shown: where it is wrong, and in what.
public struct GadgetFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// Of the document: `services[2].characteristics[0]`; empty for the whole of it.
    public var place: String
    /// What is wrong.
    public var sentence: String

    /// Where in the document, and what is wrong there.
    public init(_ place: String, _ sentence: String) {
        self.place = place
        self.sentence = sentence
    }

    /// Where, and what.
    public var description: String { place.isEmpty ? sentence : "\(place): \(sentence)" }
}
