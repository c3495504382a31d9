/// Why nothing was encrypted, decrypted, agreed on or signed.
public struct CipherFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of trouble it is.
    public enum Kind: String, Hashable, Sendable {
        /// A key, a nonce or a message has a length that cannot be.
        case wrongLength
        /// What came from elsewhere is not what it has to be: changed, cut, of another key, no point of the curve.
        case refused
        /// The library says no to what should go: it is set up to, or memory is short.
        case failed
    }

    /// What kind of failure it is: whose fault.
    public let kind: Kind
    /// What happened, for a person, without a full stop.
    public let sentence: String

    init(_ kind: Kind, _ sentence: String) {
        (self.kind, self.sentence) = (kind, sentence)
    }

    /// The sentence.
    public var description: String { sentence }
}
