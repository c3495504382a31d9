/// Why something on a link did not happen, in a form that a retry table can use and a person can read.
public struct LinkError: Error, Sendable, Hashable {
    /// What kind of thing went wrong: an open set, because every operating system finds new ones.
    public struct Code: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
        /// The word itself, as it stands in JSON.
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The code of that word, known or not.
        public init(_ rawValue: String) { self.rawValue = rawValue }
        /// The word.
        public var description: String { rawValue }

        /// There is no adapter, no bus, no socket to speak through.
        public static let noAdapter = Code("no-adapter")
        /// The adapter is there and switched off.
        public static let poweredOff = Code("powered-off")
        /// The system does not let us.
        public static let permissionDenied = Code("permission-denied")
        /// Nobody answered a scan, or the peer is not there.
        public static let notFound = Code("not-found")
        /// A connection attempt failed or took too long.
        public static let connectFailed = Code("connect-failed")
        /// Somebody (perhaps a dead process) is already at it.
        public static let inProgress = Code("in-progress")
        /// The connection ended.
        public static let disconnected = Code("disconnected")
        /// An answer did not come in time.
        public static let timeout = Code("timeout")
        /// The peer said no; `attError` holds its code.
        public static let refused = Code("refused")
        /// The peer broke the protocol.
        public static let protocolViolation = Code("protocol-violation")
        /// The request makes no sense in this state (write while disconnected…).
        public static let outOfStep = Code("out-of-step")
        /// bluetoothd or its bus went away.
        public static let serviceLost = Code("service-lost")
        /// Anything else that the system reported.
        public static let system = Code("system")
    }

    /// What kind of thing went wrong, for the retry table.
    public var code: Code
    /// One sentence: what was tried and what came back.
    public var sentence: String
    /// The underlying name or message as the system gave it, e.g. `org.bluez.Error.InProgress`.
    public var cause: String?
    /// Whether trying the same again may help.
    public var isTransient: Bool
    /// The ATT error code of a peer that said no.
    public var attError: UInt8?

    public init(
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
    public var description: String { cause.map { "\(sentence) (\($0))" } ?? sentence }
}
