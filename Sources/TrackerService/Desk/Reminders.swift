import Store
import Synchronization
import TrackerCore

extension TrackerDesk {
    /// Decides, and then delivers: what is due goes to every sink, and what at least one has shown is remembered as
    /// told. What nobody showed is not counted and comes again (K-B15). Of any number of processes one gets to tell a
    /// decision; the claim of one that was killed meanwhile lapses by itself (tracker law B7).
    ///
    /// Who was away catches up first, so that everybody hears everything in one order.
    @discardableResult
    package func tell(_ sinks: [any NotificationSink]) async throws -> CheckReport {
        let telling = try await offer(to: sinks) { banner in
            try store.settle(banner.offered, of: banner.offer, shownBy: banner.shownBy, context)
            for sink in sinks {
                _ = await Patience.answer(within: sink.limit) {
                    await sink.recorded(); return true
                }
            }
        }
        afterCommit()
        return telling.report
    }

    /// The same in two steps, for a surface that knows only afterwards whether its answer came through: offers and
    /// delivers, and remembers nothing until `settle`.
    package func offer(to sinks: [any NotificationSink]) async throws -> Telling { try await offer(to: sinks) { _ in } }

    /// Remembers what was shown.
    /// - Parameter blind: a sink that turned out to have shown nothing.
    package func settle(_ telling: Telling, except blind: String? = nil) throws {
        try change {
            for banner in telling.banners {
                try store.settle(
                    banner.offered, of: banner.offer, shownBy: banner.shownBy.filter { $0 != blind }, context)
            }
        }
    }

    /// Somebody looks: notifications so far are read (`unread` in the state).
    package func openNotifications() throws { try change { try store.openNotifications(context) } }

    // MARK: - Parts

    /// So long after the offer nothing has to be made sure of yet: far less than a claim holds.
    private static let freshSeconds: Double = 10

    private func offer(to sinks: [any NotificationSink], _ delivered: (Telling.Banner) async throws -> Void)
        async throws -> Telling
    {
        var able: [any NotificationSink] = []
        for sink in sinks where await Patience.answer(within: sink.limit, { await sink.canShow() }) == true {
            able.append(sink)
        }
        var telling = try await offer(toAble: able, delivered)
        // What a program that died had left comes to its end first; then what is new.
        for banner in telling.banners where telling.offer.isLeft {
            try store.settle(banner.offered, of: banner.offer, shownBy: banner.shownBy, context)
        }
        guard telling.offer.isLeft else { return telling }
        let more = try await offer(toAble: able, delivered)
        telling.offer = more.offer
        telling.banners += more.banners
        return telling
    }

    private func offer(toAble able: [any NotificationSink], _ delivered: (Telling.Banner) async throws -> Void)
        async throws -> Telling
    {
        await withTaskGroup(of: Void.self) { group in
            for sink in able {
                group.addTask {
                    _ = await Patience.answer(within: sink.limit) {
                        await sink.catchUp(); return true
                    }
                }
            }
        }
        let began = ContinuousClock.now
        let offer = try store.offer(context, canNotify: !able.isEmpty)
        for id in offer.evaluation.closes {
            for sink in able {
                _ = await Patience.answer(within: sink.limit) {
                    await sink.close(id: id); return true
                }
            }
        }
        var telling = Telling(offer: offer)
        for offered in offer.banners {
            let elapsed = began.duration(to: .now) / .seconds(1)
            guard
                try able.isEmpty || elapsed < Self.freshSeconds
                    || store.hold(offered, of: offer, at: context.now.advanced(seconds: elapsed))
            else { continue }
            let banner = Telling.Banner(
                offered: offered, offer: offer, shownBy: await Self.deliver(offered.shown, to: able))
            try await delivered(banner)
            telling.banners.append(banner)
        }
        return telling
    }

    /// - Returns: who has shown it.
    private static func deliver(_ notification: TrackerNotification, to sinks: [any NotificationSink]) async -> [String]
    {
        let shown = await withTaskGroup(of: (Int, Bool).self) { group in
            for (index, sink) in sinks.enumerated() {
                group.addTask {
                    (index, await Patience.answer(within: sink.limit) { await sink.deliver(notification) } == true)
                }
            }
            return await group.reduce(into: Set<Int>()) { if $1.1 { $0.insert($1.0) } }
        }
        return sinks.indices.filter(shown.contains).map { sinks[$0].name }
    }
}

