import Bluetooth

extension ProxyHost {
    mutating func perform(_ request: CentralRequest) {
        switch request {
        case .startScan:
            (isScanning, reported) = (true, [])
            if stage == .ready { subscribe() } else { dial() }
        case .stopScan: isScanning = false
        case .connect(let peer, let limit): connect(peer, limit)
        case .disconnect: disconnect()
        case .clearCache: emit(.recovered("the proxy has no cache of a peer"))
        case .powerCycle: emit(.recovered("cannot switch a proxy off and on"))
        case .discover, .read, .write, .subscribe: enqueue(request)
        }
    }

    private mutating func connect(_ peer: PeerID, _ limit: Duration) {
        guard session == nil else {
            return emit(.connectFailed(LinkError(.invalidState, "this link is already connected or connecting")))
        }
        guard let address = peers[peer]?.advertisement.address ?? BluetoothAddress(peer.text) else {
            return emit(.connectFailed(LinkError(.notFound, "invalid address '\(peer)'")))
        }
        session = ProxySession(peer: peer, address: address, phase: .connecting(deadline: now.advanced(by: limit)))
        if stage == .ready { connectPeer() } else { dial() }
    }

    /// Requests a connection. The two highest bits of an unknown peer's address determine its type.
    mutating func connectPeer() {
        guard let session else { return }
        subscribe()
        send(
            .device(
                session.address, .connect,
                addressType: peers[session.peer]?.addressType ?? (session.address.value >> 46 == 3 ? 1 : 0)))
    }

    private mutating func disconnect() {
        switch session?.phase {
        case nil: emit(.disconnected(nil))
        case .connecting:
            if stage == .ready, let session { send(.device(session.address, .disconnect)) }
            session = nil
            emit(.disconnected(nil))
        case .connected: disconnectPeer(because: nil)
        case .ending(let deadline, _): session?.phase = .ending(deadline: deadline, nil)
        }
    }

    mutating func disconnectPeer(because reason: LinkError?) {
        guard let address = session?.address else { return }
        session?.phase = .ending(deadline: now.advanced(by: Limit.disconnect), reason)
        send(.device(address, .disconnect))
    }

    mutating func sessionTimedOut() {
        guard let session else { return }
        switch session.phase {
        case .connecting:
            if stage == .ready { send(.device(session.address, .disconnect)) }
            self.session = nil
            let sentence =
                stage == .ready
                ? "\(endpoint) did not report its connection to \(session.peer); another client might use the proxy"
                : "\(endpoint) did not connect in time"
            emit(.connectFailed(LinkError(.timeout, sentence, isTransient: true)))
        case .connected:
            // A later response could not be assigned to its request, so disconnect.
            disconnectPeer(
                because: LinkError(.timeout, "\(endpoint) did not answer a request in time", isTransient: true))
        case .ending(_, let reason):
            self.session = nil
            emit(.disconnected(reason))
        }
    }

    mutating func handle(_ message: ProxyMessage) {
        switch message {
        case .advertisements(let advertisements): if isScanning { for received in advertisements { add(received) } }
        case .connectionsFree(let free, let limit): slots = (free, limit)
        case .connection(let address, let isConnected, let mtu, let error):
            guard address == session?.address else {
                // A cancelled attempt has succeeded, so disconnect.
                if isConnected { send(.device(address, .disconnect)) }
                return
            }
            connectionChanged(isConnected, mtu, error)
        default: processRequestMessage(message)
        }
    }

    private mutating func connectionChanged(_ isConnected: Bool, _ mtu: Int, _ error: Int) {
        guard let session else { return }
        let reason = error == 0 ? "" : " (0x\(String(UInt32(truncatingIfNeeded: error), radix: 16)))"
        switch session.phase {
        case .connecting where isConnected && error == 0:
            self.session?.phase = .connected
            emit(.connected(session.peer, mtu: min(max(mtu, ATTPDU.defaultMTU), ATTPDU.maximumMTU)))
        case .connecting:
            self.session = nil
            if error == 0, let slots, slots.free == 0 {
                let sentence = "all \(slots.limit) connections of \(endpoint) are in use"
                return emit(.connectFailed(LinkError(.inProgress, sentence, isTransient: true)))
            }
            emit(
                .connectFailed(
                    LinkError(
                        .connectFailed, "\(endpoint) failed to connect to \(session.peer)\(reason)", isTransient: true))
            )
        case .connected where !isConnected:
            self.session = nil
            emit(.disconnected(LinkError(.disconnected, "the connection has ended\(reason)", isTransient: true)))
        case .ending(_, let reason) where !isConnected:
            self.session = nil
            emit(.disconnected(reason))
        default: break
        }
    }

    private mutating func add(_ received: ProxyAdvertisement) {
        let peer = PeerID(received.address.description)
        let before = peers[peer]?.advertisement
        var advertisement = before ?? Advertisement(peer: peer, address: received.address, rssi: received.rssi)
        advertisement.isAddressPrivate = received.addressType != 0 && received.address.value >> 46 < 2
        advertisement.add(received.data)
        guard advertisement != before || !reported.contains(peer), before != nil || peers.count < Limit.peers else {
            return
        }
        peers[peer] = (advertisement, received.addressType)
        reported.insert(peer)
        emit(.advertised(advertisement))
    }
}
