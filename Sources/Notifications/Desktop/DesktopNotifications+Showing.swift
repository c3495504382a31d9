import DBus
package import TrackerCore

// The display of a notification, and its signals.
extension DesktopNotifications {
    /// Replaces the last notification of its kind. Returns whether the server has confirmed it.
    package func deliver(_ notification: TrackerNotification) async -> Bool { await show(notification.announcement) }

    /// Like `deliver`. A notification that a process of this project showed recently counts as shown, because that
    /// process might have ended before recording it. If another process is showing the notification, this one does not.
    package func show(_ notification: Announcement) async -> Bool {
        guard let server = await readyServer() else { return false }
        guard !memory.wasRecentlyShown(notification) else {
            callbacks.log("Already on the desktop: \(notification.kind.id) (\(notification.id)).")
            return true
        }
        if notification.urgency != .critical, await isDoNotDisturb(server) { return false }
        guard await reserve(notification, server) else {
            if memory.wasRecentlyShown(notification) { return true }
            callbacks.log("Already being shown: \(notification.kind.id) (\(notification.id)).")
            return false
        }
        let replaced = memory.notice(notification.kind.id, owner: server.owner)?.number ?? 0
        let message = DesktopMessage(capabilities: server.capabilities, acceptsActions: callbacks.actionInvoked != nil)
        let call = DBusCall(
            Self.service, Self.path, Self.service, "Notify", message.arguments(notification, replacing: replaced))
        lastCall += 1
        let (number, limits) = (lastCall, limits)
        return await withCheckedContinuation { continuation in
            waiting[number] = continuation
            server.connection.assumeIsolated { connection in
                connection.call(call, limit: limits.lateResponse) { [weak self] answer in
                    self?.assumeIsolated { $0.handleResponse(number, notification, by: server, answer) }
                }
            }
            Task {
                try? await Task.sleep(for: limits.response)
                timedOut(number, server)
            }
        }
    }

    /// Reserves the display for this process. Fails if another process has reserved it and is still on the bus.
    private func reserve(_ notification: Announcement, _ server: Server) async -> Bool {
        let lease = Double(limits.lateResponse.components.seconds) + 5
        var endedProcess: String?
        if let other = memory.processShowing(of: notification, owner: server.owner, within: lease) {
            guard await other != server.connection.uniqueName, (try? await server.connection.hasOwner(other)) == false
            else { return false }
            endedProcess = other
        }
        return memory.reserve(
            notification, by: await server.connection.uniqueName, owner: server.owner, within: lease,
            insteadOf: endedProcess)
    }

    /// Shows resident notifications again after a restart of the server.
    func showLost() async {
        for announcement in memory.lostNotifications { _ = await show(announcement) }
    }

    package func close(id: String) async {
        memory.end(id)
        guard let server = await readyServer(), let notice = memory.notice(id, owner: server.owner) else { return }
        memory.remove(notice.number, owner: server.owner)
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

    /// Handles a response, even a late one, so that a repeated notification replaces the displayed one.
    private func handleResponse(
        _ number: UInt64, _ notification: Announcement, by server: Server, _ answer: Result<[DBusValue], DBusFailure>
    ) {
        let continuation = waiting.removeValue(forKey: number)
        switch answer {
        case .success(let values):
            guard let shown = values.first?.integer.flatMap(UInt32.init(exactly:)), shown > 0 else {
                server.connection.assumeIsolated { memory.release(notification, by: $0.uniqueName) }
                startPause(DBusFailure(DBusFailure.failed, "the notification server returned no ID"), of: server)
                continuation?.resume(returning: false)
                return
            }
            // If the server has ended, its notifications are gone.
            if self.server?.owner == server.owner || self.server == nil {
                memory.remember(notification, number: shown, owner: server.owner)
            } else {
                server.connection.assumeIsolated { memory.release(notification, by: $0.uniqueName) }
            }
            if continuation == nil { endPause() }
            callbacks.log("Shown on the desktop: \(notification.kind.id) (\(notification.id)).")
            continuation?.resume(returning: true)
        case .failure(let failure):
            server.connection.assumeIsolated { memory.release(notification, by: $0.uniqueName) }
            // Only an awaited response affects the pause.
            if continuation != nil { startPause(failure, of: server) }
            continuation?.resume(returning: false)
        }
    }

    private func timedOut(_ number: UInt64, _ server: Server) {
        guard let continuation = waiting.removeValue(forKey: number) else { return }
        startPause(DBusFailure(DBusFailure.noReply, "there was no response"), of: server)
        continuation.resume(returning: false)
    }

    // MARK: - Signals

    /// Handles a signal. The server also sends signals of other programs' notifications.
    func handle(_ signal: DBusSignal) {
        guard let connection, let number = signal.arguments.first?.integer.flatMap(UInt32.init(exactly:)) else {
            return
        }
        let owner = "\(connection.id)/\(signal.sender)"
        guard let notice = memory.notice(number, owner: owner) else { return }
        switch (signal.member, signal.arguments.count > 1 ? signal.arguments[1].text : nil) {
        case ("NotificationClosed", _):
            memory.remove(number, owner: owner)
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
            kind: notice.kind, notificationId: notice.notificationId, action: action,
            key: isSingleUse ? "desktop \(notice.notificationId) \(name)" : key,
            activationToken: tokens.removeValue(forKey: notice.number))
        guard let actionInvoked = callbacks.actionInvoked else { return }
        Task { await actionInvoked(press) }
    }
}
