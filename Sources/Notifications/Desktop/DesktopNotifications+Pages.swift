import DBus
import Foundation

extension DesktopNotifications {
    /// Opens an address in the user's browser, through the desktop portal or, without it, the default program.
    /// - Parameter token: the activation token, which allows the window to get the focus.
    package func open(_ address: String, token: String?) async {
        guard await !openByPortal(address, token) else { return }
        let opener = Process()
        opener.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        opener.arguments = ["xdg-open", address]
        (opener.standardInput, opener.standardOutput, opener.standardError) = (
            FileHandle.nullDevice, FileHandle.nullDevice, FileHandle.nullDevice
        )
        do { try opener.run() } catch { callbacks.warn("Opening \(address) failed: \(error)") }
    }

    private func openByPortal(_ address: String, _ token: String?) async -> Bool {
        guard let connection = connection?.open else { return false }
        let portal = "org.freedesktop.portal.Desktop"
        let options = DBusValue.properties(token.map { ["activation_token": .string($0)] } ?? [:])
        let call = DBusCall(
            portal, "/org/freedesktop/portal/desktop", "org.freedesktop.portal.OpenURI", "OpenURI",
            [.string(""), .string(address), options])
        return (try? await connection.call(call, limit: limits.response)) != nil
    }
}
