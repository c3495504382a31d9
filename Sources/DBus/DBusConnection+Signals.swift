import CDBus

extension DBusConnection {
    struct Subscription {
        var match: DBusMatch
        var handler: @Sendable (DBusSignal) -> Void
    }

    struct WatchedName {
        /// Whether the bus has named the owner, in a signal or a reply.
        var isKnown = false
        /// The unique name of the owner; `nil` if there is none.
        var owner: String?
        var handlers: [@Sendable (_ owner: String?) -> Void] = []
    }

    private static let bus = "org.freedesktop.DBus"
    private static let noOwner = "org.freedesktop.DBus.Error.NameHasNoOwner"

    /// The bus ID, which changes when the bus restarts.
    package func busID() async throws(DBusFailure) -> String { try await call(.bus("GetId")).first?.text ?? "" }

    /// Calls the handler on the queue for every matching signal, in order. Returns when the subscription is active.
    package func subscribe(
        _ match: DBusMatch, handler: @escaping @Sendable (DBusSignal) -> Void
    ) async throws(DBusFailure) {
        if let sender = match.sender { _ = try await watchOwner(of: sender) }
        let number = nextNumber()
        // Add the subscription before calling the bus, so that no signal is missed.
        subscriptions[number] = Subscription(match: match, handler: handler)
        do throws(DBusFailure) {
            _ = try await call(.bus("AddMatch", [.string(match.rule)]))
        } catch {
            subscriptions[number] = nil
            throw error
        }
    }

    /// The current owner of a name, or `nil`. The owner is tracked from then on.
    @discardableResult
    package func watchOwner(of name: String) async throws(DBusFailure) -> String? {
        guard !name.hasPrefix(":"), name != Self.bus else { return name }
        if names[name] == nil {
            names[name] = WatchedName()
            do throws(DBusFailure) {
                let match = DBusMatch(sender: Self.bus, path: "/org/freedesktop/DBus", interface: Self.bus)
                let rule = "\(match.rule),member='NameOwnerChanged',arg0='\(name)'"
                _ = try await call(.bus("AddMatch", [.string(rule)]))
            } catch {
                names[name] = nil
                throw error
            }
        }
        if names[name]?.isKnown == false {
            let owner = try await readOwner(of: name)
            // A signal that arrived during the call is not older than the reply.
            if names[name]?.isKnown == false { setOwner(owner, of: name) }
        }
        // Another task watched the name first, and failed.
        guard let watched = names[name] else {
            throw DBusFailure(DBusFailure.failed, "cannot follow the owner of \(name)")
        }
        return watched.owner
    }

    private func setOwner(_ owner: String?, of name: String) {
        names[name]?.isKnown = true
        names[name]?.owner = owner
    }

    private func readOwner(of name: String) async throws(DBusFailure) -> String? {
        do throws(DBusFailure) {
            return try await call(.bus("GetNameOwner", [.string(name)])).first?.text
        } catch {
            guard error.name == Self.noOwner else { throw error }
            return nil
        }
    }

    /// Calls the handler on the queue whenever a name gets an owner (its unique name) or loses it (`nil`).
    package func watchName(_ name: String, handler: @escaping @Sendable (_ owner: String?) -> Void)
        async throws(DBusFailure)
    {
        try await watchOwner(of: name)
        names[name]?.handlers.append(handler)
    }

    /// Requests a well-known name; returns `false` if another connection owns it.
    /// - Parameter waits: whether to queue for the name.
    package func requestName(_ name: String, waits: Bool = false) async throws(DBusFailure) -> Bool {
        // DBUS_NAME_FLAG_DO_NOT_QUEUE
        let flags: UInt32 = waits ? 0 : 4
        let answer = try await call(.bus("RequestName", [.string(name), .uint32(flags)])).first?.integer
        return answer == 1 || answer == 4  // DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER or _ALREADY_OWNER.
    }

    /// Delivers a received signal to its subscribers.
    func deliver(_ message: OwnedMessage) {
        let signal = DBusSignal(
            sender: message.sender, path: message.path, interface: message.interface, member: message.member,
            arguments: message.arguments, serial: dbus_message_get_serial(message.pointer))
        followOwner(signal)
        for (_, subscription) in subscriptions.sorted(by: { $0.key < $1.key }) {
            let sender = subscription.match.sender.flatMap {
                $0.hasPrefix(":") || $0 == Self.bus ? $0 : names[$0]?.owner
            }
            if subscription.match.matches(signal, owner: sender) { subscription.handler(signal) }
        }
    }

    private func followOwner(_ signal: DBusSignal) {
        guard signal.sender == Self.bus, signal.member == "NameOwnerChanged", signal.arguments.count == 3,
            let name = signal.arguments[0].text, names[name] != nil, let newOwner = signal.arguments[2].text
        else { return }
        let owner = newOwner.isEmpty ? nil : newOwner
        setOwner(owner, of: name)
        for handler in names[name]?.handlers ?? [] { handler(owner) }
    }

    package func emit(path: String, interface: String, _ signal: String, _ arguments: [DBusValue] = [])
        throws(DBusFailure)
    {
        let message = try OwnedMessage(path: path, interface: interface, signal: signal, arguments)
        guard isOpen else { throw Self.closed }
        dbus_connection_send(connection, message.pointer, nil)
    }
}
