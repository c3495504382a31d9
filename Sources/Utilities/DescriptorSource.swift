import Dispatch
import Glibc
import Synchronization

/// Says on a queue when a descriptor can be read from or written to: a socket, a pipe, whatever `poll(2)` can wait for.
///
/// Dispatch's own sources do the same, and lose the end of a connection: where the other side hangs up, libdispatch on
/// Linux tells a source twice and stops the process ("Source finalized twice"), or takes the descriptor out of its
/// epoll instance while a source is suspended, which then never hears of it (`src/event/event_epoll.c`,
/// `_dispatch_event_merge_hangup`, seen with Swift 6.3 in one of some ten thousand connections). So this has an epoll
/// instance of its own.
///
/// The handler runs on the queue, is told again until nothing is left to do, and gets no more than what `interest` asks
/// for. An end or an error of the descriptor counts as everything that is asked for: who reads or writes then finds it.
/// While nothing is asked for, nothing is said, and nothing is lost.
///
/// What it keeps is locked, and the handler runs on the queue only; that is what makes it safe to send.
package final class DescriptorSource: @unchecked Sendable {
    /// What can be done with a descriptor, or is waited for.
    package struct Interest: OptionSet, Hashable, Sendable {
        /// There are bytes, a message or a connection to take, or the end of them.
        package static let reading = Interest(rawValue: 1)
        /// The system takes bytes, or has ended a `connect(2)` that was under way, well or not.
        package static let writing = Interest(rawValue: 2)
        /// Bits of the two above.
        package let rawValue: UInt8

        /// - Parameter rawValue: bits of `reading` and `writing`.
        package init(rawValue: UInt8) { self.rawValue = rawValue }
    }

    private struct State {
        var interest: Interest = []
        /// The poller will tell.
        var isArmed = false
        /// It has told, and the handler has not ended yet.
        var isPending = false
        var isCancelled = false
    }

    let descriptor: Int32
    /// Never used for another one: what the poller tells too late finds nobody.
    let number: UInt64
    private let queue: DispatchQueue
    private let state = Mutex(State())
    private let handler: (Interest) -> Void
    private let poller: DescriptorPoller

    /// Begins with no interest.
    /// - Parameters:
    ///   - descriptor: non-blocking, and owned from here on: closed on the queue after `cancel`, or when this is
    ///     forgotten.
    ///   - queue: serial.
    ///   - handler: on the queue, for what is ready of the interest; never after `cancel` on the queue has returned.
    package convenience init(owning descriptor: Int32, queue: DispatchQueue, handler: @escaping (Interest) -> Void) {
        self.init(owning: descriptor, queue: queue, poller: .shared, handler: handler)
    }

    init(
        owning descriptor: Int32, queue: DispatchQueue, poller: DescriptorPoller, handler: @escaping (Interest) -> Void
    ) {
        (self.descriptor, self.queue, self.poller, self.handler) = (descriptor, queue, poller, handler)
        number = poller.number()
        poller.add(self)
    }

    deinit { cancel() }

    /// What is waited for. Setting it again to the same costs nothing; from within the handler it holds from its end
    /// on.
    package var interest: Interest {
        get { state.withLock { $0.interest } }
        set {
            state.withLock { state in
                guard newValue != state.interest, !state.isCancelled else { return }
                state.interest = newValue
                // What the handler is still to be told waits on the queue; it arms at its end.
                if !state.isPending { arm(&state) }
            }
        }
    }

    /// Whether it has ended for good.
    package var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Waits for nothing any more, and closes the descriptor in a later turn of the queue, so that a handler that runs
    /// just now still has it. From any thread.
    package func cancel() {
        let isFirst = state.withLock { state in
            defer { state.isCancelled = true }
            guard !state.isCancelled else { return false }
            // Also where nothing is armed: a copy of the descriptor may live on elsewhere, and keep it in.
            poller.disarm(descriptor)
            return true
        }
        guard isFirst else { return }
        poller.remove(number)
        queue.async { [descriptor] in Glibc.close(descriptor) }
    }

    /// The poller's word, on its thread. It says each word once, until it is asked again.
    func tell(_ ready: Interest) {
        state.withLock { state in
            state.isArmed = false
            state.isPending = true
        }
        queue.async { self.handle(ready) }
    }

    private func handle(_ ready: Interest) {
        let wanted: Interest = state.withLock { $0.isCancelled ? [] : ready.intersection($0.interest) }
        if !wanted.isEmpty { handler(wanted) }
        state.withLock { state in
            state.isPending = false
            if !state.isCancelled { arm(&state) }
        }
    }

    private func arm(_ state: inout State) {
        guard !state.interest.isEmpty else {
            if state.isArmed { poller.disarm(descriptor) }
            return state.isArmed = false
        }
        state.isArmed = poller.arm(self, state.interest)
        guard !state.isArmed else { return }
        // The kernel has no room for another one (EPOLL_CTL_ADD: ENOMEM, ENOSPC; or no epoll instance could be made):
        // asked by hand until it has.
        state.isPending = true
        queue.asyncAfter(deadline: .now() + Self.askEvery) { [weak self] in self?.ask() }
    }

    private static let askEvery = DispatchTimeInterval.milliseconds(20)

    private func ask() {
        let interest = state.withLock { $0.isCancelled ? [] : $0.interest }
        var query = pollfd(fd: descriptor, events: interest.pollEvents, revents: 0)
        handle(!interest.isEmpty && poll(&query, 1, 0) > 0 ? Interest(pollEvents: query.revents) : [])
    }
}

extension DescriptorSource.Interest {
    /// POLLIN and POLLOUT, which have epoll's values, too (epoll_ctl(2)).
    var pollEvents: Int16 { Int16(contains(.reading) ? POLLIN : 0) | Int16(contains(.writing) ? POLLOUT : 0) }

    /// An end or an error is for everybody.
    init(pollEvents: Int16) {
        self = []
        let ended = pollEvents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0
        if ended || pollEvents & Int16(POLLIN) != 0 { insert(.reading) }
        if ended || pollEvents & Int16(POLLOUT) != 0 { insert(.writing) }
    }
}
