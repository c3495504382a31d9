/// Why something on a link did not happen, in a form that a retry table can use and a person can read.
package struct LinkError: Error, Sendable, Hashable {
    /// What kind of thing went wrong: an open set, because every operating system finds new ones.
    package struct Code: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
        /// The word itself, as it stands in JSON.
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }
        /// The code of that word, known or not.
        package init(_ rawValue: String) { self.rawValue = rawValue }
        /// The word.
        package var description: String { rawValue }

        /// There is no adapter, no bus, no socket to speak through.
        package static let noAdapter = Code("no-adapter")
        /// The adapter is there and switched off.
        package static let poweredOff = Code("powered-off")
        /// The system does not let us.
        package static let permissionDenied = Code("permission-denied")
        /// Nobody answered a scan, or the peer is not there.
        package static let notFound = Code("not-found")
        /// A connection attempt failed or took too long.
        package static let connectFailed = Code("connect-failed")
        /// Somebody (perhaps a dead process) is already at it.
        package static let inProgress = Code("in-progress")
        /// The connection ended.
        package static let disconnected = Code("disconnected")
        /// An answer did not come in time.
        package static let timeout = Code("timeout")
        /// The peer said no; `attError` holds its code.
        package static let refused = Code("refused")
        /// The peer broke the protocol.
        package static let protocolViolation = Code("protocol-violation")
        /// The request makes no sense in this state (write while disconnected…).
        package static let outOfStep = Code("out-of-step")
        /// bluetoothd or its bus went away.
        package static let serviceLost = Code("service-lost")
        /// Anything else that the system reported.
        package static let system = Code("system")
    }

    /// What kind of thing went wrong, for the retry table.
    package var code: Code
    /// One sentence: what was tried and what came back.
    package var sentence: String
    /// The underlying name or message as the system gave it, e.g. `org.bluez.Error.InProgress`.
    package var cause: String?
    /// Whether trying the same again may help.
    package var isTransient: Bool
    /// The ATT error code of a peer that said no.
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
    /// The sentence, with the cause in brackets where one is known.
    package var description: String { cause.map { "\(sentence) (\($0))" } ?? sentence }
}
