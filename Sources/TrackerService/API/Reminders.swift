import Store
import Synchronization
import TrackerCore

extension TrackerAPI {
    /// Evaluates the day, delivers due notifications to all channels, and records those that at least one channel
    /// accepted. A rejected notification is not counted and comes again (K-B15). A claim ensures that one process
    /// delivers a decision. The claim of a process that ended expires (tracker spec B7).
    ///
    /// Channels first deliver what they missed, so that all have the same order.
    @discardableResult
    package func deliver(_ sinks: [any NotificationSink]) async throws -> CheckReport {
        let delivery = try await offer(to: sinks) { banner in
            try store.settle(banner.offered, of: banner.offer, shownBy: banner.shownBy, context)
            for sink in sinks {
                await result(within: sink.limit) { await sink.recorded() }
            }
        }
        afterCommit()
        return delivery.report
    }

    /// Delivers without recording, for an interface that learns later whether its response arrived. Call `settle` then.
    package func offer(to sinks: [any NotificationSink]) async throws -> Delivery {
        try await offer(to: sinks) { _ in }
    }

    /// Records the delivered notifications.
    /// - Parameter blind: the name of a channel that did not show them after all.
    package func settle(_ delivery: Delivery, except blind: String? = nil) throws {
        try change {
            for banner in delivery.banners {
                try store.settle(
                    banner.offered, of: banner.offer, shownBy: banner.shownBy.filter { $0 != blind }, context)
            }
        }
    }

    /// Marks all notifications as read (`unread` in the state).
    package func openNotifications() throws { try change { try store.openNotifications(context) } }

    // MARK: - Parts

    /// Seconds after the offer before its claim is renewed; much shorter than a claim is valid.
    private static let freshSeconds: Double = 10

    private func offer(to sinks: [any NotificationSink], _ delivered: (Delivery.Banner) async throws -> Void)
        async throws -> Delivery
    {
        var able: [any NotificationSink] = []
        for sink in sinks where await result(within: sink.limit, of: { await sink.canShow() }) == true {
            able.append(sink)
        }
        var delivery = try await offer(toAble: able, delivered)
        // Settle the unfinished delivery of another process before new decisions.
        for banner in delivery.banners where delivery.offer.isLeft {
            try store.settle(banner.offered, of: banner.offer, shownBy: banner.shownBy, context)
        }
        guard delivery.offer.isLeft else { return delivery }
        let more = try await offer(toAble: able, delivered)
        delivery.offer = more.offer
        delivery.banners += more.banners
        return delivery
    }

    private func offer(toAble able: [any NotificationSink], _ delivered: (Delivery.Banner) async throws -> Void)
        async throws -> Delivery
    {
        await withTaskGroup(of: Void.self) { group in
            for sink in able {
                group.addTask {
                    await result(within: sink.limit) { await sink.catchUp() }
                }
            }
        }
        let began = ContinuousClock.now
        let offer = try store.offer(context, canNotify: !able.isEmpty)
        for id in offer.evaluation.closes {
            for sink in able {
                await result(within: sink.limit) { await sink.close(id: id) }
            }
        }
        var delivery = Delivery(offer: offer)
        for offered in offer.banners {
            let elapsed = began.duration(to: .now) / .seconds(1)
            guard
                try able.isEmpty || elapsed < Self.freshSeconds
                    || store.hold(offered, of: offer, at: context.now.advanced(seconds: elapsed))
            else { continue }
            let banner = Delivery.Banner(
                offered: offered, offer: offer, shownBy: await Self.deliver(offered.shown, to: able))
            try await delivered(banner)
            delivery.banners.append(banner)
        }
        return delivery
    }

    /// Delivers a notification, and returns the names of the channels that accepted it.
    private static func deliver(_ notification: TrackerNotification, to sinks: [any NotificationSink]) async -> [String]
    {
        let shown = await withTaskGroup(of: (Int, Bool).self) { group in
            for (index, sink) in sinks.enumerated() {
                group.addTask {
                    (index, await result(within: sink.limit) { await sink.deliver(notification) } == true)
                }
            }
            return await group.reduce(into: Set<Int>()) { if $1.1 { $0.insert($1.0) } }
        }
        return sinks.indices.filter(shown.contains).map { sinks[$0].name }
    }
}

