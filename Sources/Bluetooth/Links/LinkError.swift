/// An error of a link, with a code for the retry table and a sentence for the user.
package struct LinkError: Error, Sendable, Hashable {
    package enum Code: String, Sendable, CaseIterable {
        case noAdapter = "no-adapter"
        case poweredOff = "powered-off"
        case permissionDenied = "permission-denied"
        /// A scan found nothing, or the peer is not in range.
        case notFound = "not-found"
        case connectFailed = "connect-failed"
        /// Another operation, possibly of a process that has ended, is in progress.
        case inProgress = "in-progress"
        case disconnected
        case timeout
        /// The peer rejected the request; `attError` has its code.
        case refused
        case protocolViolation = "protocol-violation"
        /// The request is invalid in this state, such as a write without a connection.
        case invalidState = "out-of-step"
        /// The connection to bluetoothd or the bus was lost.
        case serviceLost = "service-lost"
        /// Another error of the operating system.
        case system
    }

    package var code: Code
    /// One sentence: the operation and its result.
    package var sentence: String
    /// The system's name or message, such as `org.bluez.Error.InProgress`.
    package var cause: String?
    /// Whether a retry might succeed.
    package var isTransient: Bool
    package var attError: UInt8?

    package init(
        _ code: Code, _ sentence: String, cause: String? = nil, isTransient: Bool = false, attError: UInt8? = nil
    ) {
        self.code = code
        self.sentence = sentence
        self.cause = cause
        self.isTransient = isTransient
        self.attError = attError
    }
}

extension LinkError: CustomStringConvertible {
    package var description: String { cause.map { "\(sentence) (\($0))" } ?? sentence }
}
