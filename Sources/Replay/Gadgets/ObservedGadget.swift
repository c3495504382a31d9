import Emulator

/// A peripheral of a capture: who it is, and what can be made of it.
package struct ObservedGadget: Sendable {
    /// As it was put together; no part of it is checked by a person.
    package var gadget: Gadget
    /// For people: the address, or which connection it was.
    package var label: String
    /// Connections in which it was the server.
    package var connections: Int
    /// ATT PDUs from it.
    package var answers: Int

    /// Somebody has spoken to it, and it has spoken too; others were only seen, or spoke where nobody could read along.
    package var hasSpoken: Bool { answers > 0 }
}

/// A capture that no gadget can be made of.
package struct GadgetReaderError: Error, Sendable, CustomStringConvertible {
    /// What is missing in the capture.
    package var sentence: String
    /// The sentence.
    package var description: String { sentence }
}
