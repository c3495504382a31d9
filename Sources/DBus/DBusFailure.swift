/// A D-Bus error: a name and a message. The set of names is open.
package struct DBusFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The error name: `org.bluez.Error.InProgress`.
    package var name: String
    package var message: String

    package init(_ name: String, _ message: String) {
        self.name = name
        self.message = message
    }

    package var description: String { message.isEmpty ? name : "\(name): \(message)" }

    /// The call had no reply within its time limit.
    package static let noReply = "org.freedesktop.DBus.Error.NoReply"
    /// The bus connection is closed. Every call fails with this error.
    package static let disconnected = "org.freedesktop.DBus.Error.Disconnected"
    package static let accessDenied = "org.freedesktop.DBus.Error.AccessDenied"
    /// The called name has no owner.
    package static let serviceUnknown = "org.freedesktop.DBus.Error.ServiceUnknown"
    package static let unknownMethod = "org.freedesktop.DBus.Error.UnknownMethod"
    package static let unknownObject = "org.freedesktop.DBus.Error.UnknownObject"
    package static let unknownInterface = "org.freedesktop.DBus.Error.UnknownInterface"
    package static let unknownProperty = "org.freedesktop.DBus.Error.UnknownProperty"
    package static let readOnly = "org.freedesktop.DBus.Error.PropertyReadOnly"
    package static let invalidArguments = "org.freedesktop.DBus.Error.InvalidArgs"
    package static let limitsExceeded = "org.freedesktop.DBus.Error.LimitsExceeded"
    package static let failed = "org.freedesktop.DBus.Error.Failed"
    /// The value cannot be encoded. This name is not from the D-Bus specification, but of this project.
    package static let unsendable = "waterh.Error.Unsendable"
}
