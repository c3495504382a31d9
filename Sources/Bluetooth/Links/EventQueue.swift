import Synchronization

/// A queue of events between a link and its one consumer, with back pressure. While the queue is full, the link stops
/// reading. No event is dropped.
package final class EventQueue<Event: Sendable>: Sendable {
    private struct State {
        /// The events. Those from index `head` on are pending.
        var buffer: [Event] = []
        var head = 0
        var waiter: CheckedContinuation<Event?, Never>?
        var isFinished = false
        var wasFull = false
        var onSpaceAvailable: (@Sendable () -> Void)?
        /// The number of events and of the consumer's requests so far. A request means that the previous event is
        /// processed.
        var (yielded, requested): (UInt64, UInt64) = (0, 0)
        /// Callers of `waitUntilEventsAreProcessed`, each with the number of events that it waits for.
        var catchUpWaiters: [(events: UInt64, continuation: CheckedContinuation<Void, Never>)] = []

        mutating func takeFinishedWaiters() -> [CheckedContinuation<Void, Never>] {
            let done = catchUpWaiters.filter { isFinished || requested > $0.events }
            catchUpWaiters.removeAll { isFinished || requested > $0.events }
            return done.map(\.continuation)
        }
    }

    private let state = Mutex(State())
    private let limit = 1024

    package init() {}

    /// Calls `handler` on the consumer's thread when the queue is half empty after it was full.
    func onSpaceAvailable(_ handler: @escaping @Sendable () -> Void) {
        state.withLock { $0.onSpaceAvailable = handler }
    }

    /// Whether the link must stop reading. The queue calls the `onSpaceAvailable` handler when it has space again.
    var isFull: Bool {
        state.withLock { state in
            let full = state.buffer.count - state.head >= limit
            state.wasFull = state.wasFull || full
            return full
        }
    }

    /// The number of pending events, for a link that cannot apply back pressure and must disconnect.
    package var count: Int { state.withLock { $0.buffer.count - $0.head } }

    package func yield(_ event: Event) {
        let waiter: CheckedContinuation<Event?, Never>? = state.withLock { state in
            guard !state.isFinished else { return nil }
            state.yielded += 1
            if let waiter = state.waiter {
                state.waiter = nil
                return waiter
            }
            state.buffer.append(event)
            return nil
        }
        waiter?.resume(returning: event)
    }

    package func finish() {
        let (waiter, catchUpWaiters) = state.withLock { state in
            state.isFinished = true
            defer { state.waiter = nil }
            return (state.waiter, state.takeFinishedWaiters())
        }
        waiter?.resume(returning: nil)
        catchUpWaiters.forEach { $0.resume() }
    }

    /// Returns when the consumer has processed all events so far, or at once if there is no consumer.
    package func waitUntilEventsAreProcessed() async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                guard !state.isFinished, state.requested > 0, state.requested <= state.yielded else { return true }
                state.catchUpWaiters.append((state.yielded, continuation))
                return false
            }
            if isDone { continuation.resume() }
        }
    }

    package func stream() -> AsyncStream<Event> {
        AsyncStream(unfolding: { await self.next() }, onCancel: { self.finish() })
    }

    private func next() async -> Event? {
        await withCheckedContinuation { continuation in
            let (event, handler, waiters): (Event??, (@Sendable () -> Void)?, [CheckedContinuation<Void, Never>]) =
                state.withLock { state in
                    state.requested += 1
                    let waiters = state.takeFinishedWaiters()
                    guard state.head < state.buffer.count else {
                        // A second consumer receives an empty stream.
                        if state.isFinished || state.waiter != nil { return (.some(nil), nil, waiters) }
                        state.waiter = continuation
                        return (nil, nil, waiters)
                    }
                    let event = state.buffer[state.head]
                    state.head += 1
                    if state.head == state.buffer.count || state.head >= limit {
                        state.buffer.removeFirst(state.head)
                        state.head = 0
                    }
                    let hasSpace = state.wasFull && state.buffer.count - state.head <= limit / 2
                    if hasSpace { state.wasFull = false }
                    return (.some(event), hasSpace ? state.onSpaceAvailable : nil, waiters)
                }
            if let event { continuation.resume(returning: event) }
            handler?()
            waiters.forEach { $0.resume() }
        }
    }
}
