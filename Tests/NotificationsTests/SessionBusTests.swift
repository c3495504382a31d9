import DBus
import Testing

@testable import Notifications

@Suite struct SessionBusTests {
    @Test(
        arguments: [
            (["DBUS_SESSION_BUS_ADDRESS": "unix:path=/a"], [], "unix:path=/a"),
            (["DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": "/r"], ["/r/bus"], nil),
            (["XDG_RUNTIME_DIR": "/r"], ["/r/bus"], "unix:path=/r/bus"),
            (["XDG_RUNTIME_DIR": "/r"], ["/run/user/7/bus"], nil),
            (["XDG_RUNTIME_DIR": "relative"], ["/run/user/7/bus"], "unix:path=/run/user/7/bus"),
            ([:], ["/run/user/7/bus"], "unix:path=/run/user/7/bus"), ([:], [], nil),
        ] as [([String: String], Set<String>, String?)])
    func `the session bus address comes from DBUS_SESSION_BUS_ADDRESS`(
        environment: [String: String], files: Set<String>, address: String?
    ) {
        #expect(SessionBus.find(environment, user: 7, isThere: files.contains) == address.map { .address($0) })
    }
}
