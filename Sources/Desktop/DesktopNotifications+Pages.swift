import DBus

extension DesktopNotifications {
    /// Opens an address in the person's browser, by the desktop's portal.
    /// - Returns: whether the portal took it.
    public func open(_ address: String, token: String?) async -> Bool {
        guard let connection = connection?.open else { return false }
        let portal = "org.freedesktop.portal.Desktop"
        let options = DBusValue.properties(token.map { ["activation_token": .string($0)] } ?? [:])
        let call = DBusCall(portal, "/org/freedesktop/portal/desktop", "org.freedesktop.portal.OpenURI", "OpenURI", [.string(""), .string(address), options])
        return (try? await connection.call(call, limit: limits.answer)) != nil
    }
}
