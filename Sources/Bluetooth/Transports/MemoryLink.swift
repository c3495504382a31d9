import Dispatch

/// A central and a peripheral in one process. They use the state machines of sockets, and PDUs keep their order.
package enum MemoryLink {
    /// Creates a central link and a peripheral link that find each other. Each can have injected faults and an
    /// observer.
    package static func pair(
        name: String = "memory", central: LinkInstruments = LinkInstruments(),
        peripheral: LinkInstruments = LinkInstruments()
    ) -> (central: ATTCentralLink, peripheral: ATTPeripheralLink) {
        let queue = DispatchQueue(label: name)
        let transport = MemoryTransport(name: name, queue: queue)
        return (
            ATTCentralLink(name: name, hasRadio: false, queue: queue, instruments: central, transport: transport),
            ATTPeripheralLink(name: name, queue: queue, instruments: peripheral, transport: transport)
        )
    }
}

/// The transport between the two links. Their common queue protects all state.
private final class MemoryTransport: CentralTransport, PeripheralTransport, @unchecked Sendable {
    /// The number of pending PDUs to the central at which the peripheral is congested.
    private static let maximumToCentral = 64
    /// The number of pending PDUs to the peripheral at which the connection is closed.
    private static let maximumToPeripheral = 1024

    private let name: String
    private let queue: DispatchQueue
    weak var central: ATTCentralLink?
    weak var peripheral: ATTPeripheralLink?
    private var isListening = false
    private var isVisible = true
    private var isCentralWaiting = false
    private var number = 0
    private var connected: CentralID?
    private var toCentral = PDUQueue()
    private var toPeripheral = PDUQueue()
    private var isDraining = false

    private struct PDUQueue {
        var pending: [[UInt8]] = []
        var isReading = true
        var canDeliver: Bool { isReading && !pending.isEmpty }
    }

    init(name: String, queue: DispatchQueue) {
        self.name = name
        self.queue = queue
    }

    func listen(_ application: GATTApplication) {
        isListening = true
        connectIfPossible()
    }

    func stopListening() { isListening = false }

    func shutDown(_ completion: @escaping () -> Void) { completion() }

    // MARK: Central

    func scan() {
        let error = LinkError(.notFound, "\(name) has no peripheral", isTransient: true)
        central?.feed(isListening ? .found(Advertisement(peer: PeerID(name))) : .notFound(error))
    }

    func open(_ peer: PeerID) {
        isCentralWaiting = true
        connectIfPossible()
    }

    func send(_ bytes: [UInt8]) {
        guard let connected else { return }
        guard toPeripheral.pending.count < Self.maximumToPeripheral else { return close(connected) }
        toPeripheral.pending.append(bytes)
        drainLater(connected)
    }

    func close() {
        isCentralWaiting = false
        guard let connected else { return }
        disconnect()
        queue.async { self.peripheral?.feed(.closed(connected)) }
    }

    func setReading(fromPeripheral isReading: Bool) {
        toCentral.isReading = isReading
        if let connected { drainLater(connected) }
    }

    // MARK: Peripheral

    func send(_ bytes: [UInt8], to central: CentralID) {
        guard connected == central else { return }
        toCentral.pending.append(bytes)
        if toCentral.pending.count == Self.maximumToCentral { peripheral?.feed(.congested(central)) }
        drainLater(central)
    }

    func setReading(fromCentrals isReading: Bool) {
        toPeripheral.isReading = isReading
        if let connected { drainLater(connected) }
    }

    func close(_ id: CentralID) {
        guard connected == id else { return }
        disconnect()
        queue.async {
            self.central?.feed(
                .closed(LinkError(.disconnected, "the peer of \(self.name) disconnected", isTransient: true)))
        }
    }

    func advertise(_ visible: Bool) {
        isVisible = visible
        connectIfPossible()
    }

    // MARK: Connection

    private func connectIfPossible() {
        guard isListening, isVisible, isCentralWaiting, connected == nil else { return }
        isCentralWaiting = false
        number += 1
        let id = CentralID("\(number)")
        connected = id
        runLater(id) { transport in
            transport.peripheral?.feed(.opened(id))
            transport.central?.feed(.opened)
        }
    }

    private func disconnect() {
        connected = nil
        toCentral.pending = []
        toPeripheral.pending = []
    }

    /// Runs `body` in a later turn of the queue if this connection still exists.
    private func runLater(_ id: CentralID, _ body: @escaping @Sendable (MemoryTransport) -> Void) {
        queue.async { if self.connected == id { body(self) } }
    }

    private func drainLater(_ id: CentralID) {
        guard !isDraining, toPeripheral.canDeliver || toCentral.canDeliver else { return }
        isDraining = true
        queue.async {
            self.isDraining = false
            self.drain()
        }
    }

    private func drain() {
        guard let id = connected else { return }
        if toPeripheral.canDeliver {
            let bytes = toPeripheral.pending.removeFirst()
            peripheral?.received(bytes, from: id)
        }
        guard connected == id else { return }
        if toCentral.canDeliver {
            let wasFull = toCentral.pending.count >= Self.maximumToCentral
            let bytes = toCentral.pending.removeFirst()
            if wasFull, toCentral.pending.count < Self.maximumToCentral { peripheral?.feed(.drained(id)) }
            central?.received(bytes)
        }
        guard connected == id else { return }
        drainLater(id)
    }
}