/// What was offered to sinks, and who has shown it.
package struct Telling: Sendable {
    var offer: Offer
    /// In the order in which they were decided.
    package internal(set) var banners: [Banner] = []

    /// Something that a person sees: decisions with equal words are one.
    package struct Banner: Sendable {
        let offered: Offer.Banner
        let offer: Offer
        /// The sinks that have shown it, by name.
        package let shownBy: [String]

        /// What the person saw.
        package var notification: TrackerNotification { offered.shown }
    }

    /// When something next changes by the mere passing of time.
    package var nextChange: Instant { offer.evaluation.nextChange }

    /// The same as an answer of a check.
    package var report: CheckReport {
        let unseen = banners.filter(\.shownBy.isEmpty).map(\.notification)
        var state = offer.evaluation.snapshot
        // A session's words may be meant for nobody who is here: that says nothing of the day's, and nothing where
        // sessions are nobody's business.
        if unseen.contains(where: { !$0.kind.isWaterline }) { state.hasNotificationServer = false }
        return CheckReport(
            notifications: banners.flatMap { banner in
                banner.offered.answers.map { NotificationReport($0, isShown: !banner.shownBy.isEmpty) }
            },
            state: state, unseen: unseen, nextChange: nextChange)
    }
}

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

extension ReminderLoop {
    /// Tells at once what other programs made of the day: a drink by hand, a session, a setting. Goes on until its task
    /// is cancelled.
    ///
    /// What was written by ourselves is known already; and a write that says nothing about the day, as another
    /// program's claim of a decision, moves nobody: two services would keep each other busy.
    /// - Parameter writes: one for each time that the store was written.
    package func follow(_ writes: AsyncStream<Void>) async {
        let seen = Seen()
        await DayFollower(writes: writes) {
            let desk = await self.currentDesk()
            if (try? await seen.isNews(desk)) == true { await self.poke() }
            // What time changes is the loop's own business.
            return .seconds(3600)
        }.run()
    }

    private actor Seen {
        private var mark: TrackerStore.ChangeMark?
        private var snapshot: TrackerSnapshot?

        func isNews(_ desk: TrackerDesk) throws -> Bool {
            let mark = try desk.store.changeMark()
            guard mark.others != self.mark?.others else { return false }
            let snapshot = try desk.state()
            defer { (self.mark, self.snapshot) = (mark, snapshot) }
            return self.snapshot.map { !$0.says(theSameAs: snapshot) } ?? false
        }
    }
}

/// The day as it changes: looks whenever something was written, by whatever program, and whenever the mere passing of
/// time changes it, at least every 60 s (tracker law B8). While nothing is written and nothing changes, nothing is
/// done.
package actor DayFollower {
    /// A commit can be read a moment after it was heard of (it is forced to the disk first): so after the last word it
    /// is looked again, each time later.
    package static let settling: [Duration] = [10, 20, 40, 80, 150, 300, 600, 1200].map { .milliseconds($0) }

    /// For whom a second is soon enough.
    package static let calmly: [Duration] = [300, 1500, 5000].map { .milliseconds($0) }

    /// The longest pause between two looks.
    package static let longestPause = Duration.seconds(60)

    /// How often somebody looks who is not told of writes, or has something in hand.
    package static let lookOften = Duration.seconds(3)

    /// How often somebody looks by themselves: seldom where writes are told.
    package static func lookEvery(isTold: Bool) -> Duration { isTold ? longestPause : lookOften }

    private let writes: AsyncStream<Void>
    private let settling: [Duration]
    private let look: @Sendable () async -> Duration
    private let sleep: @Sendable (Duration) async -> Void
    private var looksSinceWrite: Int
    private var isPoked = false
    private var pause: Task<Void, Never>?

    /// - Parameters:
    ///   - writes: one for each time that something was written.
    ///   - look: says how long nothing will change by itself.
    ///   - settling: the pauses between the looks after the last word; not empty.
    ///   - sleep: ends early when its task is cancelled.
    package init(
        writes: AsyncStream<Void>, settling: [Duration] = DayFollower.settling,
        sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) },
        look: @escaping @Sendable () async -> Duration
    ) {
        (self.writes, self.settling, self.look, self.sleep) = (writes, settling, look, sleep)
        looksSinceWrite = settling.count
    }

    /// Goes on until its task is cancelled.
    package func run() async {
        let writes = writes
        let hearing = Task { for await _ in writes { self.poke() } }
        defer { hearing.cancel() }
        while !Task.isCancelled {
            isPoked = false
            let length = await look()
            let rest = looksSinceWrite < settling.count ? min(length, settling[looksSinceWrite]) : length
            looksSinceWrite = min(looksSinceWrite + 1, settling.count)
            if isPoked {
                // A program that writes all the time is not followed line by line.
                await sleep(settling[0])
                continue
            }
            let sleep = sleep
            let pause = Task { await sleep(rest) }
            self.pause = pause
            await withTaskCancellationHandler {
                await pause.value
            } onCancel: {
                pause.cancel()
            }
        }
    }

    /// Calls `wake` soon after every write, until the task is cancelled; `nil` where nobody tells of writes: then one
    /// has to look by oneself.
    package static func waking(_ watch: StoreWatch?, _ wake: @escaping @Sendable () async -> Void) -> Task<Void, Never>?
    {
        guard let watch else { return nil }
        let writes = watch.writes
        return Task {
            await DayFollower(writes: writes, settling: calmly) {
                await wake()
                return longestPause
            }.run()
            // It speaks for as long as it is held.
            withExtendedLifetime(watch) {}
        }
    }

    private func poke() {
        looksSinceWrite = 0
        isPoked = true
        pause?.cancel()
    }
}

