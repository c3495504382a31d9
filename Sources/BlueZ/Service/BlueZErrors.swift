import Bluetooth
import DBus

/// The mapping from errors of bluetoothd and the bus to link errors, which the retry table uses.
///
/// Names and texts are from BlueZ 5.66–5.87 `src/error.c`, `src/device.c`, `src/gatt-client.c`; see `docs/adapters.md`.
enum BlueZErrors {
    struct Row {
        var name: String
        /// The text that the error message must contain; `nil` matches any message.
        var text: String?
        var code: LinkError.Code
        var isTransient: Bool
        /// The meaning of the error, as the second half of a sentence.
        var meaning: String
    }

    /// The first matching row applies.
    static let rows: [Row] = [
        Row(
            name: "Failed", text: "le-connection-abort-by-local", code: .connectFailed, isTransient: true,
            meaning: "the controller cancelled the attempt; a retry usually succeeds"),
        Row(
            name: "Failed", text: "le-connection-abort-by-remote", code: .connectFailed, isTransient: true,
            meaning: "the bottle disconnected at once"),
        Row(
            name: "Failed", text: "le-connection-busy", code: .inProgress, isTransient: true,
            meaning: "the controller is busy with another connection"),
        Row(
            name: "Failed", text: "le-connection", code: .connectFailed, isTransient: true,
            meaning: "the connection failed"),
        Row(
            name: "Failed", text: "Software caused connection abort", code: .connectFailed, isTransient: true,
            meaning: "the radio connection was lost, possibly by Wi-Fi interference"),
        Row(
            name: "Failed", text: "Operation already in progress", code: .inProgress, isTransient: true,
            meaning: "another attempt is in progress"),
        Row(
            name: "Failed", text: "Not connected", code: .disconnected, isTransient: true,
            meaning: "the connection has ended"),
        Row(
            name: "Failed", text: "Not powered", code: .poweredOff, isTransient: false,
            meaning: "the adapter is switched off"),
        Row(
            name: "Failed", text: "Transport endpoint", code: .disconnected, isTransient: true,
            meaning: "the connection has ended"),
        Row(
            name: "Failed", text: "Host is down", code: .connectFailed, isTransient: true,
            meaning: "the bottle did not answer"),
        Row(
            name: "Failed", text: "Operation was cancelled", code: .disconnected, isTransient: true,
            meaning: "the connection ended during the operation"),
        Row(name: "Failed", text: nil, code: .system, isTransient: true, meaning: "bluetoothd reports no reason"),
        Row(
            name: "InProgress", text: nil, code: .inProgress, isTransient: true,
            meaning: "an attempt of another or of an ended process is in progress"),
        Row(
            name: "AlreadyConnected", text: nil, code: .inProgress, isTransient: true,
            meaning: "bluetoothd is already connected to it"),
        Row(name: "NotReady", text: nil, code: .poweredOff, isTransient: false, meaning: "the adapter is switched off"),
        Row(
            name: "NotConnected", text: nil, code: .disconnected, isTransient: true, meaning: "the connection has ended"
        ),
        Row(
            name: "NotAvailable", text: nil, code: .connectFailed, isTransient: true,
            meaning: "it does not accept connections now"),
        Row(
            name: "ConnectionAttemptFailed", text: nil, code: .connectFailed, isTransient: true,
            meaning: "the bottle did not answer the connection attempt"),
        Row(
            name: "AuthenticationFailed", text: nil, code: .connectFailed, isTransient: true,
            meaning: "pairing failed; a bottle needs none, so remove the device from the system"),
        Row(
            name: "AuthenticationCanceled", text: nil, code: .connectFailed, isTransient: true,
            meaning: "pairing was cancelled; a bottle needs none"),
        Row(
            name: "AuthenticationRejected", text: nil, code: .connectFailed, isTransient: true,
            meaning: "pairing was rejected; a bottle needs none"),
        Row(
            name: "AuthenticationTimeout", text: nil, code: .connectFailed, isTransient: true,
            meaning: "pairing took too long; a bottle needs none"),
        Row(
            name: "DoesNotExist", text: nil, code: .notFound, isTransient: true,
            meaning: "bluetoothd does not know it"),
        Row(
            name: "NotPermitted", text: nil, code: .refused, isTransient: false,
            meaning: "the characteristic does not allow it"),
        Row(
            name: "NotAuthorized", text: nil, code: .refused, isTransient: false,
            meaning: "the peer requires authorisation"),
        Row(name: "NotSupported", text: nil, code: .refused, isTransient: false, meaning: "it is not supported"),
        Row(
            name: "InvalidValueLength", text: nil, code: .refused, isTransient: false,
            meaning: "the peer does not accept a value of that length"),
        Row(
            name: "InvalidOffset", text: nil, code: .refused, isTransient: false,
            meaning: "the value has no byte at that offset"),
        Row(
            name: "ImproperlyConfigured", text: nil, code: .refused, isTransient: false,
            meaning: "the peer's descriptor has another value"),
        // BlueZ 5.66 has no error names for these two errors.
        Row(
            name: "InvalidArguments", text: "Invalid Length", code: .refused, isTransient: false,
            meaning: "the peer does not accept a value of that length"),
        Row(
            name: "InvalidArguments", text: "Invalid Offset", code: .refused, isTransient: false,
            meaning: "the value has no byte at that offset"),
        Row(
            name: "InvalidArguments", text: nil, code: .outOfStep, isTransient: false,
            meaning: "bluetoothd does not understand the request"),
        Row(name: "InvalidLength", text: nil, code: .outOfStep, isTransient: false, meaning: "it is too long"),
        Row(name: "AlreadyExists", text: nil, code: .inProgress, isTransient: true, meaning: "it already exists"),
        // The bus sends this error for a service that ended before it replied.
        Row(
            name: DBusFailure.noReply, text: "disconnected from message bus", code: .serviceLost, isTransient: true,
            meaning: "bluetoothd stopped during the operation"),
        Row(
            name: DBusFailure.noReply, text: nil, code: .timeout, isTransient: true,
            meaning: "bluetoothd did not answer in time"),
        Row(
            name: DBusFailure.disconnected, text: nil, code: .serviceLost, isTransient: true,
            meaning: "the system bus connection is closed"),
        Row(
            name: DBusFailure.serviceUnknown, text: nil, code: .serviceLost, isTransient: true,
            meaning: "bluetoothd is not running"),
        Row(
            name: "org.freedesktop.DBus.Error.NameHasNoOwner", text: nil, code: .serviceLost, isTransient: true,
            meaning: "bluetoothd is not running"),
        Row(
            name: "org.freedesktop.DBus.Error.FileNotFound", text: nil, code: .serviceLost, isTransient: true,
            meaning: "there is no system bus"),
        Row(
            name: "org.freedesktop.DBus.Error.NoServer", text: nil, code: .serviceLost, isTransient: true,
            meaning: "there is no system bus"),
        Row(
            name: "org.freedesktop.systemd1.NoSuchUnit", text: nil, code: .serviceLost, isTransient: true,
            meaning: "bluetoothd is not installed"),
        Row(
            name: DBusFailure.accessDenied, text: nil, code: .permissionDenied, isTransient: false,
            meaning: "the bus policy does not permit this user to use bluetoothd"),
        // The object no longer exists, because the connection and its services have ended.
        Row(
            name: DBusFailure.unknownObject, text: nil, code: .disconnected, isTransient: true,
            meaning: "bluetoothd no longer has it"),
        Row(
            name: DBusFailure.unknownMethod, text: nil, code: .disconnected, isTransient: true,
            meaning: "bluetoothd no longer has it"),
        Row(
            name: DBusFailure.unknownInterface, text: nil, code: .disconnected, isTransient: true,
            meaning: "bluetoothd no longer has it"),
    ]

    /// - Parameter what: the operation, as the first half of a sentence: "Connecting to A4:C1:38:… failed".
    static func error(_ failure: DBusFailure, _ what: String) -> LinkError {
        let prefix = "org.bluez.Error."
        let name = failure.name.hasPrefix(prefix) ? String(failure.name.dropFirst(prefix.count)) : failure.name
        // The message can be long, and can come from a peer.
        let cause = String(failure.description.prefix(300))
        if let code = attError(in: failure.message) {
            return LinkError(
                .refused, "\(what): the peer returned ATT error \(hex(code))", cause: cause, attError: code)
        }
        let row = rows.first { $0.name == name && ($0.text.map(failure.message.contains) ?? true) }
        guard let row else { return LinkError(.system, what, cause: cause, isTransient: true) }
        let refusal = refusals[name == "InvalidArguments" ? failure.message : name]
        return LinkError(
            row.code, "\(what): \(row.meaning)", cause: cause, isTransient: row.isTransient, attError: refusal)
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
