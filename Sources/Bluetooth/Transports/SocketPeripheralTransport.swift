import Utilities
import Dispatch
import Glibc

extension ATTPeripheralLink {
    /// A peripheral on a listening socket: `unix:PATH`, `stream:PATH`, or L2CAP with its own listener. Each accepted
    /// connection is one ATT bearer.
    ///
    /// While the peripheral does not advertise (`advertise(false)`), a new connection waits for a limited time and is
    /// then closed. A central that connects just after another one has disconnected is accepted; a second central is
    /// not.
    /// - Parameter acceptTimeout: the time for which a connection waits for the peripheral to advertise.
    package convenience init(
        _ listener: some SocketListener, acceptTimeout: Duration = .seconds(2),
        instruments: LinkInstruments = LinkInstruments()
    ) {
        let queue = DispatchQueue(label: "peripheral " + listener.name)
        self.init(
            name: listener.name, queue: queue, instruments: instruments,
            transport: SocketPeripheralTransport(listener, acceptTimeout: acceptTimeout, queue: queue))
    }
}

/// A peripheral's sockets. The queue protects all state.
private final class SocketPeripheralTransport: PeripheralTransport, @unchecked Sendable {
    /// The maximum number of connections. Further ones wait in the listen queue.
    private static let maximumConnections = 8

    private let listener: any SocketListener
    private let acceptTimeout: Duration
    private let queue: DispatchQueue
    weak var peripheral: ATTPeripheralLink?
    private var source: DescriptorSource?
    private var listening: ListeningSocket?
    private var sockets: [CentralID: PacketSocket] = [:]
    private var lastNumber = 0
    private var isVisible = true
    private var isReading = true
    private var waitCount = 0

    init(_ listener: any SocketListener, acceptTimeout: Duration, queue: DispatchQueue) {
        self.listener = listener
        self.acceptTimeout = acceptTimeout
        self.queue = queue
    }

    deinit { stopListening() }

    var address: BluetoothAddress? { listener.address }

    func listen(_ application: GATTApplication) throws(LinkError) {
        let listening = try listener.listen(application)
        self.listening = listening
        source = DescriptorSource(owning: listening.descriptor, queue: queue) { [weak self] _ in
            self?.acceptConnection()
        }
        update()
    }

    func stopListening() {
        listening?.withdraw()
        listening = nil
        source?.cancel()
        source = nil
    }

    // MARK: Connections

    private func acceptConnection() {
        // Process disconnects first, because the same central might have reconnected.
        for socket in sockets.values { socket.readNow() }
        guard isVisible else { return waitForVisibility() }
        guard sockets.count < Self.maximumConnections, let accepted = accept() else { return }
        lastNumber += 1
        let central = listener.central(accepted, number: lastNumber)
        let socket = PacketSocket(descriptor: accepted, isConnecting: false, queue: queue) { [weak self] event in
            self?.handle(event, of: central)
        }
        socket.isReading = isReading
        sockets[central] = socket
        update()
        peripheral?.feed(.opened(central))
    }

    private func accept() -> Int32? {
        guard let listening else { return nil }
        let accepted = Glibc.accept(listening.descriptor, nil, nil)
        guard accepted >= 0 else {
            if errno == EMFILE || errno == ENFILE {
                peripheral?.instruments.log("\(listener.name): too many open files; a connection waits")
                pause()
            }
            return nil
        }
        _ = fcntl(accepted, F_SETFL, fcntl(accepted, F_GETFL) | O_NONBLOCK)
        _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
        return accepted
    }

    /// Leaves connections in the listen queue for `acceptTimeout`, in case the peripheral advertises, then closes them.
    private func waitForVisibility() {
        waitCount += 1
        let current = waitCount
        source?.interest = []
        queue.asyncAfter(deadline: .now() + acceptTimeout / .seconds(1)) { [weak self] in
            guard let self, self.waitCount == current, !self.isVisible, self.source != nil else { return }
            while let expired = self.accept() {
                self.peripheral?.instruments.log(
                    "\(self.listener.name): a central connected while the peripheral did not advertise; disconnected"
                )
                Glibc.close(expired)
            }
            self.update()
        }
    }

    private func handle(_ event: PacketSocket.Event, of central: CentralID) {
        switch event {
        case .received(let bytes): peripheral?.received(bytes, from: central)
        // Do not accept requests from a central that does not read responses.
        case .congested:
            sockets[central]?.isReading = false
            peripheral?.feed(.congested(central))
        case .drained:
            sockets[central]?.isReading = isReading
            peripheral?.feed(.drained(central))
        case .ended:
            sockets[central] = nil
            update()
            peripheral?.feed(.closed(central))
        case .connected, .connectFailed: break
        }
    }

    func send(_ bytes: [UInt8], to central: CentralID) { sockets[central]?.send(bytes) }

    func close(_ central: CentralID) {
        sockets.removeValue(forKey: central)?.close()
        update()
    }

    func advertise(_ visible: Bool) {
        isVisible = visible
        waitCount += 1
        listener.advertise(visible)
        update()
    }

    func setReading(fromCentrals isReading: Bool) {
        self.isReading = isReading
        for socket in sockets.values { socket.isReading = isReading && !socket.isCongested }
    }

    // MARK: Accepting

    private func update() {
        source?.interest = sockets.count < Self.maximumConnections ? .reading : []
    }

    private func pause() {
        source?.interest = []
        queue.asyncAfter(deadline: .now() + .seconds(1)) { [weak self] in self?.update() }
    }
}
