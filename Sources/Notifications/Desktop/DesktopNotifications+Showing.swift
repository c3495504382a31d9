import DBus
package import TrackerCore

// The display of a notification, and its signals.
extension DesktopNotifications {
    /// Replaces the last notification of its kind. Returns whether the server has confirmed it.
    package func deliver(_ notification: TrackerNotification) async -> Bool { await show(notification.announcement) }

    /// Like `deliver`. A notification that a process of this project showed recently counts as shown, because that
    /// process might have ended before recording it.
    package func show(_ notification: Announcement) async -> Bool {
        guard let server = await readyServer() else { return false }
        let isHeldBack = notification.urgency == .critical ? false : await isDoNotDisturb(server)
        guard !history.wasRecentlyShown(notification) else {
            callbacks.log("Already on the desktop: \(notification.kind.id) (\(notification.id)).")
            return true
        }
        guard !isHeldBack else { return false }
        let replaced = history.notice(notification.kind.id, owner: server.owner)?.number ?? 0
        let message = DesktopMessage(capabilities: server.capabilities, acceptsActions: callbacks.actionInvoked != nil)
        let call = DBusCall(
            Self.service, Self.path, Self.service, "Notify", message.arguments(notification, replacing: replaced))
        do throws(DBusFailure) {
            let answer = try await server.connection.call(call, limit: limits.response)
            guard let shown = answer.first?.integer.flatMap(UInt32.init(exactly:)), shown > 0 else {
                throw DBusFailure(DBusFailure.failed, "the notification server returned no ID")
            }
            // If the server has ended, its notifications are gone.
            if self.server?.owner == server.owner || self.server == nil {
                history.remember(notification, number: shown, owner: server.owner)
            }
            callbacks.log("Shown on the desktop: \(notification.kind.id) (\(notification.id)).")
            return true
        } catch {
            startPause(error, of: server)
            return false
        }
    }

    package func close(id: String) async {
        guard let server = await readyServer(), let notice = history.notice(id, owner: server.owner) else { return }
        history.remove(notice.number, owner: server.owner)
        _ = try? await server.connection.call(
            DBusCall(Self.service, Self.path, Self.service, "CloseNotification", [.uint32(notice.number)]),
            limit: limits.response)
    }

    /// Whether the server reports "do not disturb", so that only urgent notifications are shown.
    private func isDoNotDisturb(_ server: Server) async -> Bool {
        guard server.capabilities.contains("inhibitions") else { return false }
        let call = DBusCall(
            Self.service, Self.path, "org.freedesktop.DBus.Properties", "Get",
            [.string(Self.service), .string("Inhibited")])
        return (try? await server.connection.call(call, limit: limits.response))?.first?.bool ?? false
    }

    // MARK: - Signals

    /// Handles a signal. The server also sends signals of other programs' notifications.
    func handle(_ signal: DBusSignal) {
        guard let connection, let number = signal.arguments.first?.integer.flatMap(UInt32.init(exactly:)) else {
            return
        }
        let owner = "\(connection.id)/\(signal.sender)"
        guard let notice = history.notice(number, owner: owner) else { return }
        switch (signal.member, signal.arguments.count > 1 ? signal.arguments[1].text : nil) {
        case ("NotificationClosed", _):
            history.remove(number, owner: owner)
            tokens[number] = nil
        case ("ActivationToken", let token?): tokens[number] = token
        case ("ActionInvoked", let key?): invokeAction(key, on: notice, key: "\(owner)/\(signal.serial)")
        default: break
        }
    }

    private func invokeAction(_ name: String, on notice: ShownNotifications.Notice, key: String) {
        guard let action = NotificationAction(rawValue: name), notice.kind.actions.contains(action) else { return }
        callbacks.log("Pressed on the desktop: \(name) of \(notice.kind.id) (\(notice.notificationId)).")
        // Some servers do not close a notification after a press, or send a press twice. Both must act once.
        let isSingleUse = !notice.kind.isResident && action != .open && action != .dismiss
        let press = DesktopPress(
            action, on: notice, key: isSingleUse ? "desktop \(notice.notificationId) \(name)" : key,
            activationToken: tokens.removeValue(forKey: notice.number))
        guard let actionInvoked = callbacks.actionInvoked else { return }
        Task { await actionInvoked(press) }
    }
}
