import Dispatch

/// A central and a peripheral in one process, with nothing between them but a queue: the same machines as on a socket,
/// and every PDU in the order in which it was sent.
package enum MemoryLink {
    /// Two ends of one cable. Faults and observation may be entered at either end.
    package static func pair(
        name: String = "memory", central: LinkInstruments = LinkInstruments(),
        peripheral: LinkInstruments = LinkInstruments()
    ) -> (central: MemoryCentralLink, peripheral: MemoryPeripheralLink) {
        let queue = DispatchQueue(label: name)
        let cable = MemoryCable(
            name: name, central: CentralDriver(queue: queue, instruments: central),
            peripheral: PeripheralDriver(queue: queue, instruments: peripheral))
        return (MemoryCentralLink(cable), MemoryPeripheralLink(cable))
    }
}

/// The central's end of a `MemoryLink`.
package final class MemoryCentralLink: CentralLink {
    /// The name that the link was given.
    package var name: String { cable.name }
    /// Always `false`: the one peer is at the other end.
    package var hasRadio: Bool { false }
    /// What happens to the central, for one consumer.
    package let events: AsyncStream<CentralEvent>
    private let cable: MemoryCable

    fileprivate init(_ cable: MemoryCable) {
        self.cable = cable
        events = cable.central.events.stream()
    }

    /// Who waits for events of a link that was forgotten waits no longer.
    deinit { cable.central.events.finish() }

    package func perform(_ request: CentralRequest) { cable.central.perform(request) }

    package func close() async { await cable.central.close() }
}

/// The peripheral's end of a `MemoryLink`.
package final class MemoryPeripheralLink: PeripheralLink {
    /// The name that the link was given.
    package var name: String { cable.name }
    /// What happens to the peripheral, for one consumer.
    package let events: AsyncStream<PeripheralEvent>
    private let cable: MemoryCable

    fileprivate init(_ cable: MemoryCable) {
        self.cable = cable
        events = cable.peripheral.events.stream()
    }

    /// Who waits for events of a link that was forgotten waits no longer.
    deinit { cable.peripheral.events.finish() }

    package func perform(_ request: PeripheralRequest) { cable.peripheral.perform(request) }

    package func open(_ application: GATTApplication) async throws(LinkError) {
        try await cable.peripheral.open(application) { [cable] () throws(LinkError) in cable.listen() }
    }

    package func close() async {
        await cable.peripheral.close { [cable] in cable.stopListening() }
    }
}

/// What lies between the two drivers. All state belongs to their common queue; that is what makes it safe to send.
private final class MemoryCable: CentralTransport, PeripheralTransport, @unchecked Sendable {
    /// When so many PDUs wait for a central that does not read, the peripheral hears that the way is full.
    private static let mostToCentral = 64
    /// When so many wait for a peripheral that does not read, the connection ends.
    private static let mostToPeripheral = 1024

    let name: String
    let central: CentralDriver
    let peripheral: PeripheralDriver
    private var isListening = false
    private var isVisible = true
    /// The central waits for a peripheral that is not to be seen yet.
    private var isWaiting = false
    private var number = 0
    private var connected: CentralID?
    private var toCentral = Way()
    private var toPeripheral = Way()

    private var isDraining = false

    private struct Way {
        var waiting: [[UInt8]] = []
        var isReading = true
        var isMoving: Bool { isReading && !waiting.isEmpty }
    }

    init(name: String, central: CentralDriver, peripheral: PeripheralDriver) {
        self.name = name
        self.central = central
        self.peripheral = peripheral
        central.transport = self
        peripheral.transport = self
    }

    func listen() {
        isListening = true
        connectIfPossible()
    }

    func stopListening() { isListening = false }

    // MARK: The central's side

    func look() {
        guard isListening else {
            return central.feed(
                .notFound(LinkError(.notFound, "nobody is at the other end of \(name)", isTransient: true)))
        }
        central.feed(.found(Advertisement(peer: PeerID(name))))
    }

    func open(_ peer: PeerID) {
        isWaiting = true
        connectIfPossible()
    }

    func send(_ bytes: [UInt8]) {
        guard let connected else { return }
        guard toPeripheral.waiting.count < Self.mostToPeripheral else { return close(connected) }
        toPeripheral.waiting.append(bytes)
        drainLater(connected)
    }

    /// The central hangs up, or gives up.
    func close() {
        isWaiting = false
        guard let connected else { return }
        disconnect()
        peripheral.queue.async { self.peripheral.feed(.closed(connected)) }
    }

    func setReading(fromPeripheral isReading: Bool) {
        toCentral.isReading = isReading
        if let connected { drainLater(connected) }
    }

    // MARK: The peripheral's side

    func send(_ bytes: [UInt8], to central: CentralID) {
        guard connected == central else { return }
        toCentral.waiting.append(bytes)
        if toCentral.waiting.count == Self.mostToCentral { peripheral.feed(.congested(central)) }
        drainLater(central)
    }

    func setReading(fromCentrals isReading: Bool) {
        toPeripheral.isReading = isReading
        if let connected { drainLater(connected) }
    }

    /// The peripheral hangs up.
    func close(_ id: CentralID) {
        guard connected == id else { return }
        disconnect()
        central.queue.async {
            self.central.feed(
                .closed(LinkError(.disconnected, "the other end of \(self.name) has hung up", isTransient: true)))
        }
    }

    func advertise(_ visible: Bool) {
        isVisible = visible
        connectIfPossible()
    }

    // MARK: Between them

    private func connectIfPossible() {
        guard isListening, isVisible, isWaiting, connected == nil else { return }
        isWaiting = false
        number += 1
        let id = CentralID("\(number)")
        connected = id
        later(id) { cable in
            cable.peripheral.feed(.opened(id))
            cable.central.feed(.opened)
        }
    }

    private func disconnect() {
        connected = nil
        toCentral.waiting = []
        toPeripheral.waiting = []
    }

    /// Does something in the queue's turn, if this connection is still there then.
    private func later(_ id: CentralID, _ body: @escaping @Sendable (MemoryCable) -> Void) {
        central.queue.async { if self.connected == id { body(self) } }
    }

    private func drainLater(_ id: CentralID) {
        guard !isDraining, toPeripheral.isMoving || toCentral.isMoving else { return }
        isDraining = true
        central.queue.async {
            self.isDraining = false
            self.drain()
        }
    }

    /// Carries one PDU each way.
    private func drain() {
        guard let id = connected else { return }
        if toPeripheral.isMoving { peripheral.received(toPeripheral.waiting.removeFirst(), from: id) }
        guard connected == id else { return }
        if toCentral.isMoving {
            let wasFull = toCentral.waiting.count >= Self.mostToCentral
            let bytes = toCentral.waiting.removeFirst()
            if wasFull, toCentral.waiting.count < Self.mostToCentral { peripheral.feed(.drained(id)) }
            central.received(bytes)
        }
        guard connected == id else { return }
        drainLater(id)
    }
}
