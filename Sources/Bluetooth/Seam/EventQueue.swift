import Synchronization

/// Events on their way to the one consumer of a link, with a limit that pushes back: when it is reached the link stops
/// reading from the other end, and goes on when the consumer has caught up. Nothing is dropped, nothing grows without
/// end.
package final class EventQueue<Event: Sendable>: Sendable {
    private struct State {
        /// Events from `head` on are still to be taken.
        var buffer: [Event] = []
        var head = 0
        var waiter: CheckedContinuation<Event?, Never>?
        var isFinished = false
        var wasFull = false
        var onRoom: (@Sendable () -> Void)?
        /// Events that have come, and how often the consumer has asked for one: when it asks for the next it is done
        /// with the last.
        var (yielded, asked): (UInt64, UInt64) = (0, 0)
        /// Who waits for the consumer to be done with so many.
        var followers: [(events: UInt64, continuation: CheckedContinuation<Void, Never>)] = []

        mutating func takeFollowers() -> [CheckedContinuation<Void, Never>] {
            let done = followers.filter { isFinished || asked > $0.events }
            followers.removeAll { isFinished || asked > $0.events }
            return done.map(\.continuation)
        }
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

    /// No more events; those that wait are still delivered.
    package func finish() {
        let (waiter, followers) = state.withLock { state in
            state.isFinished = true
            defer { state.waiter = nil }
            return (state.waiter, state.takeFollowers())
        }
        waiter?.resume(returning: nil)
        followers.forEach { $0.resume() }
    }

    /// Returns when the consumer is done with all events of until now: at once where nobody consumes yet, or no more
    /// will come.
    package func caughtUp() async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                guard !state.isFinished, state.asked > 0, state.asked <= state.yielded else { return true }
                state.followers.append((state.yielded, continuation))
                return false
            }
            if isDone { continuation.resume() }
        }
    }

    /// The consumer's view. One consumer.
    package func stream() -> AsyncStream<Event> {
        AsyncStream(unfolding: { await self.next() }, onCancel: { self.finish() })
    }

    private func next() async -> Event? {
        await withCheckedContinuation { continuation in
            let (event, onRoom, followers): (Event??, (@Sendable () -> Void)?, [CheckedContinuation<Void, Never>]) =
                state.withLock { state in
                    state.asked += 1
                    let followers = state.takeFollowers()
                    guard state.head < state.buffer.count else {
                        // A second consumer would have to share: it is told that there is nothing.
                        if state.isFinished || state.waiter != nil { return (.some(nil), nil, followers) }
                        state.waiter = continuation
                        return (nil, nil, followers)
                    }
                    let event = state.buffer[state.head]
                    state.head += 1
                    if state.head == state.buffer.count || state.head >= limit {
                        state.buffer.removeFirst(state.head)
                        state.head = 0
                    }
                    let hasRoom = state.wasFull && state.buffer.count - state.head <= limit / 2
                    if hasRoom { state.wasFull = false }
                    return (.some(event), hasRoom ? state.onRoom : nil, followers)
                }
            if let event { continuation.resume(returning: event) }
            onRoom?()
            followers.forEach { $0.resume() }
        }
    }
}
