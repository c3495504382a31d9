import Dispatch

extension ATTCentralLink {
    /// A central on an HCI controller over TCP: `hci:HOST:PORT`. It does not use the kernel's Bluetooth.
    package convenience init(hci endpoint: NetworkEndpoint, instruments: LinkInstruments = LinkInstruments()) {
        let queue = DispatchQueue(label: "central hci:\(endpoint)")
        self.init(
            name: "hci:\(endpoint)", hasRadio: true, queue: queue, instruments: instruments,
            transport: HCICentralTransport(HCIController(endpoint, queue: queue, instruments: instruments)))
    }
}

/// A controller in the central role. The queue protects all state.
private final class HCICentralTransport: CentralTransport {
    private let controller: HCIController
    weak var central: ATTCentralLink?
    private var isScanning = false
    private var peers: [PeerID: (advertisement: Advertisement, isRandom: Bool)] = [:]
    private var reported: Set<PeerID> = []
    private var connection: UInt16?
    private var pendingAddress: BluetoothAddress?
    private var attempt = 0

    private static let maximumPeers = 4096

    init(_ controller: HCIController) {
        self.controller = controller
        controller.onEffect = { [weak self] in self?.handle($0) }
        controller.onEnd = { [weak self] in self?.connectionLost($0) }
    }

    func scan() {
        controller.whenReady { [weak self] error in
            guard let self else { return }
            if let error { self.central?.feed(.notFound(error)) }
            guard error == nil, !self.isScanning else { return }
            (self.isScanning, self.reported) = (true, [])
            self.controller.handle(.scan(true))
        }
    }

    func stopScan() {
        guard isScanning else { return }
        isScanning = false
        controller.handle(.scan(false))
    }

    func open(_ peer: PeerID) {
        attempt += 1
        let current = attempt
        controller.whenReady { [weak self] error in
            guard let self, self.attempt == current else { return }
            let known = self.peers[peer]
            guard error == nil, let address = known?.advertisement.address ?? BluetoothAddress(peer.text) else {
                self.central?.feed(.openFailed(error ?? LinkError(.notFound, "invalid address '\(peer)'")))
                return
            }
            // Most controllers cannot connect while they scan.
            self.stopScan()
            self.pendingAddress = address
            self.controller.handle(.connect(address, isRandom: known?.isRandom ?? (address.value >> 46 == 3)))
        }
    }

    func send(_ bytes: [UInt8]) {
        if let connection { controller.handle(.send(connection: connection, bytes)) }
    }

    func close() {
        attempt += 1
        if pendingAddress != nil { controller.handle(.cancelConnect) }
        pendingAddress = nil
        if let connection { controller.handle(.disconnect(connection)) }
        connection = nil
    }

    func shutDown(_ completion: @escaping () -> Void) {
        stopScan()
        controller.shutDown(completion)
    }

    /// The controller has its own flow control by credits.
    func setReading(fromPeripheral isReading: Bool) {}

    private func handle(_ effect: HCIHost.Effect) {
        switch effect {
        case .advertised(let received): report(received)
        case .connected(let handle, let address, _):
            guard pendingAddress == address else { return controller.handle(.disconnect(handle)) }
            pendingAddress = nil
            connection = handle
            central?.feed(.opened)
        case .connectFailed(let status):
            guard pendingAddress != nil else { return }
            pendingAddress = nil
            central?.feed(
                .openFailed(
                    LinkError(
                        .connectFailed, "the controller could not connect: HCI status 0x\(String(status, radix: 16))",
                        isTransient: true)))
        case .received(connection, let bytes): central?.received(bytes)
        case .disconnected(connection, let reason):
            connection = nil
            central?.feed(
                .closed(
                    LinkError(
                        .disconnected, "the connection has ended: HCI reason 0x\(String(reason, radix: 16))",
                        isTransient: true)))
        default: break
        }
    }

    private func connectionLost(_ error: LinkError) {
        if pendingAddress != nil {
            pendingAddress = nil
            central?.feed(.openFailed(error))
        }
        if isScanning {
            isScanning = false
            central?.feed(.notFound(error))
        }
    }

    private func report(_ received: HCIHost.ReceivedReport) {
        guard isScanning else { return }
        let peer = PeerID(received.address.description)
        let last = peers[peer]?.advertisement
        var advertisement = last ?? Advertisement(peer: peer, address: received.address)
        advertisement.isAddressPrivate = received.isRandom && received.address.value >> 46 < 2
        advertisement.add(received.data)
        advertisement.rssi = last?.rssi ?? received.rssi
        guard advertisement != last || !reported.contains(peer), last != nil || peers.count < Self.maximumPeers else {
            return
        }
        peers[peer] = (advertisement, received.isRandom)
        reported.insert(peer)
        central?.feed(.found(advertisement))
    }
}
