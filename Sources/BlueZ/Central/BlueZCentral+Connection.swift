import Bluetooth

/// Connecting and disconnecting.
extension BlueZCentral {
    func connect(_ peer: PeerID, limit: Duration) async {
        let began = ContinuousClock.now
        let number = (session?.number ?? lastSession) + 1
        guard session == nil else {
            return emit(.connectFailed(LinkError(.outOfStep, "This link holds a connection to \(session?.peer.text ?? "a peer") already")))
        }
        var attempt: String?
        do throws(LinkError) {
            let adapter = try await ready()
            guard let device = objects({ $0.device(address: peer.text, on: adapter) }) else {
                throw LinkError(.notFound, "bluetoothd does not know \(peer): it has to be seen by a scan first", isTransient: true)
            }
            lastSession = number
            session = Session(number: number, peer: peer, device: device)
            attempt = device
            // A scan makes attempts slower, and some controllers cannot do both.
            await stopScan()
            let what = "Connecting to \(peer) failed"
            _ = try await service.call(device, BlueZName.device, "Connect", limit: limit, what)
            // The reply may come before the property.
            let rest = limit - began.duration(to: .now)
            let connected = await wait(limit: max(.milliseconds(100), rest)) { central in
                central.session?.number != number || central.device(device, "Connected")?.bool == true
            }
            guard session?.number == number, session?.isEnding == false else { return }
            guard connected else { throw LinkError(.timeout, "\(what): it did not connect within \(limit)", isTransient: true) }
            session?.isConnected = true
            emit(.connected(peer, mtu: 23))
        } catch {
            // Somebody asked to disconnect meanwhile, and has been answered.
            guard attempt == nil || session?.number == number, session?.isEnding != true else { return }
            if attempt != nil { session = nil }
            // An attempt that goes on would be in the way of the next one.
            if let attempt, error.code == .timeout {
                _ = try? await service.call(attempt, BlueZName.device, "Disconnect", limit: .seconds(3), "Giving the attempt up failed")
            }
            let sentence = error.code == .timeout ? LinkError(
                .connectFailed, "Connecting to \(peer) failed: it did not connect within \(limit)", cause: error.cause, isTransient: true) : error
            emit(.connectFailed(sentence))
        }
    }

    func disconnect() async {
        isEndingScan()
        guard let session, !session.isEnding else {
            if session == nil { emit(.disconnected(nil)) }
            return
        }
        self.session?.isEnding = true
        let device = session.device
        _ = try? await service.call(device, BlueZName.device, "Disconnect", limit: .seconds(5), "Disconnecting failed")
        let ended = await wait(limit: .seconds(5)) { central in
            central.session?.number != session.number || central.device(device, "Connected")?.bool != true
        }
        // Told already, by the signal.
        guard self.session?.number == session.number else {
            if !session.isConnected { emit(.disconnected(nil)) }
            return
        }
        if !ended { log("bluetoothd still holds the connection to \(session.peer) 5 s after it was asked to end it") }
        for socket in self.session?.sockets.values ?? [:].values { socket.close() }
        self.session = nil
        emit(.disconnected(nil))
    }

    private func isEndingScan() {
        guard isScanning else { return }
        Task { await stopScan() }
    }
}
