import CDBus

extension DBusConnection {
    /// Exports an object. A manager implements org.freedesktop.DBus.ObjectManager for the objects below it.
    package func export(_ path: String, _ interfaces: [DBusInterface] = [], isManager: Bool = false) {
        emit(tree.add(path, interfaces, isManager: isManager))
    }

    /// Sets a property and emits PropertiesChanged.
    package func setProperty(_ path: String, _ interface: String, _ property: String, _ value: DBusValue) {
        emit(tree.set(path, interface, property, value))
    }

    /// Replies to an invocation whose handler returned `later`. A second or late reply is ignored.
    package func answer(_ token: DBusInvocation.Token, _ answer: Result<[DBusValue], DBusFailure>) {
        guard let call = unanswered.removeValue(forKey: token) else { return }
        reply(to: call, answer)
    }

    func handleMethodCall(_ message: OwnedMessage) {
        let invocation = DBusInvocation(
            token: .init(number: nextNumber()), path: message.path, interface: message.interface,
            member: message.member, arguments: message.arguments,
            expectsReply: dbus_message_get_no_reply(message.pointer) == 0)
        guard unanswered.count < Self.unansweredLimit else {
            let sentence = "too many calls without a reply (\(Self.unansweredLimit))"
            return reply(to: message, .failure(DBusFailure(DBusFailure.limitsExceeded, sentence)))
        }
        let answer: DBusReply
        do throws(DBusFailure) {
            answer = try tree.method(for: invocation).handler(invocation)
        } catch {
            answer = .failure(error)
        }
        switch answer {
        case .values(let values): reply(to: message, .success(values))
        case .failure(let failure): reply(to: message, .failure(failure))
        case .deferred: unanswered[invocation.token] = message
        }
    }

    private func reply(to call: OwnedMessage, _ answer: Result<[DBusValue], DBusFailure>) {
        guard isOpen, dbus_message_get_no_reply(call.pointer) == 0,
            let message = OwnedMessage.answer(to: call.pointer, answer)
        else { return }
        dbus_connection_send(connection, message.pointer, nil)
    }

    private func emit(_ emission: DBusObjectTree.Emission?) {
        guard isOpen, let emission else { return }
        do throws(DBusFailure) {
            try emit(path: emission.path, interface: emission.interface, emission.signal, emission.arguments)
        } catch {
            // The content comes from exported objects, so a failure is a programming error.
            preconditionFailure("cannot encode an exported object: \(error.message)")
        }
    }
}
