package import Dispatch

/// One timer for the next deadline of a state machine. `queue` protects all state.
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
        // Do not fire early, because the state machine would have nothing to do yet.
        let wait = max(0, clock.now().duration(to: new) / .nanoseconds(1))
        source.schedule(deadline: .now() + .nanoseconds(Int(wait.rounded(.up))))
    }

    package func cancel() { source.cancel() }
}
