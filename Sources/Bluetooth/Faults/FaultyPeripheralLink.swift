import Dispatch

/// Injects the faults of a plan into any peripheral link, at GATT level (see `GATTFaultInjector`).
///
/// Links that carry ATT PDUs take a plan in their `LinkInstruments` instead. `queue` protects all state.
package final class FaultyPeripheralLink: PeripheralLink, @unchecked Sendable {
    package let events: AsyncStream<PeripheralEvent>
    private let base: any PeripheralLink
    private let queue = DispatchQueue(label: "faults")
    private let instruments: LinkInstruments
    private let eventQueue = EventQueue<PeripheralEvent>()
    /// Yields when the full event queue has room again.
    private let spaceSignals: AsyncStream<Void>
    private let timer: DeadlineTimer
    private var injector: GATTFaultInjector

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
        try await base.open(application)
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
            queue.async { self.apply(self.injector.handle(event, at: self.instruments.clock.now())) }
            while eventQueue.isFull { await spaceSignals.next() }
        }
        queue.async { self.eventQueue.finish() }
    }

    private func expire() { apply(injector.tick(at: instruments.clock.now())) }

    private func apply(_ effects: [GATTFaultInjector.Effect]) {
        for effect in effects {
            switch effect {
            case .perform(let request): base.perform(request)
            case .yield(let event): eventQueue.yield(event)
            case .log(let line): instruments.log(line)
            }
        }
        timer.set(injector.nextDeadline)
    }
}
