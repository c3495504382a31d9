import Dispatch

/// One timer of a queue, set to a machine's next deadline. Sleeps while there is none.
///
/// All state belongs to the queue; that is what makes it safe to send.
package final class DeadlineTimer: @unchecked Sendable {
    package var onFire: (@Sendable () -> Void)?
    private let source: any DispatchSourceTimer
    private let clock: MonotonicClock
    private var deadline: MonotonicInstant?

    package init(queue: DispatchQueue, clock: MonotonicClock) {
        self.clock = clock
        source = DispatchSource.makeTimerSource(queue: queue)
        source.setEventHandler { [weak self] in
            self?.deadline = nil
            self?.onFire?()
        }
        source.schedule(deadline: .distantFuture)
        source.activate()
    }

    deinit { source.cancel() }

    package func set(_ new: MonotonicInstant?) {
        guard new != deadline else { return }
        deadline = new
        guard let new else { return source.schedule(deadline: .distantFuture) }
        // Never before its time: a machine asked too early would find nothing to do.
        let wait = max(0, clock.now().duration(to: new) / .nanoseconds(1))
        source.schedule(deadline: .now() + .nanoseconds(Int(wait.rounded(.up))))
    }

    package func cancel() { source.cancel() }
}
