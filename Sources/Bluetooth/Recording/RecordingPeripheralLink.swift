import Synchronization

/// A recording wrapper around any peripheral link (see `GATTTranscript`). Links that carry ATT PDUs take an observer in
/// their `LinkInstruments` instead.
package final class RecordingPeripheralLink: PeripheralLink {
    package let events: AsyncStream<PeripheralEvent>
    private let base: any PeripheralLink
    private let transcript: LinkTranscript
    private let identify: (@Sendable (BluetoothAddress) -> Void)?

    /// - Parameter instruments: only the clock and the two observers are used.
    package init(_ base: any PeripheralLink, instruments: LinkInstruments) {
        self.base = base
        identify = instruments.identify
        let transcript = LinkTranscript(instruments)
        self.transcript = transcript
        let source = PulledEvents(base.events)
        events = AsyncStream {
            let event = await source.next()
            if let event { transcript.record { $0.note(event, at: $1) } }
            return event
        }
    }

    package var name: String { base.name }

    package func perform(_ request: PeripheralRequest) {
        transcript.record { $0.note(request, at: $1) }
        base.perform(request)
    }

    package func open(_ application: GATTApplication) async throws(LinkError) {
        transcript.start(try GATTTranscript(application))
        try await base.open(application)
        if let address = await base.ownAddress() { identify?(address) }
    }

    package func ownAddress() async -> BluetoothAddress? { await base.ownAddress() }

    package func caughtUp() async { await base.caughtUp() }

    package func close() async { await base.close() }
}

/// The transcript and its observer, serialised to keep the order.
private final class LinkTranscript: Sendable {
    private let instruments: LinkInstruments
    private let transcript = Mutex<GATTTranscript?>(nil)

    init(_ instruments: LinkInstruments) {
        self.instruments = instruments
    }

    func start(_ new: GATTTranscript) {
        transcript.withLock { $0 = new }
    }

    func record(_ body: (inout GATTTranscript, MonotonicInstant) -> [LinkObservation]) {
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
