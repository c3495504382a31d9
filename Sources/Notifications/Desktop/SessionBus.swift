import DBus
import Foundation

/// Where the bus of the user's session is, where there is one. A system service and a shell without a session have
/// none.
package enum SessionBus {
    /// Looks anew each time: a session may begin while we run. Nothing is waited for.
    ///
    /// `DBUS_SESSION_BUS_ADDRESS` says where it is, and says "nowhere" where it is empty; without it the usual socket
    /// counts, if it is there.
    package static func find(
        _ environment: [String: String] = ProcessInfo.processInfo.environment, user: UInt32 = getuid(),
        isThere: (String) -> Bool = { FileManager.default.fileExists(atPath: $0) }
    ) -> DBusConnection.Bus? {
        if let address = environment["DBUS_SESSION_BUS_ADDRESS"] { return address.isEmpty ? nil : .address(address) }
        let runtime = environment["XDG_RUNTIME_DIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/run/user/\(user)"
        return isThere(runtime + "/bus") ? .address("unix:path=" + runtime + "/bus") : nil
    }
}
