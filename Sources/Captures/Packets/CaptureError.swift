/// Why a capture could not be read (or written) any further. Everything before `offset` has been delivered.
package struct CaptureError: Error, Sendable, Hashable {
    /// What kind of trouble it is.
    package enum Kind: Sendable, Hashable {
        /// No format that this project reads; the sentence says what it looks like.
        case unrecognised
        /// A known format with something in it that is not read (a link type, a version); named.
        case unsupported
        /// The file ends inside a record.
        case cut
        /// The bytes contradict their format.
        case broken
        /// The format to be written has no place for this packet.
        case cannotCarry
    }

    /// What kind of trouble it is, for a program to decide by.
    package var kind: Kind
    /// Byte offset in the file at which the trouble begins.
    package var offset: Int
    /// One sentence: what is wrong, and what to do where something can be done.
    package var sentence: String

    /// The trouble, the byte of the file at which it begins, and the words for a person.
    package init(_ kind: Kind, at offset: Int, _ sentence: String) {
        self.kind = kind
        self.offset = offset
        self.sentence = sentence
    }
}

extension CaptureError: CustomStringConvertible {
    /// The sentence, with the byte offset where one helps.
    package var description: String {
        kind == .unrecognised || kind == .cannotCarry ? sentence : "\(sentence) (at byte \(offset))"
    }
}
