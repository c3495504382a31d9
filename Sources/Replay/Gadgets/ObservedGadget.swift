import Emulator

/// A peripheral of a capture: who it is, and what can be made of it.
public struct ObservedGadget: Sendable {
    /// As it was put together; no part of it is checked by a person.
    public var gadget: Gadget
    /// For people: the address, or which connection it was.
    public var label: String
    /// Connections in which it was the server.
    public var connections: Int
    /// ATT PDUs from it.
    public var answers: Int

    /// Somebody has spoken to it, and it has spoken too; others were only seen, or spoke where nobody could read along.
    public var hasSpoken: Bool { answers > 0 }
}

/// A capture that no gadget can be made of.
public struct GadgetReaderError: Error, Sendable, CustomStringConvertible {
    /// What is missing in the capture.
    public var sentence: String
    /// The sentence.
    public var description: String { sentence }
}
