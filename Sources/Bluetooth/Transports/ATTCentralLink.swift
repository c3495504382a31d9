import Dispatch

/// A transport for a central's PDUs. The link calls it on its queue, and it answers on that queue.
protocol CentralTransport: AnyObject {
    /// The link, which owns the transport.
    var central: ATTCentralLink? { get set }
    /// Searches for the peer. The transport answers with `found` or `notFound`.
    func scan()
    func stopScan()
    func open(_ peer: PeerID)
    func send(_ bytes: [UInt8])
    /// Ends the connection or the attempt, without an event.
    func close()
    /// Pauses or resumes reading; while reading is paused, the peer waits.
    func setReading(fromPeripheral isReading: Bool)
    /// Releases all resources, then calls `completion`.
    func shutDown(_ completion: @escaping () -> Void)
}

extension CentralTransport {
    func stopScan() {}
    func shutDown(_ completion: @escaping () -> Void) { completion() }
}

/// A central link whose transport carries ATT PDUs: runs the central's state machine. `queue` protects all state.
package final class ATTCentralLink: CentralLink, @unchecked Sendable {
    package let name: String
    package let hasRadio: Bool
    package let events: AsyncStream<CentralEvent>
    let queue: DispatchQueue
    private let instruments: LinkInstruments
    private let transport: any CentralTransport
    private let eventQueue = EventQueue<CentralEvent>()
    private var machine = CentralMachine()
    private var faults: FaultyChannel
    private let timer: DeadlineTimer
    private var connection = 0
    private var isOpen = false
    private var pendingInputs: [CentralMachine.Input] = []
    private var isBusy = false

    init(
        name: String, hasRadio: Bool, queue: DispatchQueue, instruments: LinkInstruments,
        transport: any CentralTransport
    ) {
        self.name = name
        self.hasRadio = hasRadio
        self.queue = queue
        self.instruments = instruments
        self.transport = transport
        events = eventQueue.stream()
        faults = FaultyChannel(instruments.faults ?? FaultPlan(), seed: instruments.seed)
        timer = DeadlineTimer(queue: queue, clock: instruments.clock)
        transport.central = self
        eventQueue.onSpaceAvailable { [weak self] in
            guard let self else { return }
            self.queue.async { self.transport.setReading(fromPeripheral: true) }
        }
        timer.onFire = { [weak self] in self?.expire() }
    }

    deinit { eventQueue.finish() }

    package func perform(_ request: CentralRequest) {
        queue.async { self.feed(.request(request)) }
    }

    package func close() async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.feed(.request(.disconnect))
                self.timer.cancel()
                self.eventQueue.finish()
                self.transport.shutDown { continuation.resume() }
            }
        }
    }

    func received(_ bytes: [UInt8]) {
        observe(.pdu(.toCentral, bytes))
        pass(bytes, .toCentral)
        setTimer()
    }

    func feed(_ input: CentralMachine.Input) {
        dispatchPrecondition(condition: .onQueue(queue))
        pendingInputs.append(input)
        guard !isBusy else { return }
        isBusy = true
        while !pendingInputs.isEmpty { handle(pendingInputs.removeFirst()) }
        isBusy = false
        setTimer()
        if eventQueue.isFull { transport.setReading(fromPeripheral: false) }
    }

    private func handle(_ input: CentralMachine.Input) {
        switch input {
        case .opened:
            connection += 1
            isOpen = true
            observe(.connected)
        case .closed, .openFailed: ended()
        case .request(.stopScan): transport.stopScan()
        default: break
        }
        for effect in machine.handle(input, at: instruments.clock.now()) { perform(effect) }
    }

    private func perform(_ effect: CentralMachine.Effect) {
        switch effect {
        case .scan: transport.scan()
        case .open(let peer): transport.open(peer)
        case .send(let bytes): pass(bytes, .toPeripheral)
        case .close:
            ended()
            transport.close()
        case .event(let event): eventQueue.yield(event)
        case .log(let line): instruments.log(line)
        }
    }

    private func expire() {
        apply(faults.tick(at: instruments.clock.now()))
        feed(.tick)
    }

    private func setTimer() {
        timer.set([machine.nextDeadline, faults.nextDeadline].compactMap { $0 }.min())
    }

    private func ended() {
        faults.closed(connection: connection)
        guard isOpen else { return }
        isOpen = false
        observe(.disconnected)
    }

    private func pass(_ bytes: [UInt8], _ direction: PDUDirection) {
        apply(faults.transmit(bytes, direction, connection: connection, at: instruments.clock.now()))
    }

    private func apply(_ effects: [FaultyChannel.Effect]) {
        for effect in effects {
            switch effect {
            case .deliver(connection, .toCentral, let bytes): feed(.received(bytes))
            case .deliver(connection, .toPeripheral, let bytes):
                observe(.pdu(.toPeripheral, bytes))
                transport.send(bytes)
            case .disconnect(connection):
                transport.close()
                feed(.closed(LinkError(.disconnected, "the connection was lost (injected fault)", isTransient: true)))
            case .deliver, .disconnect: break
            case .log(let line): instruments.log(line)
            }
        }
    }

    private func observe(_ event: LinkObservation.Event) {
        instruments.observe?(LinkObservation(connection: connection, at: instruments.clock.now(), event: event))
    }
}
