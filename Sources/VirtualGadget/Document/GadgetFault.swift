/// A document that holds no gadget that could be shown: where it is wrong, and in what.
public struct GadgetFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// Of the document: `services[2].characteristics[0]`; empty for the whole of it.
    public var place: String
    public var sentence: String

    public init(_ place: String, _ sentence: String) {
        self.place = place
        self.sentence = sentence
    }

    public var description: String { place.isEmpty ? sentence : "\(place): \(sentence)" }
}