/// An offer, and the channels that accepted its notifications.
package struct Delivery: Sendable {
    var offer: Offer
    /// The notifications in the order of the decisions.
    package internal(set) var banners: [Banner] = []

    /// One displayed notification; it answers all decisions with the same text.
    package struct Banner: Sendable {
        let offered: Offer.Banner
        let offer: Offer
        package let shownBy: [String]

        package var notification: TrackerNotification { offered.shown }
    }

    /// The time of the next change without an event.
    package var nextChange: Instant { offer.evaluation.nextChange }

    package var report: CheckReport {
        let unseen = banners.filter(\.shownBy.isEmpty).map(\.notification)
        var state = offer.evaluation.snapshot
        // Channels might hide Waterline notifications. That does not mean that no channel is available.
        if unseen.contains(where: { !$0.kind.isWaterline }) { state.hasNotificationServer = false }
        return CheckReport(
            notifications: banners.flatMap { banner in
                banner.offered.answers.map { NotificationReport($0, isShown: !banner.shownBy.isEmpty) }
            },
            state: state, unseen: unseen, nextChange: nextChange)
    }
}

/// Delivers due notifications while a service runs: at each change by time, at least every 60 s (tracker spec B8), and
/// after `poke`.
package actor ReminderLoop {
    private let sinks: [any NotificationSink]
    private let tracker: @Sendable () async -> TrackerAPI
    private let trouble: @Sendable (String) -> Void
    private let looked: @Sendable (TrackerAPI) async -> Void
    private let sleep: @Sendable (Duration) async -> Void
    private let pause = Pause()
    private var lastProblem: String?
    /// The state after the last write of another process.
    private var followed: (mark: TrackerStore.ChangeMark, snapshot: TrackerSnapshot)?
    private nonisolated let reach = Mutex(false)

    /// - Parameters:
    ///   - desk: creates an application API with the current time.
    ///   - trouble: receives errors; a repeated one only once.
    ///   - looked: called after each evaluation.
    ///   - sleep: must return early when its task is cancelled.
    package init(
        sinks: [any NotificationSink], tracker: @escaping @Sendable () async -> TrackerAPI,
        trouble: @escaping @Sendable (String) -> Void,
        looked: @escaping @Sendable (TrackerAPI) async -> Void = { _ in },
        sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    ) {
        self.sinks = sinks
        self.tracker = tracker
        self.trouble = trouble
        self.looked = looked
        self.sleep = sleep
    }

    /// Whether a channel was available at the last evaluation: `notifications` in the state.
    package nonisolated var hasReceivers: Bool { reach.withLock { $0 } }

    /// Runs until its task is cancelled. Returns at once without a channel.
    package func run() async {
        guard !sinks.isEmpty else { return }
        let sleep = sleep
        while !Task.isCancelled {
            let length = await look()
            await pause.wait { await sleep(length) }
        }
    }

    /// Evaluates again at once, after a write.
    package func poke() { pause.end() }

    /// Evaluates the day, and returns the time until the next change.
    private func look() async -> Duration {
        let tracker = await tracker()
        do {
            let report = try await tracker.deliver(sinks)
            reach.withLock { $0 = report.state.hasNotificationServer }
            lastProblem = nil
            await looked(tracker)
            return tracker.pause(until: report.nextChange)
        } catch {
            if lastProblem != "\(error)" { trouble("\(error)") }
            lastProblem = "\(error)"
            return DayObserver.longestPause
        }
    }
}

extension ReminderLoop {
    /// Reacts to writes of other processes that change the day, until its task is cancelled.
    ///
    /// Ignores writes of this process, and writes without an effect on the snapshot, such as another process's claim.
    /// Otherwise two services would trigger each other.
    /// - Parameter writes: one element per write to the store.
    package func follow(_ writes: AsyncStream<Void>) async {
        await DayObserver(writes: writes) {
            if (try? await self.isChangedByOthers()) == true { await self.poke() }
            // `run` handles changes by time.
            return .seconds(3600)
        }.run()
    }

