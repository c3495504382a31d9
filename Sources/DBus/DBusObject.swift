/// An interface that an exported object has: its shape (for Introspectable) and what its methods do.
public struct DBusInterface: Sendable {
    /// Its name, with dots.
    public var name: String
    /// What can be called.
    public var methods: [DBusMethod]
    /// What can be read, by name.
    public var properties: [String: DBusProperty]
    /// What it may send.
    public var signals: [DBusSignalShape]

    public init(
        _ name: String, methods: [DBusMethod] = [], properties: [String: DBusProperty] = [:],
        signals: [DBusSignalShape] = []
    ) {
        self.name = name
        self.methods = methods
        self.properties = properties
        self.signals = signals
    }
}

/// A named argument with its signature, e.g. `("options", "a{sv}")`.
public struct DBusArgument: Sendable, Hashable {
    /// For people who introspect.
    public var name: String
    /// The type, as a D-Bus signature of one complete type.
    public var signature: String
    /// A name with a signature.
    public init(_ name: String, _ signature: String) {
        self.name = name
        self.signature = signature
    }
}

/// A method of an object of ours.
public struct DBusMethod: Sendable {
    /// Its name.
    public var name: String
    /// What it takes, in order.
    public var input: [DBusArgument]
    /// What it answers, in order.
    public var output: [DBusArgument]
    /// Called on the connection's queue, in the order of the calls. Arguments have the types of `input` already.
    public var answer: @Sendable (DBusInvocation) -> DBusAnswer

    public init(
        _ name: String, input: [DBusArgument] = [], output: [DBusArgument] = [],
        answer: @escaping @Sendable (DBusInvocation) -> DBusAnswer
    ) {
        self.name = name
        self.input = input
        self.output = output
        self.answer = answer
    }
}

/// A signal's name and arguments, for Introspectable.
public struct DBusSignalShape: Sendable {
    /// Its name.
    public var name: String
    /// What comes with it, in order.
    public var arguments: [DBusArgument]
    /// A name with arguments.
    public init(_ name: String, arguments: [DBusArgument] = []) {
        self.name = name
        self.arguments = arguments
    }
}

/// A property with its present value. Nobody else can set it unless `set` is there.
public struct DBusProperty: Sendable {
    /// What it is now.
    public var value: DBusValue
    /// Asked on the connection's queue before a new value of the same type is taken: a failure refuses it.
    public var set: (@Sendable (DBusValue) -> DBusFailure?)?

    /// A value, and who takes another one: the failure it is refused with, or `nil`.
    public init(_ value: DBusValue, set: (@Sendable (DBusValue) -> DBusFailure?)? = nil) {
        self.value = value
        self.set = set
    }
}

/// A method call that arrived at an exported object.
public struct DBusInvocation: Sendable {
    /// Names the call when it is answered `later`.
    public struct Token: Hashable, Sendable {
        let number: UInt64
    }

    /// Names the call when it is answered.
    public var token: Token
    /// The unique bus name of whoever calls.
    public var sender: String
    /// The object that is called.
    public var path: String
    /// The interface that is meant.
    public var interface: String
    /// The method that is meant.
    public var member: String
    /// What came with the call, in order.
    public var arguments: [DBusValue]
    /// Whether the caller waits for an answer.
    public var wantsReply: Bool
}

/// What a method of ours answers.
public enum DBusAnswer: Sendable {
    case values([DBusValue])
    case failure(DBusFailure)
    /// The answer follows, by `DBusConnection.answer`.
    case later

    /// An answer without values.
    public static let done = DBusAnswer.values([])
    /// An error by its name on the bus, with a sentence for people.
    public static func failure(_ name: String, _ message: String) -> DBusAnswer { .failure(DBusFailure(name, message)) }
}
