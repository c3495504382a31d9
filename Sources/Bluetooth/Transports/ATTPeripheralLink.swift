import Dispatch

/// A transport for a peripheral's PDUs. The link calls it on its queue, and it answers on that queue.
protocol PeripheralTransport: AnyObject {
    /// The link that uses and owns the transport.
    var peripheral: ATTPeripheralLink? { get set }
    /// The address of the adapter, if it is known.
    var address: BluetoothAddress? { get }
    /// Prepares the adapter, then calls `completion`, with an error if that failed.
    func prepare(_ completion: @escaping (LinkError?) -> Void)
    /// Accepts connections from now on.
    func listen(_ application: GATTApplication) throws(LinkError)
    func stopListening()
    func send(_ bytes: [UInt8], to central: CentralID)
    func close(_ central: CentralID)
    func advertise(_ visible: Bool)
    /// Pauses or resumes reading; while reading is paused, the centrals wait.
    func setReading(fromCentrals isReading: Bool)
    /// Releases all resources, then calls `completion`.
    func shutDown(_ completion: @escaping () -> Void)
}

extension PeripheralTransport {
    var address: BluetoothAddress? { nil }
    func prepare(_ completion: @escaping (LinkError?) -> Void) { completion(nil) }
    func shutDown(_ completion: @escaping () -> Void) { completion() }
}

/// A peripheral link whose transport carries ATT PDUs: runs the GATT server. `queue` protects all state.
package final class ATTPeripheralLink: PeripheralLink, @unchecked Sendable {
    package let name: String
    package let events: AsyncStream<PeripheralEvent>
    let queue: DispatchQueue
    let instruments: LinkInstruments
    private let transport: any PeripheralTransport
    private let eventQueue = EventQueue<PeripheralEvent>()
    private var server: GATTServer?
    private var faults: FaultyChannel
    private let timer: DeadlineTimer
    private var lastConnection = 0
    private var connections: [CentralID: Int] = [:]
    private var pendingInputs: [GATTServer.Input] = []
    private var isBusy = false

    init(name: String, queue: DispatchQueue, instruments: LinkInstruments, transport: any PeripheralTransport) {
        self.name = name
        self.queue = queue
        self.instruments = instruments
        self.transport = transport
        events = eventQueue.stream()
        faults = FaultyChannel(instruments.faults ?? FaultPlan(), seed: instruments.seed)
        timer = DeadlineTimer(queue: queue, clock: instruments.clock)
        transport.peripheral = self
        eventQueue.onSpaceAvailable { [weak self] in
            guard let self else { return }
            self.queue.async { self.transport.setReading(fromCentrals: true) }
        }
        timer.onFire = { [weak self] in self?.expire() }
    }

    deinit { eventQueue.finish() }

    package func perform(_ request: PeripheralRequest) {
        queue.async { self.feed(.request(request)) }
    }

    package func open(_ application: GATTApplication) async throws(LinkError) {
        let outcome: Result<Void, LinkError> = await withCheckedContinuation { continuation in
            queue.async {
                self.transport.prepare { failure in
                    continuation.resume(
                        returning: Result { () throws(LinkError) in
                            if let failure { throw failure }
                            try self.serve(application)
                        })
                }
            }
        }
        try outcome.get()
    }

    /// Serves the application and accepts connections. Throws if it is invalid or one is open.
    private func serve(_ application: GATTApplication) throws(LinkError) {
        guard server == nil else { throw LinkError(.invalidState, "this link has an open application already") }
        let server = try GATTServer(application)
        if let address = transport.address { instruments.identify?(address) }
        try transport.listen(application)
        self.server = server
    }

    package func close() async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.transport.stopListening()
                for central in self.connections.sorted(by: { $0.value < $1.value }).map(\.key) {
                    self.feed(.request(.disconnect(central)))
                }
                self.timer.cancel()
                self.eventQueue.finish()
                self.transport.shutDown { continuation.resume() }
            }
        }
    }

    package func waitUntilEventsAreProcessed() async { await eventQueue.waitUntilEventsAreProcessed() }

    package func ownAddress() async -> BluetoothAddress? {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: self.transport.address) }
        }
    }

    /// Reports an adapter event, which does not come from the GATT server.
    func report(_ event: PeripheralEvent) { eventQueue.yield(event) }

    func received(_ bytes: [UInt8], from central: CentralID) {
        guard let connection = connections[central] else { return }
        observe(connection, .pdu(.toPeripheral, bytes))
        pass(bytes, .toPeripheral, connection)
        setTimer()
    }

    func feed(_ input: GATTServer.Input) {
        dispatchPrecondition(condition: .onQueue(queue))
        pendingInputs.append(input)
        guard !isBusy else { return }
        isBusy = true
        while !pendingInputs.isEmpty { handle(pendingInputs.removeFirst()) }
        isBusy = false
        setTimer()
        if eventQueue.isFull { transport.setReading(fromCentrals: false) }
    }

    private func handle(_ input: GATTServer.Input) {
        switch input {
        case .opened(let central):
            lastConnection += 1
            connections[central] = lastConnection
            observe(lastConnection, .connected)
        case .closed(let central): ended(central)
        default: break
        }
        for effect in server?.handle(input, at: instruments.clock.now()) ?? [] { perform(effect) }
    }

    private func perform(_ effect: GATTServer.Effect) {
        switch effect {
        case .send(let central, let bytes):
            if let connection = connections[central] { pass(bytes, .toCentral, connection) }
        case .event(let event): eventQueue.yield(event)
        case .close(let central):
            ended(central)
            transport.close(central)
        case .advertise(let visible): transport.advertise(visible)
        case .log(let line): instruments.log(line)
        }
    }

    private func expire() {
        apply(faults.tick(at: instruments.clock.now()))
        feed(.tick)
    }

    private func setTimer() {
        timer.set([server?.nextDeadline, faults.nextDeadline].compactMap { $0 }.min())
    }

    private func ended(_ central: CentralID) {
        guard let connection = connections.removeValue(forKey: central) else { return }
        faults.closed(connection: connection)
        observe(connection, .disconnected)
    }

    private func pass(_ bytes: [UInt8], _ direction: PDUDirection, _ connection: Int) {
        apply(faults.transmit(bytes, direction, connection: connection, at: instruments.clock.now()))
    }

    private func apply(_ effects: [FaultyChannel.Effect]) {
        func central(_ connection: Int) -> CentralID? { connections.first { $0.value == connection }?.key }
        for effect in effects {
            switch effect {
            case .deliver(let connection, .toPeripheral, let bytes):
                if let central = central(connection) { feed(.received(central, bytes)) }
            case .deliver(let connection, .toCentral, let bytes):
                guard let central = central(connection) else { continue }
                observe(connection, .pdu(.toCentral, bytes))
                transport.send(bytes, to: central)
            case .disconnect(let connection):
                guard let central = central(connection) else { continue }
                transport.close(central)
                feed(.closed(central))
            case .log(let line): instruments.log(line)
            }
        }
    }

    private func observe(_ connection: Int, _ event: LinkObservation.Event) {
        instruments.observe?(LinkObservation(connection: connection, at: instruments.clock.now(), event: event))
    }
}
