import Synchronization

/// Events on their way to the one consumer of a link, counted. D-Bus cannot push back on a peer, so a link must be able
/// to see that its consumer has fallen behind, and hang up instead of filling the memory.
final class EventFlow<Event: Sendable>: Sendable {
    let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation
    private let waiting: Counter

    init() {
        let (stream, continuation) = AsyncStream.makeStream(of: Event.self)
        self.continuation = continuation
        let waiting = Counter()
        self.waiting = waiting
        let source = Source(stream.makeAsyncIterator())
        events = AsyncStream(
            unfolding: {
                let event = await source.next()
                if event != nil { waiting.add(-1) }
                return event
            }, onCancel: { continuation.finish() })
    }

    /// Events that wait to be taken.
    var count: Int { waiting.value }

    func yield(_ event: Event) {
        waiting.add(1)
        if case .terminated = continuation.yield(event) { waiting.add(-1) }
    }

    func finish() { continuation.finish() }
}

private final class Counter: Sendable {
    private let held = Mutex(0)
    var value: Int { held.withLock { $0 } }
    func add(_ count: Int) { held.withLock { $0 += count } }
}

/// One consumer by contract, so the iterator is never used twice at the same time.
private final class Source<Event: Sendable>: @unchecked Sendable {
    private var iterator: AsyncStream<Event>.AsyncIterator
    init(_ iterator: AsyncStream<Event>.AsyncIterator) { self.iterator = iterator }
    func next() async -> Event? { await iterator.next(isolation: nil) }
}
