import Bluetooth
import DBus
import Glibc

extension BlueZCentralLink {
    /// The transaction timeout of ATT (Core 5.4, Vol 3 Part F, 3.3.3), and so the time limit of a call.
    private static let limit = Duration.seconds(30)

    /// The maximum wait for the services while bluetoothd reads them again.
    private static let refreshLimit = Duration.seconds(3)

    private static let notConnected = LinkError(.invalidState, "Not connected")

    func discover() async {
        guard let session, session.isConnected else { return emit(.discoveryFailed(Self.notConnected)) }
        let device = session.device
        let resolved = await wait(limit: Self.limit) { central in
            central.session?.number != session.number
                || central.deviceProperty(device, "ServicesResolved")?.bool == true
        }
        guard self.session?.number == session.number else { return }  // `disconnected` was reported.
        guard resolved else {
            return emit(
                .discoveryFailed(
                    LinkError(
                        .timeout, "bluetoothd did not read the services of \(session.peer) within 30 s",
                        isTransient: true))
            )
        }
        // In BlueZ 5.66, ServicesResolved precedes the signals with the services. GetManagedObjects has them already.
        await service.refresh()
        // After a firmware update the bottle indicates Service Changed for all services: for a moment there are none.
        // Then they appear one by one.
        if objects({ $0.paths(having: BlueZName.gattCharacteristic, below: device) }).isEmpty {
            _ = await wait(limit: Self.refreshLimit) { central in
                central.session?.number != session.number
                    || !central.objects { $0.paths(having: BlueZName.gattCharacteristic, below: device) }.isEmpty
            }
            var known = 0
            while case let count = objects({ $0.paths(having: BlueZName.gattCharacteristic, below: device) }).count,
                count > known
            {
                known = count
                _ = await wait(limit: .milliseconds(500)) { central in
                    central.session?.number != session.number
                        || central.objects { $0.paths(having: BlueZName.gattCharacteristic, below: device) }.count
                            > count
                }
                guard self.session?.number == session.number else { return }
            }
        }
        guard self.session?.number == session.number else { return }
        let table = objects { RemoteTable(of: device, in: $0) }
        self.session?.table = table
        emit(.discovered(table.services))
        // The property exists since BlueZ 5.62; AcquireNotify returns the MTU in older versions.
        if let mtu = objects({ objects in
            table.paths.values.compactMap { objects[$0, BlueZName.gattCharacteristic]?["MTU"]?.integer }.max()
        }) {
            setMTU(mtu)
        }
    }

    private func setMTU(_ mtu: Int) {
        guard let session, (23...517).contains(mtu), session.mtu != mtu else { return }
        self.session?.mtu = mtu
        emit(.mtuChanged(mtu))
    }

    private func path(_ handle: UInt16) throws(LinkError) -> String {
        guard let session, session.isConnected else { throw Self.notConnected }
        guard let path = session.table.paths[handle] else {
            throw LinkError(.invalidState, "There is no characteristic with handle \(handle): discover first")
        }
        return path
    }

    /// Whether the request's connection still exists. If not, `disconnected` has answered the request.
    private func isCurrent(_ number: UInt64?) -> Bool { number == nil || session?.number == number }

    func read(_ handle: UInt16) async {
        let number = session?.number
        do throws(LinkError) {
            let path = try path(handle)
            let answer = try await service.call(
                path, BlueZName.gattCharacteristic, "ReadValue", [.properties([:])], limit: Self.limit,
                "Reading handle \(handle) failed")
            guard let value = answer.first?.byteArray else {
                throw LinkError(.protocolViolation, "Reading handle \(handle) returned no bytes")
            }
            guard isCurrent(number) else { return }
            session?.hasUnconfirmedWrite = false
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
            session?.hasUnconfirmedWrite = !withResponse
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
            switch notificationMethod {
            case .socket where try await subscribeBySocket(handle, path): break
            default:
                // Subscribe before the call, because the first value can arrive with its reply.
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

    /// Returns `false` if the characteristic has no socket: it only indicates, or another program has the socket.
    private func subscribeBySocket(_ handle: UInt16, _ path: String) async throws(LinkError) -> Bool {
        let number = session?.number
        let answer: [DBusValue]
        do throws(LinkError) {
            answer = try await service.call(
                path, BlueZName.gattCharacteristic, "AcquireNotify", [.properties([:])], limit: Self.limit,
                "Subscribing to handle \(handle) failed")
        } catch {
            guard error.code == .inProgress || error.attError == 0x03 || error.attError == 0x06 else { throw error }
            return false
        }
        guard answer.count == 2, let descriptor = answer[0].descriptor?.take(), let mtu = answer[1].integer else {
            throw LinkError(.protocolViolation, "Subscribing to handle \(handle) returned no socket")
        }
        guard isCurrent(number) else {
            Glibc.close(descriptor)
            return true
        }
        session?.sockets[handle]?.close()
        let socket = PacketSocket(descriptor: descriptor, isConnecting: false, queue: executor.queue) {
            [weak self] event in
            guard case .received(let value) = event, let self else { return }
            self.assumeIsolated { $0.notified(handle, value) }
        }
        session?.sockets[handle] = socket
        setMTU(mtu)
        return true
    }

    /// Handles a changed value: a notification after a subscription, otherwise the response to another program's read.
    func receiveProperties(_ path: String, _ values: BlueZObjects.Properties) {
        guard let session, session.subscribed.contains(path), let handle = session.table.handles[path],
            let value = values["Value"]?.byteArray
        else { return }
        notified(handle, value)
    }

    private func notified(_ handle: UInt16, _ value: [UInt8]) {
        guard let session, session.isConnected else { return }
        self.session?.hasUnconfirmedWrite = false
        guard eventQueue.count < Self.eventLimit else {
            // Dropping values would make an incomplete log look complete.
            log("\(session.peer) sends values faster than they are processed: disconnecting")
            let device = session.device
            if !session.isShared { Task { await service.disconnect(device) } }
            return endSession(
                LinkError(
                    .protocolViolation,
                    "disconnected \(session.peer): more than \(Self.eventLimit) values are pending"))
        }
        emit(.notification(handle: handle, value: value))
    }
}
