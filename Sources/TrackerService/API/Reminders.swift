package import Store
import Synchronization
package import TrackerCore

extension TrackerAPI {
    /// Evaluates the day, delivers due notifications to all channels, and records those that at least one channel
    /// accepted. A notification that every channel rejected is not counted and is delivered again (K-B15). A claim in
    /// the store ensures that only one process delivers a decision; it expires if that process ends (tracker spec B7).
    ///
    /// Each channel first delivers the notifications that it missed, so all channels show them in the same order.
    @discardableResult
    package func deliver(_ sinks: [any NotificationSink]) async throws -> CheckReport {
        let canShow = await Self.call(sinks) { await $0.canShow() }
        let available = zip(sinks, canShow).filter { $1 == true }.map(\.0)
        var deliveries = [try await send(to: available, of: sinks)]
        // The unfinished delivery of another process comes before new decisions.
        if deliveries[0].isAbandoned { deliveries.append(try await send(to: available, of: sinks)) }
        afterCommit()
        return CheckReport(deliveries)
    }

    /// Marks all notifications as read (`unread` in the state).
    package func markNotificationsRead() throws { try change { try store.markNotificationsRead(context) } }

    /// The age of a claim in seconds from which it is renewed before a delivery. A claim is valid for much longer.
    private static let claimRenewalSeconds: Double = 10

    /// Delivers the due notifications, and records each. Returns those that this process delivered.
    private func send(to available: [any NotificationSink], of sinks: [any NotificationSink]) async throws -> Delivery {
        await Self.call(available) { await $0.catchUp() }
        let start = ContinuousClock.now
        var delivery = try store.beginDelivery(context, canNotify: !available.isEmpty)
        for id in delivery.evaluation.idsToClose { await Self.call(available) { await $0.close(id: id) } }
        let groups = delivery.groups
        delivery.groups = []
        for var group in groups {
            let elapsed = start.duration(to: .now) / .seconds(1)
            guard
                try available.isEmpty || elapsed < Self.claimRenewalSeconds
                    || store.renewClaims(group, of: delivery, at: context.now.advanced(seconds: elapsed))
            else { continue }
            let isShown = await Self.call(available) { [shown = group.shown] in await $0.deliver(shown) }
            group.acceptedBy = zip(available, isShown).filter { $1 == true }.map(\.0.name)
            try store.finish(group, of: delivery, acceptedBy: group.acceptedBy, context)
            await Self.call(sinks) { await $0.notificationStored() }
            delivery.groups.append(group)
        }
        return delivery
    }

    /// Calls all channels at the same time. A result is `nil` after the channel's time limit.
    @discardableResult
    private static func call<Value: Sendable>(
        _ sinks: [any NotificationSink], _ body: @escaping @Sendable (any NotificationSink) async -> Value
    ) async -> [Value?] {
        await withTaskGroup(of: (Int, Value?).self) { group in
            for (index, sink) in sinks.enumerated() {
                group.addTask { (index, await result(within: sink.timeLimit) { await body(sink) }) }
            }
            return await group.reduce(into: Array(repeating: nil, count: sinks.count)) { $0[$1.0] = $1.1 }
        }
    }
}

extension CheckReport {
    /// - Parameter deliveries: an unfinished one of an ended process, if there is one, and a new one.
    fileprivate init(_ deliveries: [Delivery]) {
        let groups = deliveries.flatMap(\.groups)
        let evaluation = deliveries[deliveries.count - 1].evaluation
        unseen = groups.filter(\.acceptedBy.isEmpty).map(\.shown)
        var state = evaluation.snapshot
        // A channel that hides Waterline notifications is still available for others.
        if unseen.contains(where: { !$0.kind.isWaterline }) { state.hasNotificationServer = false }
        self.state = state
        notifications = groups.flatMap { group in
            group.decisions.map { NotificationReport($0, isShown: !group.acceptedBy.isEmpty) }
        }
        nextChange = evaluation.nextChange
    }
}

