import Bluetooth
import DBus

/// The mapping from errors of bluetoothd and the bus to link errors, which the retry table uses.
///
/// Names and texts are from BlueZ 5.66–5.87 `src/error.c`, `src/device.c`, `src/gatt-client.c`; see `docs/adapters.md`.
enum BlueZErrors {
    struct Rule {
        var name: String
        /// The text that the error message must contain; `nil` matches any message.
        var text: String?
        var code: LinkError.Code
        /// The meaning of the error, as the second half of a sentence.
        var meaning: String

        init(_ name: String, _ text: String?, _ code: LinkError.Code, _ meaning: String) {
            (self.name, self.text, self.code, self.meaning) = (name, text, code, meaning)
        }

        init(_ name: String, _ code: LinkError.Code, _ meaning: String) { self.init(name, nil, code, meaning) }

        var isTransient: Bool { ![.poweredOff, .refused, .invalidState, .permissionDenied].contains(code) }
    }

    /// The first matching row applies.
    static let rows: [Rule] = [
        Rule(
            "Failed", "le-connection-abort-by-local", .connectFailed,
            "the controller cancelled the attempt; a retry usually succeeds"),
        Rule("Failed", "le-connection-abort-by-remote", .connectFailed, "the bottle disconnected at once"),
        Rule("Failed", "le-connection-busy", .inProgress, "the controller is busy with another connection"),
        Rule("Failed", "le-connection", .connectFailed, "the connection failed"),
        Rule(
            "Failed", "Software caused connection abort", .connectFailed,
            "the radio connection was lost, possibly by Wi-Fi interference"),
        Rule("Failed", "Operation already in progress", .inProgress, "another attempt is in progress"),
        Rule("Failed", "Not connected", .disconnected, "the connection has ended"),
        Rule("Failed", "Not powered", .poweredOff, "the adapter is switched off"),
        Rule("Failed", "Transport endpoint", .disconnected, "the connection has ended"),
        Rule("Failed", "Host is down", .connectFailed, "the bottle did not answer"),
        Rule("Failed", "Operation was cancelled", .disconnected, "the connection ended during the operation"),
        Rule("Failed", .system, "bluetoothd reports no reason"),
        Rule("InProgress", .inProgress, "an attempt by another process, possibly an ended one, is in progress"),
        Rule("AlreadyConnected", .inProgress, "bluetoothd is already connected to the device"),
        Rule("NotReady", .poweredOff, "the adapter is switched off"),
        Rule("NotConnected", .disconnected, "the connection has ended"),
        Rule("NotAvailable", .connectFailed, "the device does not accept connections now"),
        Rule("ConnectionAttemptFailed", .connectFailed, "the bottle did not answer the connection attempt"),
        Rule(
            "AuthenticationFailed", .connectFailed,
            "pairing failed; a bottle needs none, so remove the device from the system"),
        Rule("AuthenticationCanceled", .connectFailed, "pairing was cancelled; a bottle needs none"),
        Rule("AuthenticationRejected", .connectFailed, "pairing was rejected; a bottle needs none"),
        Rule("AuthenticationTimeout", .connectFailed, "pairing took too long; a bottle needs none"),
        Rule("DoesNotExist", .notFound, "bluetoothd does not know the object"),
        Rule("NotPermitted", .refused, "the characteristic does not allow it"),
        Rule("NotAuthorized", .refused, "the peer requires authorisation"),
        Rule("NotSupported", .refused, "the operation is not supported"),
        Rule("InvalidValueLength", .refused, "the peer does not accept a value of that length"),
        Rule("InvalidOffset", .refused, "the value has no byte at that offset"),
        Rule("ImproperlyConfigured", .refused, "the peer's descriptor has another value"),
        // BlueZ 5.66 has no error names for these two errors.
        Rule("InvalidArguments", "Invalid Length", .refused, "the peer does not accept a value of that length"),
        Rule("InvalidArguments", "Invalid Offset", .refused, "the value has no byte at that offset"),
        Rule("InvalidArguments", .invalidState, "bluetoothd does not understand the request"),
        Rule("InvalidLength", .invalidState, "the value is too long"),
        Rule("AlreadyExists", .inProgress, "the object already exists"),
        // The bus sends this error for a service that ended before it replied.
        Rule(
            DBusFailure.noReply, "disconnected from message bus", .serviceLost,
            "bluetoothd stopped during the operation"),
        Rule(DBusFailure.noReply, .timeout, "bluetoothd did not answer in time"),
        Rule(DBusFailure.disconnected, .serviceLost, "the system bus connection is closed"),
        Rule(DBusFailure.serviceUnknown, .serviceLost, "bluetoothd is not running"),
        Rule("org.freedesktop.DBus.Error.NameHasNoOwner", .serviceLost, "bluetoothd is not running"),
        Rule("org.freedesktop.DBus.Error.FileNotFound", .serviceLost, "there is no system bus"),
        Rule("org.freedesktop.DBus.Error.NoServer", .serviceLost, "there is no system bus"),
        Rule("org.freedesktop.systemd1.NoSuchUnit", .serviceLost, "bluetoothd is not installed"),
        Rule(DBusFailure.accessDenied, .permissionDenied, "the bus policy does not permit this user to use bluetoothd"),
        // Mostly because the connection and its services have ended.
        Rule(DBusFailure.unknownObject, .disconnected, "bluetoothd no longer has the object"),
        Rule(DBusFailure.unknownMethod, .disconnected, "bluetoothd no longer has the object"),
        Rule(DBusFailure.unknownInterface, .disconnected, "bluetoothd no longer has the object"),
    ]

    /// Converts an error of bluetoothd or the bus to a link error.
    /// - Parameter action: the operation, as the first half of a sentence: "Connecting to A4:C1:38:… failed".
    static func error(_ failure: DBusFailure, _ action: String) -> LinkError {
        let prefix = "org.bluez.Error."
        let name = failure.name.hasPrefix(prefix) ? String(failure.name.dropFirst(prefix.count)) : failure.name
        // The message can be long, and can come from a peer.
        let cause = String(failure.description.prefix(300))
        if let code = attError(in: failure.message) {
            return LinkError(
                .refused, "\(action): the peer returned ATT error \(hex(code))", cause: cause, attError: code)
        }
        let row = rows.first { $0.name == name && ($0.text.map(failure.message.contains) ?? true) }
        guard let row else { return LinkError(.system, action, cause: cause, isTransient: true) }
        let refusal = refusals[name == "InvalidArguments" ? failure.message : name]
        return LinkError(
            row.code, "\(action): \(row.meaning)", cause: cause, isTransient: row.isTransient, attError: refusal)
    }

    /// ATT error codes that bluetoothd maps to names (src/gatt-client.c, create_gatt_dbus_error).
    private static let refusals: [String: UInt8] = [
        "NotPermitted": 0x03, "NotAuthorized": 0x08, "NotSupported": 0x06, "InvalidValueLength": 0x0D,
        "InvalidOffset": 0x07,
        "Invalid Length": 0x0D, "Invalid Offset": 0x07,
    ]

    /// Parses "Operation failed with ATT error: 0x0e".
    private static func attError(in message: String) -> UInt8? {
        guard let mark = message.firstRange(of: "ATT error: 0x") else { return nil }
        return UInt8(message[mark.upperBound...].prefix { $0.isHexDigit }, radix: 16)
    }

    private static func hex(_ byte: UInt8) -> String { "0x" + (byte < 16 ? "0" : "") + String(byte, radix: 16) }
}
