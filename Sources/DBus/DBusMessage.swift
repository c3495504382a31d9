import CDBus

/// A method call to send.
package struct DBusCall: Sendable {
    package var destination: String
    package var path: String
    package var interface: String
    package var member: String
    package var arguments: [DBusValue]

    package init(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [DBusValue] = []
    ) {
        self.destination = destination
        self.path = path
        self.interface = interface
        self.member = member
        self.arguments = arguments
    }

    /// A method call to the message bus.
    package static func bus(_ member: String, _ arguments: [DBusValue] = []) -> DBusCall {
        DBusCall("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", member, arguments)
    }
}

package struct DBusSignal: Sendable, Hashable {
    /// The sender's unique name (`:1.42`), or `org.freedesktop.DBus` for the bus.
    package var sender: String
    package var path: String
    package var interface: String
    package var member: String
    package var arguments: [DBusValue]
    /// The sender's serial number of the message.
    package var serial: UInt32 = 0
}

/// A match rule for signals. A `nil` field matches anything.
package struct DBusMatch: Hashable, Sendable {
    /// The sender. A well-known name matches signals of its current owner.
    package var sender: String?
    package var path: String?
    package var interface: String?

    package init(sender: String? = nil, path: String? = nil, interface: String? = nil) {
        self.sender = sender
        self.path = path
        self.interface = interface
    }

    /// The text of the rule (D-Bus specification, "Match Rules"). Names and paths have no apostrophe.
    var rule: String {
        let parts = [("sender", sender), ("path", path), ("interface", interface)]
        return "type='signal'" + parts.compactMap { name, value in value.map { ",\(name)='\($0)'" } }.joined()
    }

    /// Whether the signal matches. `owner` is the unique name of `sender`.
    func matches(_ signal: DBusSignal, owner: String?) -> Bool {
        (sender == nil || signal.sender == owner) && signal.path == path ?? signal.path
            && signal.interface == interface ?? signal.interface
    }
}

/// A reference to a libdbus message.
final class OwnedMessage {
    let pointer: OpaquePointer

    /// - Parameter pointer: a reference that this object releases.
    init(_ pointer: OpaquePointer) { self.pointer = pointer }
    deinit { dbus_message_unref(pointer) }

    convenience init(_ call: DBusCall) throws(DBusFailure) {
        guard dbus_validate_bus_name(call.destination, nil) != 0, dbus_validate_path(call.path, nil) != 0,
            dbus_validate_interface(call.interface, nil) != 0, dbus_validate_member(call.member, nil) != 0,
            let pointer = dbus_message_new_method_call(call.destination, call.path, call.interface, call.member)
        else {
            throw DBusFailure(
                DBusFailure.unsendable,
                "invalid method call: \(call.interface).\(call.member) at \(call.destination) \(call.path)")
        }
        self.init(pointer)
        try DBusMessageCoding.append(call.arguments, to: pointer)
    }

    convenience init(path: String, interface: String, signal: String, _ arguments: [DBusValue]) throws(DBusFailure) {
        guard dbus_validate_path(path, nil) != 0, dbus_validate_interface(interface, nil) != 0,
            dbus_validate_member(signal, nil) != 0,
            let pointer = dbus_message_new_signal(path, interface, signal)
        else { throw DBusFailure(DBusFailure.unsendable, "invalid signal: \(interface).\(signal) at \(path)") }
        self.init(pointer)
        try DBusMessageCoding.append(arguments, to: pointer)
    }

    /// The reply to a method call. A reply that cannot be encoded becomes an error.
    static func answer(to call: OpaquePointer, _ answer: Result<[DBusValue], DBusFailure>) -> OwnedMessage? {
        switch answer {
        case .success(let values):
            guard let message = dbus_message_new_method_return(call).map(OwnedMessage.init) else { return nil }
            do throws(DBusFailure) {
                try DBusMessageCoding.append(values, to: message.pointer)
                return message
            } catch {
                return self.answer(to: call, .failure(error))
            }
        case .failure(let failure):
            let name = dbus_validate_error_name(failure.name, nil) != 0 ? failure.name : DBusFailure.failed
            let text = failure.message.utf8.contains(0) ? "" : failure.message
            return dbus_message_new_error(call, name, text).map(OwnedMessage.init)
        }
    }

    var sender: String { Self.text(dbus_message_get_sender(pointer)) }
    var path: String { Self.text(dbus_message_get_path(pointer)) }
    var interface: String { Self.text(dbus_message_get_interface(pointer)) }
    var member: String { Self.text(dbus_message_get_member(pointer)) }
    var arguments: [DBusValue] { DBusMessageCoding.arguments(of: pointer) }

    /// The text of a header field; empty if the message does not have the field.
    private static func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }

    /// The content of a reply.
    var result: Result<[DBusValue], DBusFailure> {
        guard dbus_message_get_type(pointer) == DBUS_MESSAGE_TYPE_ERROR else { return .success(arguments) }
        let name = dbus_message_get_error_name(pointer).map { String(cString: $0) } ?? DBusFailure.failed
        return .failure(DBusFailure(name, arguments.first?.text ?? ""))
    }
}
