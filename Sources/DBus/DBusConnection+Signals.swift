import CDBus

extension DBusConnection {
    struct Subscription {
        var match: DBusMatch
        var handler: @Sendable (DBusSignal) -> Void
    }

    /// The owner of a watched name.
    enum NameOwner {
        case unknown
        /// The unique name of the owner; `nil` if there is none.
        case known(String?)

        var uniqueName: String? { if case .known(let name) = self { name } else { nil } }
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
        if owners[name] == nil {
            owners[name] = .unknown
            do throws(DBusFailure) {
                _ = try await call(.bus("AddMatch", [.string(Self.ownerMatch(name).rule)]))
            } catch {
                owners[name] = nil
                throw error
            }
        }
        if case .unknown? = owners[name] { try await readOwner(name) }
        return owners[name]?.uniqueName
    }

    /// Reads the owner of a name. Stores it in order with the signals, so that a later change wins.
    private func readOwner(_ name: String) async throws(DBusFailure) {
        let failure: DBusFailure? = await withCheckedContinuation { continuation in
            call(.bus("GetNameOwner", [.string(name)])) { [weak self] answer in
                self?.assumeIsolated { connection in
                    switch answer {
                    case .success(let values): connection.owners[name] = .known(values.first?.text)
                    case .failure(let failure) where failure.name == Self.noOwner:
                        connection.owners[name] = .known(nil)
                    case .failure(let failure):
                        connection.owners[name] = nil
                        return continuation.resume(returning: failure)
                    }
                    continuation.resume(returning: nil)
                }
            }
        }
        if let failure { throw failure }
    }

    /// Calls the handler on the queue whenever a name gets an owner (its unique name) or loses it (`nil`).
    package func watchName(_ name: String, handler: @escaping @Sendable (_ owner: String?) -> Void)
        async throws(DBusFailure)
    {
        try await watchOwner(of: name)
        try await subscribe(Self.ownerMatch(name)) { signal in
            guard signal.arguments.count == 3, let owner = signal.arguments[2].text else { return }
            handler(owner.isEmpty ? nil : owner)
        }
    }

    private static func ownerMatch(_ name: String) -> DBusMatch {
        DBusMatch(
            sender: bus, path: "/org/freedesktop/DBus", interface: bus, member: "NameOwnerChanged", firstArgument: name)
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
                $0.hasPrefix(":") || $0 == Self.bus ? $0 : owners[$0]?.uniqueName
            }
            if subscription.match.matches(signal, owner: sender) { subscription.handler(signal) }
        }
    }

    private func followOwner(_ signal: DBusSignal) {
        guard signal.sender == Self.bus, signal.member == "NameOwnerChanged", signal.arguments.count == 3,
            let name = signal.arguments[0].text, owners[name] != nil, let owner = signal.arguments[2].text
        else { return }
        owners[name] = .known(owner.isEmpty ? nil : owner)
    }

    package func emit(path: String, interface: String, _ signal: String, _ arguments: [DBusValue] = [])
        throws(DBusFailure)
    {
        let message = try OwnedMessage(path: path, interface: interface, signal: signal, arguments)
        guard isOpen else { throw Self.closed }
        dbus_connection_send(connection, message.pointer, nil)
    }
}