/// A place before a person's eyes that may be away: a desktop. What others told meanwhile it shows when it is back, in
/// their order, as long as it is still so; what was answered since, what a later one replaces, and what is over would
/// only be in the way: that is noted as missed (tracker law C).
///
/// Between two looks at most one of a kind is worth showing, so a long absence ends with a few banners and not with a
/// flood.
package final class LateSink: NotificationSink {
    private let place: any NotificationSink
    private let desk: @Sendable () async throws -> TrackerDesk
    private let wasShown: @Sendable (TrackerNotification) async -> Bool
    private let say: @Sendable (String) -> Void
    private let turns = Turns()
    /// What was noted as missed, and when, by the machine's clock: where that is set back behind it, it was no time to
    /// judge by.
    private let judged = Mutex<[(place: Int64, at: Instant)]>([])
    private static let judgedLimit = 400
    /// A clock that is set back by so much was wrong, seconds. Less is everyday's.
    private static let setBack: Double = 60

    /// - Parameters:
    ///   - place: that shows.
    ///   - desk: a desk of the moment.
    ///   - wasShown: whether the place has shown it already: who showed it may have died before it could say so.
    ///   - say: a line for the log, for each that is missed.
    package init(
        _ place: any NotificationSink, desk: @escaping @Sendable () async throws -> TrackerDesk,
        wasShown: @escaping @Sendable (TrackerNotification) async -> Bool = { _ in false },
        say: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        (self.place, self.desk, self.wasShown, self.say) = (place, desk, wasShown, say)
    }

    /// Of the place.
    package var name: String { place.name }
    /// Of the place.
    package var limit: Duration { place.limit }

    /// Nothing while the user has switched desktop notifications off: what others are told until then is not shown
    /// afterwards.
    package func canShow() async -> Bool {
        guard await isOn() else { return false }
        return await place.canShow()
    }

    private func isOn() async -> Bool {
        guard let store = try? await desk().store, (try? store.settings())?.desktopNotifications == false else {
            return true
        }
        try? store.stopsHearing(name)
        return false
    }

    package func close(id: String) async { await place.close(id: id) }

    package func recorded() async { await place.recorded() }

    package func catchUp() async { _ = await turns.take { await self.bring() } }

    /// What came before goes before. Only what is urgent does not wait for it, where a person is not to be disturbed.
    package func deliver(_ notification: TrackerNotification) async -> Bool {
        await turns.take { [self] in
            let isComplete = await bring(before: notification)
            guard isComplete || notification.urgency == .critical, await place.deliver(notification) else {
                return false
            }
            if !isComplete { await giveUp(before: notification) }
            return true
        }
    }

    /// - Parameter next: what is about to be shown takes the place of what is of its kind.
    /// - Returns: whether nothing is left.
    private func bring(before next: TrackerNotification? = nil) async -> Bool {
        guard await canShow(), let desk = try? await desk(), let through = try? desk.store.toldThrough(name),
            let told = try? judgedTooEarly(desk) + desk.store.told(after: through)
        else { return false }
        guard let last = told.last else { return true }
        do {
            let stillTrue = StillTrue(try desk.store.facts(desk.context), now: desk.now)
            var done: [ToldNotification] = []
            var missed: [Int64: MissedReason] = [:]
            for one in told {
                done.append(one)
                guard !one.sinks.contains(name) else { continue }
                let isReplaced =
                    next?.kind.id == one.decision.kind.id
                    || told.contains {
                        $0.place > one.place && $0.decision.kind.id == one.decision.kind.id
                            && !isAhead($0.decision.decidedAt, desk)
                    }
                if let reason = isReplaced ? .replaced : stillTrue.reasonToMiss(one.decision) {
                    missed[one.place] = await wasShown(one.decision) ? nil : reason
                } else {
                    guard await place.deliver(one.decision) else {
                        done.removeLast()
                        try note(done, missed, desk, through: done.last?.place ?? through)
                        return false
                    }
                    // At once: who dies now must not show it again.
                    try note(done, missed, desk, through: one.place)
                    (done, missed) = ([], [:])
                }
            }
            try note(done, missed, desk, through: last.place)
            return true
        } catch {
            return false
        }
    }

    /// What was noted as missed while the clock was ahead of what it says now: it is looked at again.
    private func judgedTooEarly(_ desk: TrackerDesk) throws -> [ToldNotification] {
        let places = Set(judged.withLock { $0 }.filter { isAhead($0.at, desk) }.map(\.place))
        guard let first = places.min(), let last = places.max() else { return [] }
        try desk.store.forgetMissed(places.sorted(), name)
        judged.withLock { $0.removeAll { places.contains($0.place) } }
        return try desk.store.told(after: first - 1, through: last).filter { places.contains($0.place) }
    }

    private func isAhead(_ instant: Instant?, _ desk: TrackerDesk) -> Bool {
        instant.map { desk.now.seconds(to: $0) > Self.setBack } ?? false
    }

    private func note(
        _ done: [ToldNotification], _ missed: [Int64: MissedReason], _ desk: TrackerDesk, through place: Int64
    ) throws {
        let changed = done.filter { missed[$0.place] != nil || !$0.sinks.contains(name) }
        guard !done.isEmpty else { return }
        try desk.store.hasHeard(changed, name, missed: missed, through: place)
        judged.withLock { judged in
            judged += missed.keys.sorted().map { ($0, desk.now) }
            judged.removeFirst(max(0, judged.count - Self.judgedLimit))
        }
        for one in changed {
            if let reason = missed[one.place] {
                say(
                    """
                    Not shown any more: \(one.decision.kind.id) (\(one.decision.notificationId)), told while the \
                    desktop was away: \(reason.rawValue).
                    """
                )
            }
        }
    }

    /// What was not let through before something urgent does not come after it.
    private func giveUp(before notification: TrackerNotification) async {
        guard let desk = try? await desk(), let through = try? desk.store.toldThrough(name),
            let told = try? desk.store.told(after: through)
        else { return }
        let waiting = told.filter { $0.place < notification.place && !$0.sinks.contains(name) }
        try? note(
            waiting, Dictionary(waiting.map { ($0.place, .overtaken) }, uniquingKeysWith: { $1 }), desk,
            through: notification.place - 1)
    }
}

