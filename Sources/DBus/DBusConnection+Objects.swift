import CDBus

extension DBusConnection {
    /// Exports an object. A manager answers GetManagedObjects for what is below it, and tells of what comes and goes
    /// there.
    package func export(_ path: String, _ interfaces: [DBusInterface] = [], isManager: Bool = false) {
        emit(tree.add(path, interfaces, isManager: isManager))
    }

    /// Takes the object away, and says so where somebody manages objects above it.
    package func unexport(_ path: String) {
        emit(tree.remove(path))
    }

    /// Gives a property of ours a new value and tells everybody (PropertiesChanged).
    package func setProperty(_ path: String, _ interface: String, _ property: String, _ value: DBusValue) {
        emit(tree.set(path, interface, property, value))
    }

    /// Answers an invocation whose handler said `later`. A second answer, or one after the connection's end, is
    /// ignored.
    package func answer(_ token: DBusInvocation.Token, _ answer: Result<[DBusValue], DBusFailure>) {
        guard let call = unanswered.removeValue(forKey: token) else { return }
        reply(to: call.pointer, answer)
    }

    /// A method call from the wire.
    func serve(_ message: OpaquePointer) {
        func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }
        let invocation = DBusInvocation(
            token: .init(number: nextNumber()), sender: text(dbus_message_get_sender(message)),
            path: text(dbus_message_get_path(message)), interface: text(dbus_message_get_interface(message)),
            member: text(dbus_message_get_member(message)), arguments: DBusMessageCoding.arguments(of: message),
            wantsReply: dbus_message_get_no_reply(message) == 0)
        guard unanswered.count < Self.unansweredLimit else {
            let sentence = "\(Self.unansweredLimit) calls wait for an answer already"
            return reply(to: message, .failure(DBusFailure(DBusFailure.limitsExceeded, sentence)))
        }
        switch tree.step(for: invocation) {
        case .answer(let answer): finish(invocation, message, answer)
        case .method(let method): finish(invocation, message, method.answer(invocation))
        case .set(let interface, let property, let value, let ask):
            if let refusal = ask(value) { return reply(to: message, .failure(refusal)) }
            reply(to: message, .success([]))
            setProperty(invocation.path, interface, property, value)
        }
    }

    private func finish(_ invocation: DBusInvocation, _ message: OpaquePointer, _ answer: DBusAnswer) {
        switch answer {
        case .values(let values): reply(to: message, .success(values))
        case .failure(let failure): reply(to: message, .failure(failure))
        case .later:
            dbus_message_ref(message)
            unanswered[invocation.token] = OwnedMessage(message)
        }
    }

    private func reply(to call: OpaquePointer, _ answer: Result<[DBusValue], DBusFailure>) {
        guard isOpen, dbus_message_get_no_reply(call) == 0, let message = OwnedMessage.answer(to: call, answer) else {
            return
        }
        dbus_connection_send(connection, message.pointer, nil)
    }

    private func emit(_ emissions: [DBusObjectTree.Emission]) {
        for emission in emissions {
            // Made from our own objects' paths and values: what cannot be sent is a mistake of ours, not of a peer.
            do throws(DBusFailure) {
                try emit(path: emission.path, interface: emission.interface, emission.signal, emission.arguments)
            } catch {
                precondition(
                    error.name != DBusFailure.unsendable, "an exported object cannot be described: \(error.message)")
            }
        }
    }
}
