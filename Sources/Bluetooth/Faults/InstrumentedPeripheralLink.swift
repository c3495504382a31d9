import Dispatch

/// Adds faults and an observer to any peripheral link, at GATT level. The observer sees the traffic after
/// the faults are applied. See `GATTFaultInjector` and `PeripheralTranscript`.
///
/// Links that carry ATT PDUs take `LinkInstruments` instead. `queue` protects all state.
package final class InstrumentedPeripheralLink: PeripheralLink, @unchecked Sendable {
    package let events: AsyncStream<PeripheralEvent>
    private let base: any PeripheralLink
    private let queue = DispatchQueue(label: "instruments")
    private let instruments: LinkInstruments
    private let eventQueue = EventQueue<PeripheralEvent>()
    /// Yields when the full event queue has room again.
    private let spaceSignals: AsyncStream<Void>
    private let timer: DeadlineTimer
    private var injector: GATTFaultInjector
    /// The writer of the observer's packets; `nil` without an observer, and before `open`.
    private var transcript: PeripheralTranscript?

    package init(_ base: any PeripheralLink, instruments: LinkInstruments) {
        self.base = base
        self.instruments = instruments
        events = eventQueue.stream()
        injector = GATTFaultInjector(instruments.faults ?? FaultPlan(), seed: instruments.seed)
        timer = DeadlineTimer(queue: queue, clock: instruments.clock)
        let (spaceSignals, sender) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.spaceSignals = spaceSignals
        eventQueue.onSpaceAvailable { sender.yield() }
        timer.onFire = { [weak self] in self?.expire() }
    }

    package var name: String { base.name }

    package func perform(_ request: PeripheralRequest) {
        queue.async { self.apply(self.injector.handle(request, at: self.instruments.clock.now())) }
    }

    package func open(_ application: GATTApplication) async throws(LinkError) {
        if instruments.observe != nil {
            let new = try PeripheralTranscript(application)
            queue.async { self.transcript = new }
        }
        try await base.open(application)
        if let address = await base.ownAddress() { instruments.identify?(address) }
        Task { await forwardEvents() }
    }

    package func ownAddress() async -> BluetoothAddress? { await base.ownAddress() }

    package func waitUntilEventsAreProcessed() async {
        await base.waitUntilEventsAreProcessed()
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
        await eventQueue.waitUntilEventsAreProcessed()
    }

    package func close() async {
        await base.close()
        queue.async { self.timer.cancel() }
        eventQueue.finish()
    }

    private func forwardEvents() async {
        var spaceSignals = spaceSignals.makeAsyncIterator()
        for await event in base.events {
            queue.async { self.received(event) }
            while eventQueue.isFull { await spaceSignals.next() }
        }
        queue.async { self.eventQueue.finish() }
    }

    private func received(_ event: PeripheralEvent) {
        let now = instruments.clock.now()
        observe(transcript?.record(event, at: now))
        apply(injector.handle(event, at: now))
    }

    private func observe(_ observations: [LinkObservation]?) {
        for observation in observations ?? [] { instruments.observe?(observation) }
    }

    private func expire() { apply(injector.tick(at: instruments.clock.now())) }

    private func apply(_ effects: [GATTFaultInjector.Effect]) {
        for effect in effects {
            switch effect {
            case .perform(let request):
                observe(transcript?.record(request, at: instruments.clock.now()))
                base.perform(request)
            case .yield(let event): eventQueue.yield(event)
            case .log(let line): instruments.log(line)
            }
        }
        timer.set(injector.nextDeadline)
    }
}
