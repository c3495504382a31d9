import Dispatch

/// A transport for a central's PDUs. The driver calls it on its queue, and it answers on that queue.
protocol CentralTransport: AnyObject {
    /// Searches for the peer. The transport answers with `found` or `notFound`.
    func scan()
    func open(_ peer: PeerID)
    func send(_ bytes: [UInt8])
    /// Ends the connection or the attempt, without an event.
    func close()
    /// Pauses or resumes reading; while reading is paused, the peer waits.
    func setReading(fromPeripheral isReading: Bool)
}

/// Runs the central's state machine on a queue between a transport and the event consumer. `queue` protects all state.
final class CentralDriver: @unchecked Sendable {
    let queue: DispatchQueue
    let instruments: LinkInstruments
    weak var transport: (any CentralTransport)?
    let events = EventQueue<CentralEvent>()
    private var machine = CentralMachine()
    private var faults: FaultyChannel?
    private let timer: DeadlineTimer
    private var connection = 0
    private var isOpen = false
    private var inbox: [CentralMachine.Input] = []
    private var isBusy = false

    init(queue: DispatchQueue, instruments: LinkInstruments) {
        self.queue = queue
        self.instruments = instruments
        faults = instruments.faults.map { FaultyChannel($0, seed: instruments.seed) }
        timer = DeadlineTimer(queue: queue, clock: instruments.clock)
        events.onRoom { [weak self] in
            guard let self else { return }
            self.queue.async { self.transport?.setReading(fromPeripheral: true) }
        }
        timer.onFire = { [weak self] in self?.expire() }
    }

    func perform(_ request: CentralRequest) {
        queue.async { self.feed(.request(request)) }
    }

    func close() async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.feed(.request(.disconnect))
                self.timer.cancel()
                self.events.finish()
                continuation.resume()
            }
        }
    }

    func received(_ bytes: [UInt8]) {
        observe(.pdu(.toCentral, bytes))
        pass(bytes, .toCentral)
    }

    func feed(_ input: CentralMachine.Input) {
        dispatchPrecondition(condition: .onQueue(queue))
        inbox.append(input)
        guard !isBusy else { return }
        isBusy = true
        while !inbox.isEmpty { handle(inbox.removeFirst()) }
        isBusy = false
        timer.set([machine.nextDeadline, faults?.nextDeadline].compactMap { $0 }.min())
        if events.isFull { transport?.setReading(fromPeripheral: false) }
    }

    private func handle(_ input: CentralMachine.Input) {
        switch input {
        case .opened:
            connection += 1
            isOpen = true
            observe(.connected)
        case .closed, .openFailed:
            ended()
        default: break
        }
        for effect in machine.handle(input, at: instruments.clock.now()) { perform(effect) }
    }

    private func perform(_ effect: CentralMachine.Effect) {
        switch effect {
        case .scan: transport?.scan()
        case .open(let peer): transport?.open(peer)
        case .send(let bytes): pass(bytes, .toPeripheral)
        case .close:
            ended()
            transport?.close()
        case .event(let event): events.yield(event)
        case .log(let line): instruments.log(line)
        }
    }

    private func expire() {
        let now = instruments.clock.now()
        if let effects = faults?.tick(at: now) { apply(effects) }
        feed(.tick)
    }

    private func ended() {
        faults?.closed(connection: connection)
        guard isOpen else { return }
        isOpen = false
        observe(.disconnected)
    }

    private func pass(_ bytes: [UInt8], _ direction: PDUDirection) {
        guard let effects = faults?.pass(bytes, direction, connection: connection, at: instruments.clock.now()) else {
            return deliver(bytes, direction)
        }
        apply(effects)
        timer.set([machine.nextDeadline, faults?.nextDeadline].compactMap { $0 }.min())
    }

    private func apply(_ effects: [FaultyChannel.Effect]) {
        for effect in effects {
            switch effect {
            case .deliver(connection, let direction, let bytes): deliver(bytes, direction)
            case .disconnect(connection):
                transport?.close()
                feed(.closed(LinkError(.disconnected, "the connection was lost (injected fault)", isTransient: true)))
            case .deliver, .disconnect: break
            case .log(let line): instruments.log(line)
            }
        }
    }

    private func deliver(_ bytes: [UInt8], _ direction: PDUDirection) {
        switch direction {
        case .toCentral: feed(.received(bytes))
        case .toPeripheral:
            observe(.pdu(.toPeripheral, bytes))
            transport?.send(bytes)
        }
    }

    private func observe(_ event: LinkObservation.Event) {
        instruments.observe?(LinkObservation(connection: connection, at: instruments.clock.now(), event: event))
    }
}