/// One after the other, in the order in which they were asked for.
package final class Turns: Sendable {
    private let last = Mutex<Task<Void, Never>?>(nil)

    /// Nobody's turn yet.
    package init() {}

    /// Runs this once all before it have ended.
    package func take<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) async -> Result {
        await begin(body).value
    }

    /// The same, without waiting for the end.
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

/// Waits for somebody who may never answer.
enum Patience {
    /// The answer, or `nil` where none came in time. Whoever is still at it then is cancelled and not waited for.
    static func answer<Answer: Sendable>(within limit: Duration, _ body: @escaping @Sendable () async -> Answer) async
        -> Answer?
    {
        let outcome = Outcome<Answer>()
        let work = Task { outcome.end(await body()) }
        let timer = Task {
            try? await Task.sleep(for: limit)
            work.cancel()
            outcome.end(nil)
        }
        defer { timer.cancel() }
        return await outcome.value()
    }

    /// The first end counts.
    private final class Outcome<Answer: Sendable>: Sendable {
        private enum State: Sendable {
            case open
            case awaited(CheckedContinuation<Answer?, Never>)
            case ended(Answer?)
        }

        private let state = Mutex<State>(.open)

        func value() async -> Answer? {
            await withCheckedContinuation { continuation in
                let ended: State? = state.withLock { state in
                    if case .ended = state { return state }
                    state = .awaited(continuation)
                    return nil
                }
                if case .ended(let answer)? = ended { continuation.resume(returning: answer) }
            }
        }

        func end(_ answer: Answer?) {
            let before = state.withLock { state in
                let before = state
                if case .ended = before { return before }
                state = .ended(answer)
                return before
            }
            if case .awaited(let continuation) = before { continuation.resume(returning: answer) }
        }
    }
}