/// Delivers due notifications while a service runs: at each change by time, at least every 60 s (tracker spec B8), and
/// after `checkNow`.
package actor ReminderLoop {
    private let sinks: [any NotificationSink]
    private let tracker: @Sendable () async -> TrackerAPI
    private let reportError: @Sendable (String) -> Void
    private let afterEvaluation: @Sendable (TrackerAPI) async -> Void
    private let sleep: @Sendable (Duration) async -> Void
    private let pause = Pause()
    private var lastProblem: String?
    /// The state after the last write of another process.
    private var stateOfOthers: (version: TrackerStore.DataVersion, snapshot: TrackerSnapshot)?
    private nonisolated let isChannelAvailable = Mutex(false)

    /// - Parameters:
    ///   - tracker: creates an application API with the current time.
    ///   - reportError: receives errors; a repeated one only once.
    ///   - afterEvaluation: called after each evaluation.
    ///   - sleep: must return early when its task is cancelled.
    package init(
        sinks: [any NotificationSink], tracker: @escaping @Sendable () async -> TrackerAPI,
        reportError: @escaping @Sendable (String) -> Void,
        afterEvaluation: @escaping @Sendable (TrackerAPI) async -> Void = { _ in },
        sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    ) {
        (self.sinks, self.tracker, self.reportError) = (sinks, tracker, reportError)
        (self.afterEvaluation, self.sleep) = (afterEvaluation, sleep)
    }

    /// Whether a channel was available at the last evaluation. The state has this as `notifications`.
    package nonisolated var hasReceivers: Bool { isChannelAvailable.withLock { $0 } }

    /// Runs until its task is cancelled.
    package func run() async {
        let sleep = sleep
        while !Task.isCancelled {
            let length = await evaluate()
            await pause.wait { await sleep(length) }
        }
    }

    /// Evaluates again at once, after a write.
    package func checkNow() { pause.end() }

    /// Evaluates the day, and returns the time until the next change.
    private func evaluate() async -> Duration {
        let tracker = await tracker()
        do {
            let report = try await tracker.deliver(sinks)
            isChannelAvailable.withLock { $0 = report.state.hasNotificationServer }
            lastProblem = nil
            await afterEvaluation(tracker)
            return tracker.pause(until: report.nextChange)
        } catch {
            if lastProblem != "\(error)" { reportError("\(error)") }
            lastProblem = "\(error)"
            return DayObserver.longestPause
        }
    }
}

extension ReminderLoop {
    /// Reacts to writes of other processes that change the day, until its task is cancelled.
    ///
    /// Ignores writes of this process, and writes that leave the state unchanged, such as another process's claim.
    /// Otherwise two services would trigger each other endlessly.
    /// - Parameter writes: one element per write to the store.
    package func follow(_ writes: AsyncStream<Void>) async {
        await DayObserver(writes: writes) {
            if (try? await self.isChangedByOthers()) == true { await self.checkNow() }
            // `ReminderLoop.run` handles changes by time.
            return .seconds(3600)
        }.run()
    }

    private func isChangedByOthers() async throws -> Bool {
        let tracker = await tracker()
        let version = try tracker.store.dataVersion()
        guard version.others != stateOfOthers?.version.others else { return false }
        let snapshot = try tracker.state()
        defer { stateOfOthers = (version, snapshot) }
        return stateOfOthers.map { !$0.snapshot.hasSameContent(as: snapshot) } ?? false
    }
}

