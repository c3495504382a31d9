/// Why there is no connection with a broker, or no more.
package struct MQTTFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of trouble it is.
    package enum Kind: String, Hashable, Sendable {
        /// What was asked for cannot be: an address, a topic, a file.
        case wrongUse
        /// Nobody answers at that place.
        case unreachable
        /// The broker does not let us in.
        case refused
        /// Encryption: a certificate, a host name, a key.
        case tls
        /// The broker ended the connection before it said anything.
        case noGreeting
        /// Another client came under our name.
        case takenOver
        /// The connection broke.
        case lost
        /// The broker is silent.
        case noAnswer
        /// More waits for the broker than may.
        case tooMuch
        /// We ended it.
        case closed
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
    package var needsPerson: Bool { [.wrongUse, .refused, .tls].contains(kind) }
}
