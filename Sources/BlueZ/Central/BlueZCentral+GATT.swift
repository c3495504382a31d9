import Bluetooth
import DBus

/// What passes on a connection.
extension BlueZCentral {
    /// ATT's own limit for a transaction (Core 5.4, Vol 3 Part F, 3.3.3), and what a call may therefore take.
    private static let limit = Duration.seconds(30)

    /// How long services may take that are being read anew.
    private static let patience = Duration.seconds(3)

    private static let notConnected = LinkError(.outOfStep, "Nothing is connected")

    func discover() async {
        guard let session, session.isConnected else { return emit(.discoveryFailed(Self.notConnected)) }
        let device = session.device
        let resolved = await wait(limit: Self.limit) { central in
            central.session?.number != session.number || central.device(device, "ServicesResolved")?.bool == true
        }
        guard self.session?.number == session.number else { return }  // `disconnected` has been told.
        guard resolved else {
            return emit(
                .discoveryFailed(
                    LinkError(.timeout, "The services of \(session.peer) were not read within 30 s", isTransient: true))
            )
        }
        // In 5.66 ServicesResolved comes before the signals that bring the services; the list of objects has them
        // already.
        await service.refresh()
        // A bottle whose firmware was updated tells that all its services have changed: then there are none for a
        // moment.
        _ = await wait(limit: Self.patience) { central in
            central.session?.number != session.number
                || !central.objects { $0.paths(having: BlueZName.gattCharacteristic, below: device) }.isEmpty
        }
        guard self.session?.number == session.number else { return }
        let table = objects { RemoteTable(of: device, in: $0) }
        self.session?.table = table
        emit(.discovered(table.services))
        // Known since BlueZ 5.62; the fd's way tells it for older ones.
        if let mtu = objects({ objects in
            table.paths.values.compactMap { objects[$0, BlueZName.gattCharacteristic]?["MTU"]?.integer }.max()
        }) {
            learn(mtu: mtu)
        }
    }

    private func learn(mtu: Int) {
        guard let session, (23...517).contains(mtu), session.mtu != mtu else { return }
        self.session?.mtu = mtu
        emit(.mtuChanged(mtu))
    }

    /// The object behind a handle.
    private func path(_ handle: UInt16) throws(LinkError) -> String {
        guard let session, session.isConnected else { throw Self.notConnected }
        guard let path = session.table.paths[handle] else {
            throw LinkError(.outOfStep, "There is no characteristic with handle \(handle): discover first")
        }
        return path
    }

    /// Whether the connection that a request was made on is still there; where not, `disconnected` has answered it.
    private func isCurrent(_ number: UInt64?) -> Bool { number == nil || session?.number == number }

    func read(_ handle: UInt16) async {
        let number = session?.number
        do throws(LinkError) {
            let path = try path(handle)
            let answer = try await service.call(
                path, BlueZName.gattCharacteristic, "ReadValue", [.properties([:])], limit: Self.limit,
                "Reading handle \(handle) failed")
            guard let value = answer.first?.byteArray else {
                throw LinkError(.protocolViolation, "Reading handle \(handle) brought no bytes")
            }
            guard isCurrent(number) else { return }
            session?.hasUnheardWrite = false
            emit(.read(handle: handle, value: value))
        } catch {
            if isCurrent(number) { emit(.readFailed(handle: handle, error)) }
        }
    }

    func write(_ handle: UInt16, _ value: [UInt8], withResponse: Bool) async {
        let number = session?.number
        do throws(LinkError) {
            let path = try path(handle)
            let options = DBusValue.properties(["type": .string(withResponse ? "request" : "command")])
            session?.hasUnheardWrite = !withResponse
            _ = try await service.call(
                path, BlueZName.gattCharacteristic, "WriteValue", [.bytes(value), options], limit: Self.limit,
                "Writing handle \(handle) failed")
            if isCurrent(number) { emit(.wrote(handle: handle)) }
        } catch {
            if isCurrent(number) { emit(.writeFailed(handle: handle, error)) }
        }
    }

    func subscribe(_ handle: UInt16) async {
        let number = session?.number
        do throws(LinkError) {
            let path = try path(handle)
            switch way {
            case .socket where try await subscribeBySocket(handle, path): break
            default:
                // Before the call: the first value may come with its answer.
                session?.subscribed.insert(path)
                _ = try await service.call(
                    path, BlueZName.gattCharacteristic, "StartNotify", limit: Self.limit,
                    "Subscribing to handle \(handle) failed")
            }
            if isCurrent(number) { emit(.subscribed(handle: handle)) }
        } catch {
            if let path = session?.table.paths[handle] { session?.subscribed.remove(path) }
            if isCurrent(number) { emit(.subscribeFailed(handle: handle, error)) }
        }
    }

    /// `false` where this characteristic has no socket to offer: it indicates only, or somebody else has it.
    private func subscribeBySocket(_ handle: UInt16, _ path: String) async throws(LinkError) -> Bool {
        let number = session?.number
        let answer: [DBusValue]
        do throws(LinkError) {
            answer = try await service.call(
                path, BlueZName.gattCharacteristic, "AcquireNotify", [.properties([:])], limit: Self.limit,
                "Subscribing to handle \(handle) failed")
        } catch {
            guard error.code == .refused, error.attError == 0x03 || error.attError == 0x06 else { throw error }
            return false
        }
        guard answer.count == 2, let descriptor = answer[0].descriptor?.take(), let mtu = answer[1].integer else {
            throw LinkError(.protocolViolation, "Subscribing to handle \(handle) brought no socket")
        }
        guard isCurrent(number) else {
            NotificationSocket.discard(descriptor)
            return true
        }
        session?.sockets[handle]?.close()
        session?.sockets[handle] = NotificationSocket(descriptor, queue: executor.queue) { [weak self] value in
            guard let self else { return }
            self.assumeIsolated { $0.notified(handle, value) }
        }
        learn(mtu: mtu)
        return true
    }

    /// A characteristic's value changed: a notification where we subscribed, the answer to somebody's read where not.
    func notice(_ path: String, _ values: BlueZObjects.Properties) {
        guard let session, session.subscribed.contains(path), let handle = session.table.handles[path],
            let value = values["Value"]?.byteArray
        else { return }
        notified(handle, value)
    }

    private func notified(_ handle: UInt16, _ value: [UInt8]) {
        guard let session, session.isConnected else { return }
        self.session?.hasUnheardWrite = false
        guard flow.count < Self.eventLimit else {
            // Leaving some out would make a log look whole that is not.
            log("\(session.peer) sends faster than its values are taken: hanging up")
            let device = session.device
            if !session.isShared {
                Task {
                    try? await service.call(
                        device, BlueZName.device, "Disconnect", limit: .seconds(5), "Disconnecting failed")
                }
            }
            return lose(
                LinkError(
                    .protocolViolation,
                    "\(session.peer) sent more than \(Self.eventLimit) values that nobody took: hung up"))
        }
        emit(.notification(handle: handle, value: value))
    }
}
