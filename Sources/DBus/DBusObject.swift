/// An interface that an exported object has: its shape (for Introspectable) and what its methods do.
package struct DBusInterface: Sendable {
    /// Its name, with dots.
    package var name: String
    /// What can be called.
    package var methods: [DBusMethod]
    /// What can be read, by name.
    package var properties: [String: DBusProperty]
    /// What it may send.
    package var signals: [DBusSignalShape]

    package init(
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
package struct DBusArgument: Sendable, Hashable {
    /// For people who introspect.
    package var name: String
    /// The type, as a D-Bus signature of one complete type.
    package var signature: String
    /// A name with a signature.
    package init(_ name: String, _ signature: String) {
        self.name = name
        self.signature = signature
    }
}

/// A method of an object of ours.
package struct DBusMethod: Sendable {
    /// Its name.
    package var name: String
    /// What it takes, in order.
    package var input: [DBusArgument]
    /// What it answers, in order.
    package var output: [DBusArgument]
    /// Called on the connection's queue, in the order of the calls. Arguments have the types of `input` already.
    package var answer: @Sendable (DBusInvocation) -> DBusAnswer

    package init(
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
package struct DBusSignalShape: Sendable {
    /// Its name.
    package var name: String
    /// What comes with it, in order.
    package var arguments: [DBusArgument]
    /// A name with arguments.
    package init(_ name: String, arguments: [DBusArgument] = []) {
        self.name = name
        self.arguments = arguments
    }
}

/// A property with its present value. Nobody else can set it unless `set` is there.
package struct DBusProperty: Sendable {
    /// What it is now.
    package var value: DBusValue
    /// Asked on the connection's queue before a new value of the same type is taken: a failure refuses it.
    package var set: (@Sendable (DBusValue) -> DBusFailure?)?

    /// A value, and who takes another one: the failure it is refused with, or `nil`.
    package init(_ value: DBusValue, set: (@Sendable (DBusValue) -> DBusFailure?)? = nil) {
        self.value = value
        self.set = set
    }
}

/// A method call that arrived at an exported object.
package struct DBusInvocation: Sendable {
    /// Names the call when it is answered `later`.
    package struct Token: Hashable, Sendable {
        let number: UInt64
    }

    /// Names the call when it is answered.
    package var token: Token
    /// The unique bus name of whoever calls.
    package var sender: String
    /// The object that is called.
    package var path: String
    /// The interface that is meant.
    package var interface: String
    /// The method that is meant.
    package var member: String
    /// What came with the call, in order.
    package var arguments: [DBusValue]
    /// Whether the caller waits for an answer.
    package var wantsReply: Bool
}

/// What a method of ours answers.
package enum DBusAnswer: Sendable {
    case values([DBusValue])
    case failure(DBusFailure)
    /// The answer follows, by `DBusConnection.answer`.
    case later

    /// An answer without values.
    package static let done = DBusAnswer.values([])
    /// An error by its name on the bus, with a sentence for people.
    package static func failure(_ name: String, _ message: String) -> DBusAnswer {
        .failure(DBusFailure(name, message))
    }
}