/// Calls a closure after each write of any process, and at each change by time, at least every 60 s (tracker spec B8).
package actor DayObserver {
    /// The pauses between evaluations after a write. A commit can be readable only some time after the file event.
    package static let pausesAfterWrite: [Duration] = [10, 20, 40, 80, 150, 300, 600, 1200].map { .milliseconds($0) }

    /// The pauses for tasks that tolerate a delay of a second.
    package static let slowPauses: [Duration] = [300, 1500, 5000].map { .milliseconds($0) }

    package static let longestPause = Duration.seconds(60)

    /// The maximum pause between two evaluations without file events.
    package static let shortCheckInterval = Duration.seconds(3)

    /// The maximum pause between two evaluations. Without file events, other programs' writes are found only after it.
    package static func checkInterval(hasFileEvents: Bool) -> Duration {
        hasFileEvents ? longestPause : shortCheckInterval
    }

    private let writes: AsyncStream<Void>
    private let pausesAfterWrite: [Duration]
    private let evaluate: @Sendable () async -> Duration
    private let sleep: @Sendable (Duration) async -> Void
    private var checksSinceWrite: Int
    private let pause = Pause()

    /// - Parameters:
    ///   - writes: one element per write.
    ///   - pausesAfterWrite: the pauses between evaluations after the last write; not empty.
    ///   - sleep: must return early when its task is cancelled.
    ///   - evaluate: returns the time until the next change.
    package init(
        writes: AsyncStream<Void>, pausesAfterWrite: [Duration] = DayObserver.pausesAfterWrite,
        sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) },
        evaluate: @escaping @Sendable () async -> Duration
    ) {
        (self.writes, self.pausesAfterWrite, self.evaluate, self.sleep) = (writes, pausesAfterWrite, evaluate, sleep)
        checksSinceWrite = pausesAfterWrite.count
    }

    package func run() async {
        let writes = writes
        let receiver = Task { for await _ in writes { self.checkNow() } }
        defer { receiver.cancel() }
        let sleep = sleep
        while !Task.isCancelled {
            let untilChange = await evaluate()
            let length =
                checksSinceWrite < pausesAfterWrite.count
                ? min(untilChange, pausesAfterWrite[checksSinceWrite]) : untilChange
            checksSinceWrite = min(checksSinceWrite + 1, pausesAfterWrite.count)
            // Combine frequent writes into one evaluation.
            if await !pause.wait({ await sleep(length) }) { await sleep(pausesAfterWrite[0]) }
        }
    }

    /// Calls `wake` after every write until the task is cancelled. `nil` without file events: the caller must poll.
    package static func observe(
        _ watch: StoreWatch?, pausesAfterWrite: [Duration] = slowPauses, _ wake: @escaping @Sendable () async -> Void
    ) -> Task<Void, Never>? {
        guard let watch else { return nil }
        let writes = watch.writes
        return Task {
            await DayObserver(writes: writes, pausesAfterWrite: pausesAfterWrite) {
                await wake()
                return longestPause
            }.run()
            // The watch ends when its object is released.
            withExtendedLifetime(watch) {}
        }
    }

    private func checkNow() {
        checksSinceWrite = 0
        pause.end()
    }
}

