/// Why there is no answer to a request.
package struct OutgoingFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of trouble it is.
    package enum Kind: String, Hashable, Sendable {
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
    package let kind: Kind
    /// What happened, for a person.
    package let sentence: String

    package init(_ kind: Kind, _ sentence: String) {
        (self.kind, self.sentence) = (kind, sentence)
    }

    /// The sentence.
    package var description: String { sentence }

    /// Somebody has to change something first: trying often helps nobody.
    package var needsPerson: Bool { [.wrongUse, .tls].contains(kind) }
}