    private func isChangedByOthers() async throws -> Bool {
        let tracker = await tracker()
        let mark = try tracker.store.changeMark()
        guard mark.others != followed?.mark.others else { return false }
        let snapshot = try tracker.state()
        defer { followed = (mark, snapshot) }
        return followed.map { !$0.snapshot.hasSameContent(as: snapshot) } ?? false
    }
}

/// Calls a closure after each write of any process, and at each change by time, at least every 60 s (tracker spec B8).
package actor DayObserver {
    /// The pauses between evaluations after a write. A commit is readable only some time after the event.
    package static let settling: [Duration] = [10, 20, 40, 80, 150, 300, 600, 1200].map { .milliseconds($0) }

    /// The pauses for tasks that tolerate a delay of a second.
    package static let calmly: [Duration] = [300, 1500, 5000].map { .milliseconds($0) }

    package static let longestPause = Duration.seconds(60)

    /// The interval for polling without file events.
    package static let shortCheckInterval = Duration.seconds(3)

    /// The polling interval, with or without file events.
    package static func checkInterval(hasFileEvents: Bool) -> Duration {
        hasFileEvents ? longestPause : shortCheckInterval
    }

    private let writes: AsyncStream<Void>
    private let settling: [Duration]
    private let look: @Sendable () async -> Duration
    private let sleep: @Sendable (Duration) async -> Void
    private var checksSinceWrite: Int
    private let pause = Pause()

    /// - Parameters:
    ///   - writes: one element per write.
    ///   - look: returns the time until the next change.
    ///   - settling: the pauses between evaluations after the last write; not empty.
    ///   - sleep: must return early when its task is cancelled.
    package init(
        writes: AsyncStream<Void>, settling: [Duration] = DayObserver.settling,
        sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) },
        look: @escaping @Sendable () async -> Duration
    ) {
        (self.writes, self.settling, self.look, self.sleep) = (writes, settling, look, sleep)
        checksSinceWrite = settling.count
    }

    /// Runs until its task is cancelled.
    package func run() async {
        let writes = writes
        let hearing = Task { for await _ in writes { self.poke() } }
        defer { hearing.cancel() }
        let sleep = sleep
        while !Task.isCancelled {
            let length = await look()
            let rest = checksSinceWrite < settling.count ? min(length, settling[checksSinceWrite]) : length
            checksSinceWrite = min(checksSinceWrite + 1, settling.count)
            // Combine frequent writes into one evaluation.
            if await !pause.wait({ await sleep(rest) }) { await sleep(settling[0]) }
        }
    }

    /// Calls `wake` after every write until the task is cancelled. `nil` without file events: the caller must poll.
    package static func waking(
        _ watch: StoreWatch?, settling: [Duration] = calmly, _ wake: @escaping @Sendable () async -> Void
    ) -> Task<Void, Never>? {
        guard let watch else { return nil }
        let writes = watch.writes
        return Task {
            await DayObserver(writes: writes, settling: settling) {
                await wake()
                return longestPause
            }.run()
            // The watch ends when its object is released.
            withExtendedLifetime(watch) {}
        }
    }

    private func poke() {
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

/// A notification channel that can be unavailable, such as a desktop. When it is available again, it delivers missed
/// notifications that are still valid, in order. It records the others as missed: answered, replaced or over (tracker
/// spec C).
///
/// At most one notification of each kind is still valid, so a long absence ends with few notifications.
package final class BufferedSink: NotificationSink {
    private let place: any NotificationSink
    private let tracker: @Sendable () async throws -> TrackerAPI
    private let wasShown: @Sendable (TrackerNotification) async -> Bool
    private let say: @Sendable (String) -> Void
    private let turns = SerialQueue()

    /// - Parameters:
    ///   - place: the channel.
    ///   - desk: creates an application API with the current time.
    ///   - wasShown: whether the channel has shown a notification. A process can end between showing and recording it.
    ///   - say: receives a log line for each missed notification.
    package init(
        _ place: any NotificationSink, tracker: @escaping @Sendable () async throws -> TrackerAPI,
        wasShown: @escaping @Sendable (TrackerNotification) async -> Bool = { _ in false },
        say: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        (self.place, self.tracker, self.wasShown, self.say) = (place, tracker, wasShown, say)
    }

    package var name: String { place.name }
    package var limit: Duration { place.limit }

    /// Whether the channel is available; `false` while the user has switched desktop notifications off.
    package func canShow() async -> Bool {
        guard await isOn() else { return false }
        return await place.canShow()
    }

    private func isOn() async -> Bool {
        guard let store = try? await tracker().store, (try? store.settings())?.desktopNotifications == false else {
            return true
        }
        try? store.stopsHearing(name)
        return false
    }

    package func close(id: String) async { await place.close(id: id) }

    package func recorded() async { await place.recorded() }

    package func catchUp() async { _ = await turns.take { await self.deliverMissed() } }

    /// Delivers missed notifications first. An urgent one is delivered even if they fail ("do not disturb").
    package func deliver(_ notification: TrackerNotification) async -> Bool {
        await turns.take { [self] in
            let isComplete = await deliverMissed(before: notification)
            guard isComplete || notification.urgency == .critical, await place.deliver(notification) else {
                return false
            }
            if !isComplete { await noteOvertaken(before: notification) }
            return true
        }
    }

    /// - Parameter next: the notification to deliver; it replaces missed ones of its kind.
    /// - Returns: whether no missed notification is left.
    private func deliverMissed(before next: TrackerNotification? = nil) async -> Bool {
        guard await canShow(), let tracker = try? await tracker(), let told = try? recorded(tracker) else {
            return false
        }
        do {
            let stillTrue = NotificationValidity(try tracker.store.facts(tracker.context), now: tracker.now)
            for one in told {
                var missed: MissedReason?
                if !one.sinks.contains(name) {
                    let isReplaced =
                        next?.kind.id == one.decision.kind.id
                        || told.contains { $0.place > one.place && $0.decision.kind.id == one.decision.kind.id }
                    missed = isReplaced ? .replaced : stillTrue.reasonToMiss(one.decision)
                    if missed == nil {
                        guard await place.deliver(one.decision) else { return false }
                    } else if await wasShown(one.decision) {
                        missed = nil
                    }
                }
                // Record the result at once. Otherwise, after a crash, the notification would be shown twice.
                try note(one, missed, tracker)
            }
            return true
        } catch {
            return false
        }
    }

    /// The notifications of all channels since the last one that this channel has dealt with.
    private func recorded(_ tracker: TrackerAPI) throws -> [DeliveredNotification] {
        try tracker.store.told(after: tracker.store.deliveredThrough(name))
    }

    private func note(_ one: DeliveredNotification, _ missed: MissedReason?, _ tracker: TrackerAPI) throws {
        try tracker.store.recordDelivered(
            [one], name, missed: missed.map { [one.place: $0] } ?? [:], through: one.place)
        guard let missed else { return }
        say(
            """
            Notification \(one.decision.kind.id) (\(one.decision.notificationId)) skipped while the desktop was \
            unavailable: \(missed.rawValue).
            """)
    }

    /// Records held-back notifications as overtaken, so that they do not appear after an urgent one.
    private func noteOvertaken(before notification: TrackerNotification) async {
        guard let tracker = try? await tracker(), let told = try? recorded(tracker) else { return }
        for one in told where one.place < notification.place && !one.sinks.contains(name) {
            try? note(one, .overtaken, tracker)
        }
    }
}

/// Runs asynchronous closures one at a time, in the order of the calls.
package final class SerialQueue: Sendable {
    private let last = Mutex<Task<Void, Never>?>(nil)

    package init() {}

    package func take<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) async -> Result {
        await begin(body).value
    }

    /// Enqueues a closure without waiting for its end.
    package func begin<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) -> Task<Result, Never> {
        last.withLock { last in
            let before = last
            let task = Task {
                await before?.value
                return await body()
            }
            last = Task { _ = await task.value }
            return task
        }
    }
}

/// Returns the result of a call, or `nil` after the time limit. The call is then cancelled, and its end is not awaited.
/// Cancellation of the calling task has no effect.
@discardableResult
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
