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
        // From here to the call there is no suspension point, so that no notification is shown twice.
        guard !memory.wasRecentlyShown(notification) else {
            callbacks.log("Already on the desktop: \(notification.kind.id) (\(notification.id)).")
            return true
        }
        guard !isHeldBack else { return false }
        guard !unanswered.contains(notification) else {
            callbacks.log("Already being shown: \(notification.kind.id) (\(notification.id)).")
            return false
        }
        unanswered.insert(notification)
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

    /// Shows resident notifications again after a restart of the server.
    func showLost() async {
        for notice in memory.takeLost() where await !show(notice.announcement) { memory.putBack(notice) }
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
        unanswered.remove(notification)
        switch answer {
        case .success(let values):
            guard let shown = values.first?.integer.flatMap(UInt32.init(exactly:)), shown > 0 else {
                startPause(DBusFailure(DBusFailure.failed, "the notification server returned no ID"), of: server)
                continuation?.resume(returning: false)
                return
            }
            // If the server has ended, its notifications are gone.
            if self.server?.owner == server.owner || self.server == nil {
                memory.remember(notification, number: shown, owner: server.owner)
            }
            if continuation == nil { endPause() }
            callbacks.log("Shown on the desktop: \(notification.kind.id) (\(notification.id)).")
            continuation?.resume(returning: true)
        case .failure(let failure):
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
