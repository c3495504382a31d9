/// An error of a link, with a code for the retry table and a sentence for the user.
package struct LinkError: Error, Sendable, Hashable {
    /// The kind of error. The set is open, because each operating system has further ones.
    package struct Code: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }
        package init(_ rawValue: String) { self.rawValue = rawValue }
        package var description: String { rawValue }

        package static let noAdapter = Code("no-adapter")
        package static let poweredOff = Code("powered-off")
        package static let permissionDenied = Code("permission-denied")
        /// A scan found nothing, or the peer is not in range.
        package static let notFound = Code("not-found")
        package static let connectFailed = Code("connect-failed")
        /// Another operation, possibly of a process that has ended, is in progress.
        package static let inProgress = Code("in-progress")
        package static let disconnected = Code("disconnected")
        package static let timeout = Code("timeout")
        /// The peer rejected the request; `attError` has its code.
        package static let refused = Code("refused")
        package static let protocolViolation = Code("protocol-violation")
        /// The request is invalid in this state, such as a write without a connection.
        package static let invalidState = Code("out-of-step")
        /// The connection to bluetoothd or the bus was lost.
        package static let serviceLost = Code("service-lost")
        package static let system = Code("system")
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
