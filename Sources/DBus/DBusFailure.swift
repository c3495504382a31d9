/// Why a call did not succeed, or why a message could not be sent. The open set of D-Bus error names, with the sentence
/// that came along.
public struct DBusFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// As on the wire: `org.bluez.Error.InProgress`.
    public var name: String
    /// The words that came along; may be empty.
    public var message: String

    /// An error of that name.
    public init(_ name: String, _ message: String) {
        self.name = name
        self.message = message
    }

    /// The name, with the words that came along.
    public var description: String { message.isEmpty ? name : "\(name): \(message)" }

    /// The call got no answer within its limit (libdbus makes this one too).
    public static let noReply = "org.freedesktop.DBus.Error.NoReply"
    /// The bus is gone. Every call fails with this from then on.
    public static let disconnected = "org.freedesktop.DBus.Error.Disconnected"
    /// The sender may not do this.
    public static let accessDenied = "org.freedesktop.DBus.Error.AccessDenied"
    /// Nobody owns the name that was called.
    public static let serviceUnknown = "org.freedesktop.DBus.Error.ServiceUnknown"
    /// The object has no such method.
    public static let unknownMethod = "org.freedesktop.DBus.Error.UnknownMethod"
    /// There is no such object.
    public static let unknownObject = "org.freedesktop.DBus.Error.UnknownObject"
    /// The object has no such interface.
    public static let unknownInterface = "org.freedesktop.DBus.Error.UnknownInterface"
    /// The interface has no such property.
    public static let unknownProperty = "org.freedesktop.DBus.Error.UnknownProperty"
    /// The property cannot be set.
    public static let readOnly = "org.freedesktop.DBus.Error.PropertyReadOnly"
    /// The arguments are none that the method takes.
    public static let invalidArguments = "org.freedesktop.DBus.Error.InvalidArgs"
    /// There is too much of something.
    public static let limitsExceeded = "org.freedesktop.DBus.Error.LimitsExceeded"
    /// Something that no other name says.
    public static let failed = "org.freedesktop.DBus.Error.Failed"
    /// Ours: a stream of signals whose reader fell too far behind.
    public static let overflow = "waterh.Error.SignalOverflow"
    /// Ours: a value that D-Bus cannot carry.
    public static let unsendable = "waterh.Error.Unsendable"
}
