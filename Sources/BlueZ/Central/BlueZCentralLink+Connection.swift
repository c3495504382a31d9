import Bluetooth
import DBus

extension BlueZCentralLink {
    func connect(_ peer: PeerID, limit: Duration) async {
        guard session == nil else {
            return emit(
                .connectFailed(
                    LinkError(.invalidState, "This link is already connected to \(session?.peer.text ?? "a peer")")
                ))
        }
        lastSession += 1
        let number = lastSession
        do throws(LinkError) {
            let adapter = try await poweredAdapter()
            guard let device = objects({ $0.device(address: peer.text, on: adapter) }) else {
                throw LinkError(.notFound, "bluetoothd does not know \(peer): scan first", isTransient: true)
            }
            let isShared = isHeldByOthers(device, peer)
            session = Session(number: number, peer: peer, device: device, isShared: isShared)
            if !isShared { held.hold(peer.text) }
            // Scanning delays connection attempts, and some controllers cannot do both.
            await stopScan()
            try await connect(device, number, limit: limit)
            guard session?.number == number, session?.isEnding == false else { return }
            session?.isConnected = true
            if isShared {
                emit(
                    .warning(
                        """
                        Another program on this machine holds the connection to \(peer): the gateway shares it \
                        and does not end it. Both receive the bottle's responses. If the other program misses \
                        drinks, stop one of the two.
                        """
                    ))
            }
            emit(.connected(peer, mtu: 23))
        } catch {
            guard session == nil || session?.number == number, session?.isEnding != true else { return }
            if session?.isShared == false { held.release(peer.text) }
            session = nil
            emit(.connectFailed(error))
        }
    }

    /// Returns when the device is connected, or when other code has ended and reported the attempt.
    ///
    /// Only the property `Connected` counts, but bluetoothd does not always signal it. The reply can arrive before the
    /// signal. If ATT is faster than the kernel's event, BlueZ 5.66 finds the device "already connected" and never
    /// signals the property (src/device.c, device_add_connection). So the link reads the property after the reply, and
    /// then once a second.
    private func connect(_ device: String, _ number: UInt64, limit: Duration) async throws(LinkError) {
        let action = "Connecting to \(session?.peer.text ?? device) failed"
        let deadline = ContinuousClock.now + limit
        let attempt = Task {
            do throws(LinkError) {
                _ = try await service.call(device, BlueZName.device, "Connect", limit: limit + .seconds(5), action)
                if session?.number == number { session?.isAnswered = true }
            } catch {
                if session?.number == number { session?.failure = error }
            }
            wakeWaiters()
        }
        defer { attempt.cancel() }
        _ = await wait(limit: limit) { central in
            guard let session = central.session, session.number == number else { return true }
            return session.failure != nil || session.isAnswered
                || central.deviceProperty(device, "Connected")?.bool == true
        }
        while session?.number == number, session?.isEnding == false, deviceProperty(device, "Connected")?.bool != true {
            if let failure = session?.failure { throw failure }
            guard ContinuousClock.now < deadline else {
                // A pending attempt blocks the next one.
                await service.disconnect(device, limit: .seconds(3))
                throw LinkError(.connectFailed, "\(action): it did not connect within \(limit)", isTransient: true)
            }
            await service.refresh()
            _ = await wait(limit: .seconds(1)) { central in
                central.session?.number != number || central.session?.failure != nil
                    || central.deviceProperty(device, "Connected")?.bool == true
            }
        }
    }

    func disconnect() async {
        endScan()
        guard let session, !session.isEnding else {
            if session == nil { emit(.disconnected(nil)) }
            return
        }
        self.session?.isEnding = true
        let device = session.device
        guard !session.isShared else { return await endSharedSession(session) }
        async let disconnecting: Void = service.disconnect(device)
        // The last write might not be sent yet: let bluetoothd end the connection after its delay.
        if session.isConnected, !session.hasUnconfirmedWrite { disconnectNow(device) }
        await disconnecting
        let ended = await wait(limit: .seconds(5)) { central in
            central.session?.number != session.number || central.deviceProperty(device, "Connected")?.bool != true
        }
        // A signal has already reported the end of the connection.
        guard self.session?.number == session.number else {
            if !session.isConnected { emit(.disconnected(nil)) }
            return
        }
        if !ended { log("bluetoothd did not end the connection to \(session.peer) within 5 s") }
        for socket in self.session?.sockets.values ?? [:].values { socket.close() }
        self.session = nil
        if ended { held.release(session.peer.text) }
        emit(.disconnected(nil))
    }

    /// Whether the connection belongs to another program, not to one of this user's gateways, running or exited.
    func isHeldByOthers(_ device: String, _ peer: PeerID) -> Bool {
        guard deviceProperty(device, "Connected")?.bool == true else {
            held.release(peer.text)
            return false
        }
        return !held.isHeldByThisUser(peer.text)
    }

    private func endSharedSession(_ session: Session) async {
        for path in session.subscribed.sorted() {
            _ = try? await service.call(
                path, BlueZName.gattCharacteristic, "StopNotify", limit: .seconds(3), "Unsubscribing failed")
        }
        guard self.session?.number == session.number else { return }  // The session has ended and was reported.
        for socket in self.session?.sockets.values ?? [:].values { socket.close() }
        self.session = nil
        emit(.disconnected(nil))
    }

    /// Ends the connection at once through the kernel, where that is permitted. bluetoothd waits 2 s.
    private func disconnectNow(_ device: String) {
        guard let address = deviceProperty(device, "Address")?.text.flatMap(BluetoothAddress.init),
            let adapter, let index = adapter.split(separator: "/").last.flatMap({ UInt16($0.dropFirst(3)) })
        else { return }
        ManagementChannel.disconnect(
            address, isRandom: deviceProperty(device, "AddressType")?.text == "random", adapter: index)
    }

    private func endScan() {
        guard isScanning else { return }
        Task { await stopScan() }
    }
}
