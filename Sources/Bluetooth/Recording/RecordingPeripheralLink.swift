import Synchronization

/// A recording wrapper around any peripheral link (see `GATTTranscript`). Links that carry ATT PDUs take an observer in
/// their `LinkInstruments` instead.
package final class RecordingPeripheralLink: PeripheralLink {
    private let base: any PeripheralLink
    private let source: PulledEvents
    private let instruments: LinkInstruments
    /// `nil` until the application is known. The lock keeps the order of the observations.
    private let transcript = Mutex<GATTTranscript?>(nil)

    /// - Parameter instruments: only the clock and the two observers are used.
    package init(_ base: any PeripheralLink, instruments: LinkInstruments) {
        self.base = base
        self.instruments = instruments
        source = PulledEvents(base.events)
    }

    package var name: String { base.name }

    package var events: AsyncStream<PeripheralEvent> {
        AsyncStream { [source, weak self] in
            let event = await source.next()
            if let event { self?.record { $0.record(event, at: $1) } }
            return event
        }
    }

    package func perform(_ request: PeripheralRequest) {
        record { $0.record(request, at: $1) }
        base.perform(request)
    }

    package func open(_ application: GATTApplication) async throws(LinkError) {
        let new = try GATTTranscript(application)
        transcript.withLock { $0 = new }
        try await base.open(application)
        if let address = await base.ownAddress() { instruments.identify?(address) }
    }

    package func ownAddress() async -> BluetoothAddress? { await base.ownAddress() }

    package func waitUntilEventsAreProcessed() async { await base.waitUntilEventsAreProcessed() }

    package func close() async { await base.close() }

    private func record(_ body: (inout GATTTranscript, MonotonicInstant) -> [LinkObservation]) {
        transcript.withLock { transcript in
            guard var current = transcript else { return }
            transcript = nil
            for observation in body(&current, instruments.clock.now()) { instruments.observe?(observation) }
            transcript = current
        }
    }
}

/// The events of a stream, one at a time, for one consumer.
private actor PulledEvents {
    private var iterator: AsyncStream<PeripheralEvent>.AsyncIterator

    init(_ stream: AsyncStream<PeripheralEvent>) {
        iterator = stream.makeAsyncIterator()
    }

    func next() async -> PeripheralEvent? {
        var current = iterator
        let event = await current.next(isolation: self)
        iterator = current
        return event
    }
}
