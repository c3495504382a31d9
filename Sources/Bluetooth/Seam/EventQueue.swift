import Synchronization

/// Events on their way to the one consumer of a link, with a limit that pushes back: when it is reached the link stops
/// reading from the other end, and goes on when the consumer has caught up. Nothing is dropped, nothing grows without end.
package final class EventQueue<Event: Sendable>: Sendable {
    private struct State {
        /// Events from `head` on are still to be taken.
        var buffer: [Event] = []
        var head = 0
        var waiter: CheckedContinuation<Event?, Never>?
        var isFinished = false
        var wasFull = false
        var onRoom: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let limit: Int

    package init(limit: Int = 1024) {
        self.limit = limit
    }

    /// Called, on the consumer's thread, when half of `limit` is free again after `isFull` was true.
    func onRoom(_ call: @escaping @Sendable () -> Void) {
        state.withLock { $0.onRoom = call }
    }

    /// Whether the other end should wait. Once true, `onRoom` will follow.
    var isFull: Bool {
        state.withLock { state in
            let full = state.buffer.count - state.head >= limit
            state.wasFull = state.wasFull || full
            return full
        }
    }

    /// Events that wait to be taken: for a link that cannot push back and has to hang up instead.
    package var count: Int { state.withLock { $0.buffer.count - $0.head } }

    package func yield(_ event: Event) {
        let waiter: CheckedContinuation<Event?, Never>? = state.withLock { state in
            guard !state.isFinished else { return nil }
            if let waiter = state.waiter {
                state.waiter = nil
                return waiter
            }
            state.buffer.append(event)
            return nil
        }
        waiter?.resume(returning: event)
    }

    /// No more events; those that wait are still delivered.
    package func finish() {
        let waiter = state.withLock { state in
            state.isFinished = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: nil)
    }

    /// The consumer's view. One consumer.
    package func stream() -> AsyncStream<Event> {
        AsyncStream(unfolding: { await self.next() }, onCancel: { self.finish() })
    }

    private func next() async -> Event? {
        await withCheckedContinuation { continuation in
            let (event, onRoom): (Event??, (@Sendable () -> Void)?) = state.withLock { state in
                guard state.head < state.buffer.count else {
                    // A second consumer would have to share: it is told that there is nothing.
                    if state.isFinished || state.waiter != nil { return (.some(nil), nil) }
                    state.waiter = continuation
                    return (nil, nil)
                }
                let event = state.buffer[state.head]
                state.head += 1
                if state.head == state.buffer.count || state.head >= limit {
                    state.buffer.removeFirst(state.head)
                    state.head = 0
                }
                let hasRoom = state.wasFull && state.buffer.count - state.head <= limit / 2
                if hasRoom { state.wasFull = false }
                return (.some(event), hasRoom ? state.onRoom : nil)
            }
            if let event { continuation.resume(returning: event) }
            onRoom?()
        }
    }
}
