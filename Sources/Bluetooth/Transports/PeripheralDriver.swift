import Dispatch

/// A transport for a peripheral's PDUs. The driver calls it on its queue, and it answers on that queue.
protocol PeripheralTransport: AnyObject {
    func send(_ bytes: [UInt8], to central: CentralID)
    func close(_ central: CentralID)
    func advertise(_ visible: Bool)
    /// Pauses or resumes reading; while reading is paused, the centrals wait.
    func setReading(fromCentrals isReading: Bool)
}

/// Runs the GATT server on a queue, between a transport and the consumer of its events. `queue` protects all state.
final class PeripheralDriver: @unchecked Sendable {
    let queue: DispatchQueue
    let instruments: LinkInstruments
    weak var transport: (any PeripheralTransport)?
    let events = EventQueue<PeripheralEvent>()
    private var server: GATTServer?
    private var faults: FaultyChannel?
    private let timer: DeadlineTimer
    private var lastConnection = 0
    private var connections: [CentralID: Int] = [:]
    private var inbox: [GATTServer.Input] = []
    private var isBusy = false

    init(queue: DispatchQueue, instruments: LinkInstruments) {
        self.queue = queue
        self.instruments = instruments
        faults = instruments.faults.map { FaultyChannel($0, seed: instruments.seed) }
        timer = DeadlineTimer(queue: queue, clock: instruments.clock)
        events.onRoom { [weak self] in
            guard let self else { return }
            self.queue.async { self.transport?.setReading(fromCentrals: true) }
        }
        timer.onFire = { [weak self] in self?.expire() }
    }

    func perform(_ request: PeripheralRequest) {
        queue.async { self.feed(.request(request)) }
    }

    /// Serves the application and accepts connections with `listen`. Throws if it is invalid or one is open.
    func open(_ application: GATTApplication, listen: @escaping @Sendable () throws(LinkError) -> Void)
        async throws(LinkError)
    {
        let outcome: Result<Void, LinkError> = await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(
                    returning: Result { () throws(LinkError) in
                        guard self.server == nil else {
                            throw LinkError(.outOfStep, "this link has an open application already")
                        }
                        let server = try GATTServer(application)
                        try listen()
                        self.server = server
                    })
            }
        }
        try outcome.get()
    }

    func close(stopListening: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            queue.async {
                stopListening()
                for central in self.connections.sorted(by: { $0.value < $1.value }).map(\.key) {
                    self.feed(.request(.disconnect(central)))
                }
                self.timer.cancel()
                self.events.finish()
                continuation.resume()
            }
        }
    }

    func received(_ bytes: [UInt8], from central: CentralID) {
        guard let connection = connections[central] else { return }
        observe(connection, .pdu(.toPeripheral, bytes))
        pass(bytes, .toPeripheral, connection, central)
    }

    func feed(_ input: GATTServer.Input) {
        dispatchPrecondition(condition: .onQueue(queue))
        inbox.append(input)
        guard !isBusy else { return }
        isBusy = true
        while !inbox.isEmpty { handle(inbox.removeFirst()) }
        isBusy = false
        setTimer()
        if events.isFull { transport?.setReading(fromCentrals: false) }
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
            if let connection = connections[central] { pass(bytes, .toCentral, connection, central) }
        case .event(let event): events.yield(event)
        case .close(let central):
            ended(central)
            transport?.close(central)
        case .advertise(let visible): transport?.advertise(visible)
        case .log(let line): instruments.log(line)
        }
    }

    private func expire() {
        if let effects = faults?.tick(at: instruments.clock.now()) { apply(effects) }
        feed(.tick)
    }

    private func setTimer() {
        timer.set([server?.nextDeadline, faults?.nextDeadline].compactMap { $0 }.min())
    }

    private func ended(_ central: CentralID) {
        guard let connection = connections.removeValue(forKey: central) else { return }
        faults?.closed(connection: connection)
        observe(connection, .disconnected)
    }

    private func pass(_ bytes: [UInt8], _ direction: PDUDirection, _ connection: Int, _ central: CentralID) {
        guard let effects = faults?.pass(bytes, direction, connection: connection, at: instruments.clock.now()) else {
            return deliver(bytes, direction, connection, central)
        }
        apply(effects)
        setTimer()
    }

    private func apply(_ effects: [FaultyChannel.Effect]) {
        func central(_ connection: Int) -> CentralID? { connections.first { $0.value == connection }?.key }
        for effect in effects {
            switch effect {
            case .deliver(let connection, let direction, let bytes):
                if let central = central(connection) { deliver(bytes, direction, connection, central) }
            case .disconnect(let connection):
                guard let central = central(connection) else { continue }
                transport?.close(central)
                feed(.closed(central))
            case .log(let line): instruments.log(line)
            }
        }
    }

    private func deliver(_ bytes: [UInt8], _ direction: PDUDirection, _ connection: Int, _ central: CentralID) {
        switch direction {
        case .toPeripheral: feed(.received(central, bytes))
        case .toCentral:
            observe(connection, .pdu(.toCentral, bytes))
            transport?.send(bytes, to: central)
        }
    }

    private func observe(_ connection: Int, _ event: LinkObservation.Event) {
        instruments.observe?(LinkObservation(connection: connection, at: instruments.clock.now(), event: event))
    }
}
