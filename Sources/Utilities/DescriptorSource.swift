package import Dispatch
import Glibc
import Synchronization

/// Calls a handler on a queue when a descriptor is ready to read or write. The descriptor can be a socket, a pipe, or
/// another one that poll(2) supports. The handler is called again while a condition of `interest` is true.
///
/// A hang-up or error counts as every condition of `interest`, so that the next read or write returns it. With an empty
/// interest, events are not reported, and not lost. A lock protects the state.
///
/// It replaces `DispatchSource`, which can lose the end of a connection on Linux. After a hang-up, libdispatch aborts
/// ("Source finalized twice") or removes a suspended source from epoll (`_dispatch_event_merge_hangup` in
/// `src/event/event_epoll.c`; Swift 6.3, about one of 10,000 connections).
package final class DescriptorSource: @unchecked Sendable {
    package struct Interest: OptionSet, Hashable, Sendable {
        /// A read or accept returns at once: bytes, a connection, or the end of the stream.
        package static let reading = Interest(rawValue: 1)
        /// A write returns at once, or connect(2) has ended.
        package static let writing = Interest(rawValue: 2)
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }
    }

    private struct State {
        var interest: Interest = []
        /// The poller will notify the source.
        var isArmed = false
        /// The handler has been scheduled and has not returned.
        var isPending = false
        var isCancelled = false
    }

    let descriptor: Int32
    /// A unique number, so that a late notification cannot reach a source that reuses the descriptor.
    let number: UInt64
    private let queue: DispatchQueue
    private let state = Mutex(State())
    private let handler: (Interest) -> Void
    private let poller: DescriptorPoller

    /// Starts with an empty interest.
    /// - Parameters:
    ///   - descriptor: a non-blocking descriptor. The source closes it on the queue after `cancel`, or when released.
    ///   - queue: a serial queue.
    ///   - handler: called on the queue with the ready conditions; not called after `cancel` has returned on the queue.
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

    /// The conditions to wait for. A change within the handler takes effect when the handler returns.
    package var interest: Interest {
        get { state.withLock { $0.interest } }
        set {
            state.withLock { state in
                guard newValue != state.interest, !state.isCancelled else { return }
                state.interest = newValue
                // A pending handler arms the source when it returns.
                if !state.isPending { arm(&state) }
            }
        }
    }

    package var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Stops waiting, and schedules the close of the descriptor on the queue. It can be called on any thread.
    package func cancel() {
        let isFirst = state.withLock { state in
            defer { state.isCancelled = true }
            guard !state.isCancelled else { return false }
            // Disarm an unarmed source, too: if its descriptor was duplicated, epoll keeps it after the close.
            poller.disarm(descriptor)
            return true
        }
        guard isFirst else { return }
        poller.remove(number)
        queue.async { [descriptor] in Glibc.close(descriptor) }
    }

    /// Notifies the source. Called on the poller's thread, once per `arm`.
    func notify(_ ready: Interest) {
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
        // If the kernel cannot register the descriptor (EPOLL_CTL_ADD: ENOMEM, ENOSPC), poll it from the queue.
        state.isPending = true
        queue.asyncAfter(deadline: .now() + Self.fallbackInterval) { [weak self] in self?.pollDescriptor() }
    }

    private static let fallbackInterval = DispatchTimeInterval.milliseconds(20)

    private func pollDescriptor() {
        let interest = state.withLock { $0.isCancelled ? [] : $0.interest }
        var query = pollfd(fd: descriptor, events: interest.pollEvents, revents: 0)
        handle(!interest.isEmpty && poll(&query, 1, 0) > 0 ? Interest(pollEvents: query.revents) : [])
    }
}

extension DescriptorSource.Interest {
    /// POLLIN and POLLOUT, which have the same values in epoll_ctl(2).
    var pollEvents: Int16 { Int16(contains(.reading) ? POLLIN : 0) | Int16(contains(.writing) ? POLLOUT : 0) }

    /// A hang-up or error counts as both conditions.
    init(pollEvents: Int16) {
        self = []
        let ended = pollEvents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0
        if ended || pollEvents & Int16(POLLIN) != 0 { insert(.reading) }
        if ended || pollEvents & Int16(POLLOUT) != 0 { insert(.writing) }
    }
}
