import Synchronization
import TrackerCore

/// Tells what is due for as long as a service runs: when something next changes by the mere passing of time, at least
/// every 60 s (tracker law B8), and at once when somebody says that something was written.
package actor ReminderLoop {
    private let sinks: [any NotificationSink]
    private let desk: @Sendable () async -> TrackerDesk
    private let trouble: @Sendable (String) -> Void
    private let looked: @Sendable (TrackerDesk) async -> Void
    private let sleep: @Sendable (Duration) async -> Void
    private var pause: Task<Void, Never>?
    private var isPoked = false
    private var lastTrouble: String?
    private nonisolated let reach = Mutex(false)

    /// - Parameters:
    ///   - desk: a desk of the moment.
    ///   - trouble: takes what goes wrong, once until it changes.
    ///   - looked: what else is to be done each time that somebody has looked at the day.
    ///   - sleep: ends early when its task is cancelled.
    package init(
        sinks: [any NotificationSink], desk: @escaping @Sendable () async -> TrackerDesk,
        trouble: @escaping @Sendable (String) -> Void,
        looked: @escaping @Sendable (TrackerDesk) async -> Void = { _ in },
        sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    ) {
        self.sinks = sinks
        self.desk = desk
        self.trouble = trouble
        self.looked = looked
        self.sleep = sleep
    }

    /// Whether a notification would reach somebody, as the last look found: `notifications` in the state.
    package nonisolated var reachesSomebody: Bool { reach.withLock { $0 } }

    /// Goes on until its task is cancelled; without a sink there is nothing to do.
    package func run() async {
        guard !sinks.isEmpty else { return }
        while !Task.isCancelled {
            isPoked = false
            let length = await look()
            guard !isPoked else { continue }
            let sleep = sleep
            let pause = Task { await sleep(length) }
            self.pause = pause
            await withTaskCancellationHandler {
                await pause.value
            } onCancel: {
                pause.cancel()
            }
        }
    }

    /// Something was written: looks again at once.
    package func poke() {
        isPoked = true
        pause?.cancel()
    }

    func currentDesk() async -> TrackerDesk { await desk() }

    /// - Returns: how long nothing will change.
    private func look() async -> Duration {
        let desk = await desk()
        do {
            let report = try await desk.tell(sinks)
            reach.withLock { $0 = report.state.hasNotificationServer }
            lastTrouble = nil
            await looked(desk)
            return desk.pause(until: report.nextChange)
        } catch {
            if lastTrouble != "\(error)" { trouble("\(error)") }
            lastTrouble = "\(error)"
            return DayFollower.longestPause
        }
    }
}
