import Bluetooth
import DBus

/// The mapping from errors of bluetoothd and the bus to link errors, which the retry table uses.
///
/// Names and texts are from BlueZ 5.66–5.87 `src/error.c`, `src/device.c`, `src/gatt-client.c`; see `docs/adapters.md`.
enum BlueZErrors {
    private static let permanentCodes: [LinkError.Code] = [.poweredOff, .refused, .invalidState, .permissionDenied]

    /// The first matching row applies. `text` is a part of the error message, or `nil` for any message. `meaning` is
    /// the second half of a sentence.
    private static let rows: [(name: String, text: String?, code: LinkError.Code, meaning: String)] = [
        (
            "Failed", "le-connection-abort-by-local", .connectFailed,
            "the controller cancelled the attempt; a retry usually succeeds"
        ),
        ("Failed", "le-connection-abort-by-remote", .connectFailed, "the bottle disconnected at once"),
        ("Failed", "adapter-not-powered", .poweredOff, "the adapter is switched off"),
        ("Failed", "le-connection-busy", .inProgress, "the controller is busy with another connection"),
        ("Failed", "le-connection", .connectFailed, "the connection failed"),
        (
            "Failed", "Software caused connection abort", .connectFailed,
            "the radio connection was lost, possibly by Wi-Fi interference"
        ),
        ("Failed", "Operation already in progress", .inProgress, "another attempt is in progress"),
        ("Failed", "Not connected", .disconnected, "the connection has ended"),
        ("Failed", "Not Powered", .poweredOff, "the adapter is switched off"),
        ("Failed", "Transport endpoint", .disconnected, "the connection has ended"),
        ("Failed", "Host is down", .connectFailed, "the bottle did not answer"),
        ("Failed", "Operation was cancelled", .disconnected, "the connection ended during the operation"),
        ("Failed", nil, .system, "bluetoothd reports no reason"),
        ("InProgress", nil, .inProgress, "an attempt by another process, possibly an ended one, is in progress"),
        ("AlreadyConnected", nil, .inProgress, "bluetoothd is already connected to the device"),
        ("NotReady", nil, .poweredOff, "the adapter is switched off"),
        ("NotConnected", nil, .disconnected, "the connection has ended"),
        ("NotAvailable", nil, .connectFailed, "the device does not accept connections now"),
        ("ConnectionAttemptFailed", nil, .connectFailed, "the bottle did not answer the connection attempt"),
        (
            "AuthenticationFailed", nil, .connectFailed,
            "pairing failed; a bottle needs none, so remove the device from the system"
        ),
        ("AuthenticationCanceled", nil, .connectFailed, "pairing was cancelled; a bottle needs none"),
        ("AuthenticationRejected", nil, .connectFailed, "pairing was rejected; a bottle needs none"),
        ("AuthenticationTimeout", nil, .connectFailed, "pairing took too long; a bottle needs none"),
        ("DoesNotExist", nil, .notFound, "bluetoothd does not know the object"),
        ("NotPermitted", "Maximum advertisements", .inProgress, "other programs use all advertisements of the adapter"),
        ("NotPermitted", "acquired", .inProgress, "another program uses the characteristic"),
        ("NotPermitted", nil, .refused, "the characteristic does not allow it"),
        ("NotAuthorized", nil, .refused, "the peer requires authorisation"),
        ("NotSupported", nil, .refused, "the operation is not supported"),
        ("InvalidValueLength", nil, .refused, "the peer does not accept a value of that length"),
        ("InvalidOffset", nil, .refused, "the value has no byte at that offset"),
        ("ImproperlyConfigured", nil, .refused, "the peer's descriptor has another value"),
        // BlueZ 5.66 has no error names for these two errors.
        ("InvalidArguments", "Invalid Length", .refused, "the peer does not accept a value of that length"),
        ("InvalidArguments", "Invalid Offset", .refused, "the value has no byte at that offset"),
        ("InvalidArguments", nil, .invalidState, "bluetoothd does not understand the request"),
        ("InvalidLength", nil, .invalidState, "the value is too long"),
        ("AlreadyExists", nil, .inProgress, "the object already exists"),
        // The bus sends this error for a service that ended before it replied.
        (DBusFailure.noReply, "disconnected from message bus", .serviceLost, "bluetoothd stopped during the operation"),
        (DBusFailure.noReply, nil, .timeout, "bluetoothd did not answer in time"),
        (DBusFailure.disconnected, nil, .serviceLost, "the system bus connection is closed"),
        (DBusFailure.serviceUnknown, nil, .serviceLost, "bluetoothd is not running"),
        ("org.freedesktop.DBus.Error.NameHasNoOwner", nil, .serviceLost, "bluetoothd is not running"),
        ("org.freedesktop.DBus.Error.FileNotFound", nil, .serviceLost, "there is no system bus"),
        ("org.freedesktop.DBus.Error.NoServer", nil, .serviceLost, "there is no system bus"),
        ("org.freedesktop.systemd1.NoSuchUnit", nil, .serviceLost, "bluetoothd is not installed"),
        (
            DBusFailure.accessDenied, nil, .permissionDenied,
            "the bus policy does not permit this user to use bluetoothd"
        ),
        // Mostly because the connection and its services have ended.
        (DBusFailure.unknownObject, nil, .disconnected, "bluetoothd no longer has the object"),
        (DBusFailure.unknownMethod, nil, .disconnected, "bluetoothd no longer has the object"),
        (DBusFailure.unknownInterface, nil, .disconnected, "bluetoothd no longer has the object"),
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
                .refused, "\(action): the peer returned ATT error 0x\(code.hexDigits.lowercased())", cause: cause,
                attError: code)
        }
        let row = rows.first { $0.name == name && ($0.text.map(failure.message.contains) ?? true) }
        guard let row else { return LinkError(.system, action, cause: cause, isTransient: true) }
        return LinkError(
            row.code, "\(action): \(row.meaning)", cause: cause, isTransient: !permanentCodes.contains(row.code),
            attError: row.code == .refused ? attErrors[name == "InvalidArguments" ? failure.message : name] : nil)
    }

    /// ATT error codes that bluetoothd maps to names (src/gatt-client.c, create_gatt_dbus_error).
    private static let attErrors: [String: UInt8] = [
        "NotPermitted": 0x03, "NotAuthorized": 0x08, "NotSupported": 0x06, "InvalidValueLength": 0x0D,
        "InvalidOffset": 0x07,
        "Invalid Length": 0x0D, "Invalid Offset": 0x07,
    ]

    /// Parses "Operation failed with ATT error: 0x0e".
    private static func attError(in message: String) -> UInt8? {
        guard let mark = message.firstRange(of: "ATT error: 0x") else { return nil }
        return UInt8(message[mark.upperBound...].prefix { $0.isHexDigit }, radix: 16)
    }
}
