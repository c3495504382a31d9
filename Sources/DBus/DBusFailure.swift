/// Why a call did not succeed, or why a message could not be sent. The open set of D-Bus error names, with the sentence
/// that came along.
public struct DBusFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// As on the wire: `org.bluez.Error.InProgress`.
    public var name: String
    public var message: String

    public init(_ name: String, _ message: String) {
        self.name = name
        self.message = message
    }

    public var description: String { message.isEmpty ? name : "\(name): \(message)" }

    /// The call got no answer within its limit (libdbus makes this one too).
    public static let noReply = "org.freedesktop.DBus.Error.NoReply"
    /// The bus is gone. Every call fails with this from then on.
    public static let disconnected = "org.freedesktop.DBus.Error.Disconnected"
    public static let accessDenied = "org.freedesktop.DBus.Error.AccessDenied"
    public static let serviceUnknown = "org.freedesktop.DBus.Error.ServiceUnknown"
    public static let unknownMethod = "org.freedesktop.DBus.Error.UnknownMethod"
    public static let unknownObject = "org.freedesktop.DBus.Error.UnknownObject"
    public static let unknownInterface = "org.freedesktop.DBus.Error.UnknownInterface"
    public static let unknownProperty = "org.freedesktop.DBus.Error.UnknownProperty"
    public static let readOnly = "org.freedesktop.DBus.Error.PropertyReadOnly"
    public static let invalidArguments = "org.freedesktop.DBus.Error.InvalidArgs"
    public static let limitsExceeded = "org.freedesktop.DBus.Error.LimitsExceeded"
    public static let failed = "org.freedesktop.DBus.Error.Failed"
    /// Ours: a stream of signals whose reader fell too far behind.
    public static let overflow = "waterh.Error.SignalOverflow"
    /// Ours: a value that D-Bus cannot carry.
    public static let unsendable = "waterh.Error.Unsendable"
}
