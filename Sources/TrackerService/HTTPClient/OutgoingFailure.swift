/// Why there is no answer to a request.
public struct OutgoingFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of trouble it is.
    public enum Kind: String, Hashable, Sendable {
        /// What was asked for cannot be: an address, a header, a file.
        case wrongUse
        /// Nobody answers at that place.
        case unreachable
        /// Encryption: a certificate, a host name.
        case tls
        /// The server is silent.
        case noAnswer
        /// The connection broke, or what came is no HTTP.
        case broken
        /// The answer is longer than may be.
        case tooLong
        /// Nobody waits any more.
        case cancelled
    }

    /// What kind of failure it is: whether trying again helps.
    public let kind: Kind
    /// What happened, for a person.
    public let sentence: String

    public init(_ kind: Kind, _ sentence: String) {
        (self.kind, self.sentence) = (kind, sentence)
    }

    /// The sentence.
    public var description: String { sentence }

    /// Somebody has to change something first: trying often helps nobody.
    public var needsPerson: Bool { [.wrongUse, .tls].contains(kind) }
}
