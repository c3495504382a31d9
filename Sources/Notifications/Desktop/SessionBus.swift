package import DBus
import Foundation

/// The D-Bus session bus. A system service, or a shell without a desktop session, has none.
package enum SessionBus {
    /// Finds the bus without blocking. Call it again later, because a session can start later.
    ///
    /// `DBUS_SESSION_BUS_ADDRESS` has the address; an empty value means none. Without the variable, the default socket
    /// is used if it exists.
    package static func find(
        _ environment: [String: String] = ProcessInfo.processInfo.environment, user: UInt32 = getuid(),
        isThere: (String) -> Bool = { FileManager.default.fileExists(atPath: $0) }
    ) -> DBusConnection.Bus? {
        if let address = environment["DBUS_SESSION_BUS_ADDRESS"] { return address.isEmpty ? nil : .address(address) }
        let runtime = environment["XDG_RUNTIME_DIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/run/user/\(user)"
        return isThere(runtime + "/bus") ? .address("unix:path=" + runtime + "/bus") : nil
    }
}