/// A pause that another task can end early.
package final class Pause: Sendable {
    private struct State {
        /// Whether `end` was called since the last pause.
        var isEnded = false
        var sleeping: Task<Void, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    /// Waits, unless `end` was called since the last pause. Cancellation of the calling task ends the pause.
    /// - Parameter sleep: must return early when its task is cancelled.
    /// - Returns: whether it waited.
    @discardableResult
    package func wait(_ sleep: @escaping @Sendable () async -> Void) async -> Bool {
        let sleeping: Task<Void, Never>? = state.withLock { state in
            guard !state.isEnded, !Task.isCancelled else { return nil }
            let task = Task { await sleep() }
            state.sleeping = task
            return task
        }
        if let sleeping {
            await withTaskCancellationHandler {
                await sleeping.value
            } onCancel: {
                sleeping.cancel()
            }
        }
        state.withLock { $0 = State() }
        return sleeping != nil
    }

    package func end() {
        state.withLock { state in
            state.isEnded = true
            state.sleeping?.cancel()
        }
    }
}

/// Wraps a notification channel that can be unavailable, such as a desktop or a broker. When the channel is available
/// again, it delivers missed notifications in order before new ones, and records the reasons for those that it skips.
///
/// If outdated notifications are skipped, at most one of each kind is left, so a long absence ends with few of them.
package final class BufferedSink: NotificationSink {
    private let channel: any NotificationSink
    private let rule: CatchUpRule
    private let tracker: @Sendable () async throws -> TrackerAPI
    private let wasShown: @Sendable (TrackerNotification) async -> Bool
    private let log: @Sendable (String) -> Void
    private let queue = SerialQueue()

    /// - Parameters:
    ///   - channel: the wrapped channel.
    ///   - tracker: creates an application API with the current time.
    ///   - wasShown: whether the channel has shown a notification. A process can end between showing and recording it.
    ///   - log: receives a log line for each skipped notification.
    package init(
        _ channel: any NotificationSink, _ rule: CatchUpRule = .desktop,
        tracker: @escaping @Sendable () async throws -> TrackerAPI,
        wasShown: @escaping @Sendable (TrackerNotification) async -> Bool = { _ in false },
        say log: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        (self.channel, self.rule, self.tracker, self.wasShown, self.log) = (channel, rule, tracker, wasShown, log)
    }

    package var name: String { channel.name }
    package var timeLimit: Duration { channel.timeLimit }

    /// Whether the channel is available; `false` for a desktop while the user has switched its notifications off.
    package func canShow() async -> Bool {
        if rule.isDesktop, let store = try? await tracker().store,
            (try? store.settings())?.desktopNotifications == false
        {
            try? store.removeChannel(name)
            return false
        }
        return await channel.canShow()
    }

    package func close(id: String) async { await channel.close(id: id) }

    package func notificationStored() async { await channel.notificationStored() }

    /// The desktop catches up in each evaluation. A broker's session calls `deliverMissed` itself, with pauses, so that
    /// a broker without a subscriber does not delay the other channels.
    package func catchUp() async { if rule.isDesktop { await deliverMissed() } }

    /// Delivers missed notifications first. At a desktop, an urgent one is delivered even if they fail ("do not
    /// disturb").
    package func deliver(_ notification: TrackerNotification) async -> Bool {
        await queue.run { [self] in
            let isComplete = await deliverMissed(before: notification)
            guard isComplete || rule.isDesktop && notification.urgency == .critical, await channel.deliver(notification)
            else { return false }
            if !isComplete { await saveOvertaken(before: notification) }
            return true
        }
    }

    /// Delivers the notifications that this channel has missed.
    /// - Returns: whether no missed notification is left.
    @discardableResult
    package func deliverMissed() async -> Bool { await queue.run { await self.deliverMissed(before: nil) } }

    /// - Parameter next: the notification to deliver afterwards; it replaces missed ones of its kind.
    private func deliverMissed(before next: TrackerNotification?) async -> Bool {
        guard await canShow() else { return false }
        do {
            let tracker = try await tracker()
            for (entry, missedAction) in try tracker.missed(by: name, rule, before: next) {
                var action = missedAction
                if action == .deliver { guard await channel.deliver(entry.decision) else { return false } }
                if case .skip = action, await wasShown(entry.decision) { action = .delivered }
                // Record the result at once. Otherwise, after a crash, the notification would be shown twice.
                try saveResult(entry, action, tracker)
            }
            return true
        } catch {
            return false
        }
    }

    private func saveResult(_ entry: DeliveredNotification, _ action: CatchUpRule.Action, _ tracker: TrackerAPI) throws
    {
        guard case .skip(let reason) = action else {
            return try tracker.store.recordProcessed(action == .hide ? [] : [entry], name, through: entry.position)
        }
        try tracker.store.recordProcessed([entry], name, missed: [entry.position: reason], through: entry.position)
        log(
            """
            Notification \(entry.decision.kind.id) (\(entry.decision.notificationId)) skipped while the desktop was \
            unavailable: \(reason.rawValue).
            """)
    }

    /// Records held-back notifications as overtaken, so that they do not appear after an urgent one.
    private func saveOvertaken(before notification: TrackerNotification) async {
        guard let tracker = try? await tracker(), let missed = try? tracker.missed(by: name, rule) else { return }
        for (entry, action) in missed where entry.position < notification.position && action != .delivered {
            try? saveResult(entry, .skip(.overtaken), tracker)
        }
    }
}

/// Runs asynchronous closures one at a time, in the order of the calls.
private final class SerialQueue: Sendable {
    private let last = Mutex<Task<Void, Never>?>(nil)

    func run<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) async -> Result {
        let task = last.withLock { last in
            let before = last
            let task = Task {
                await before?.value
                return await body()
            }
            last = Task { _ = await task.value }
            return task
        }
        return await task.value
    }
}

/// Returns the result of a call, or `nil` after the time limit. It then cancels the call and does not wait for its end.
/// Cancellation of the calling task has no effect.
private func result<Value: Sendable>(within limit: Duration, of body: @escaping @Sendable () async -> Value) async
    -> Value?
{
    let (results, continuation) = AsyncStream.makeStream(of: Value?.self)
    let work = Task { continuation.yield(await body()) }
    let timer = Task {
        try? await Task.sleep(for: limit)
        work.cancel()
        continuation.yield(nil)
    }
    defer { timer.cancel() }
    return await Task { await results.first { _ in true } ?? nil }.value
}
