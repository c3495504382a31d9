/// An interface of an exported object: its methods and read-only properties.
package struct DBusInterface: Sendable {
    package var name: String
    package var methods: [DBusMethod]
    package var properties: [String: DBusValue]

    package init(_ name: String, methods: [DBusMethod] = [], properties: [String: DBusValue] = [:]) {
        self.name = name
        self.methods = methods
        self.properties = properties
    }
}

/// An argument with its signature, such as `("options", "a{sv}")`.
package struct DBusArgument: Sendable, Hashable {
    package var name: String
    /// The D-Bus signature of one complete type, such as `a{sv}`.
    package var signature: String
    package init(_ name: String, _ signature: String) {
        self.name = name
        self.signature = signature
    }
}

package struct DBusMethod: Sendable {
    package var name: String
    package var input: [DBusArgument]
    package var output: [DBusArgument]
    /// Runs for each call, on the connection's queue in order. Arguments have the types of `input`.
    package var handler: @Sendable (DBusInvocation) throws(DBusFailure) -> DBusReply

    package init(
        _ name: String, input: [DBusArgument] = [], output: [DBusArgument] = [],
        handler: @escaping @Sendable (DBusInvocation) throws(DBusFailure) -> DBusReply
    ) {
        self.name = name
        self.input = input
        self.output = output
        self.handler = handler
    }
}

/// A method call to an exported object.
package struct DBusInvocation: Sendable {
    /// Identifies the call in a later reply.
    package struct Token: Hashable, Sendable {
        let number: UInt64
    }

    package var token: Token
    package var path: String
    package var interface: String
    package var member: String
    package var arguments: [DBusValue]
    package var expectsReply: Bool
}

/// The result of a method handler.
package enum DBusReply: Sendable {
    case values([DBusValue])
    case failure(DBusFailure)
    /// `DBusConnection.answer` will send the reply.
    case deferred

    package static let done = DBusReply.values([])
    /// An error with its D-Bus name and a sentence.
    package static func failure(_ name: String, _ message: String) -> DBusReply {
        .failure(DBusFailure(name, message))
    }
}
