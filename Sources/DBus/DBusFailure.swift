/// Why a call did not succeed, or why a message could not be sent. The open set of D-Bus error names, with the sentence
/// that came along.
package struct DBusFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// As on the wire: `org.bluez.Error.InProgress`.
    package var name: String
    /// The words that came along; may be empty.
    package var message: String

    /// An error of that name.
    package init(_ name: String, _ message: String) {
        self.name = name
        self.message = message
    }

    /// The name, with the words that came along.
    package var description: String { message.isEmpty ? name : "\(name): \(message)" }

    /// The call got no answer within its limit (libdbus makes this one too).
    package static let noReply = "org.freedesktop.DBus.Error.NoReply"
    /// The bus is gone. Every call fails with this from then on.
    package static let disconnected = "org.freedesktop.DBus.Error.Disconnected"
    /// The sender may not do this.
    package static let accessDenied = "org.freedesktop.DBus.Error.AccessDenied"
    /// Nobody owns the name that was called.
    package static let serviceUnknown = "org.freedesktop.DBus.Error.ServiceUnknown"
    /// The object has no such method.
    package static let unknownMethod = "org.freedesktop.DBus.Error.UnknownMethod"
    /// There is no such object.
    package static let unknownObject = "org.freedesktop.DBus.Error.UnknownObject"
    /// The object has no such interface.
    package static let unknownInterface = "org.freedesktop.DBus.Error.UnknownInterface"
    /// The interface has no such property.
    package static let unknownProperty = "org.freedesktop.DBus.Error.UnknownProperty"
    /// The property cannot be set.
    package static let readOnly = "org.freedesktop.DBus.Error.PropertyReadOnly"
    /// The arguments are none that the method takes.
    package static let invalidArguments = "org.freedesktop.DBus.Error.InvalidArgs"
    /// There is too much of something.
    package static let limitsExceeded = "org.freedesktop.DBus.Error.LimitsExceeded"
    /// Something that no other name says.
    package static let failed = "org.freedesktop.DBus.Error.Failed"
    /// Ours: a stream of signals whose reader fell too far behind.
    package static let overflow = "waterh.Error.SignalOverflow"
    /// Ours: a value that D-Bus cannot carry.
    package static let unsendable = "waterh.Error.Unsendable"
}
