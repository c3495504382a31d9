import TrackerService
import Utilities
import Store
import TrackerCore

/// Sends notifications to ntfy or a webhook while a service runs (tracker spec Section 10.8).
///
/// A notification is stored before it is sent, and waits until the server accepts it, so that a restart neither loses
/// nor repeats it. An accepted notification counts (B7, K-B15). ntfy does not get a notification that is 15 minutes
/// old, that no longer applies, or that a later one of its kind replaced. A webhook gets every notification that is
/// less than a day old.
package actor NotificationSender: NotificationSink {
    package struct Dependencies: Sendable {
        /// Creates an application API for one request.
        package var tracker: @Sendable () throws -> TrackerAPI
        /// Applies the configuration to the settings.
        package var overlay: @Sendable (Settings) throws -> Settings
        package var person: String?
        /// Whether Waterline is shown on other machines.
        package var sharesWaterline: @Sendable () -> Bool
        /// Reports writes to the store by any process. If `nil`, the store is polled.
        package var watch: StoreWatch?
        /// Receives events for the log.
        package var say: @Sendable (LogEvent) -> Void
        /// Returns a random number from 0 to 1.
        package var chance: @Sendable () -> Double
        package var limit: Duration

        package init(
            tracker: @escaping @Sendable () throws -> TrackerAPI,
            overlay: @escaping @Sendable (Settings) throws -> Settings = { $0 }, person: String? = nil,
            sharesWaterline: @escaping @Sendable () -> Bool,
            watch: StoreWatch? = nil,
            say: @escaping @Sendable (LogEvent) -> Void,
            chance: @escaping @Sendable () -> Double = { .random(in: 0...1) }, limit: Duration = .seconds(10)
        ) {
            (self.tracker, self.overlay, self.person, self.sharesWaterline, self.watch) = (
                tracker, overlay, person, sharesWaterline, watch
            )
            (self.say, self.chance, self.limit) = (say, chance, limit)
        }
    }

    /// Events for the log; a repeated one is reported once.
    package enum LogEvent: Hashable, Sendable {
        case on(String)
        case trouble(String)
        case goesOn
        /// The settings name no server.
        case off
        /// A notification was dropped, with the reason.
        case dropped(String)
    }

    /// The time for which a delivery waits for the server. A later acceptance counts at the next evaluation.
    static let patience = Duration.seconds(4)

    nonisolated let channel: NotificationChannel
    nonisolated let around: Dependencies
    /// The name of the channel, also in the store.
    package nonisolated let name: String
    private let claimant: String
    /// The interval between checks of the settings and of other processes' work.
    private var checkInterval: Duration { DayObserver.checkInterval(hasFileEvents: around.watch != nil) }
    private var plan: NotificationTarget?
    private var pause: Task<Void, Never>?
    private var isPoked = false
    private var backoff = Backoff(first: .seconds(2), longest: .seconds(300))
    private var restsUntil: ContinuousClock.Instant?
    private var lastProblem: String?
    /// Deliveries that wait for a result, by notification id.
    private var waiting: [String: [CheckedContinuation<Bool, Never>]] = [:]
    /// The start of each message's wait by the monotonic clock, by sequence number. The wall clock can be wrong.
    private var waitsSince: [Int64: ContinuousClock.Instant] = [:]
    /// The sequence numbers of sent messages that the store has not recorded yet.
    private var unnoted: Set<Int64> = []

    package init(_ channel: NotificationChannel, _ around: Dependencies) {
        (self.channel, self.around, name) = (channel, around, channel.rawValue)
        claimant =
            "\(channel.rawValue)-\((0..<4).map { _ in String(UInt32.random(in: .min ... .max), radix: 36) }.joined())"
    }

    /// Runs until its task is cancelled.
    /// - Parameter arrivedLate: called after a message was accepted that no delivery waited for.
    package func run(arrivedLate: @Sendable () async -> Void = {}) async {
        let waking = DayObserver.waking(around.watch) { [weak self] in await self?.poke() }
        defer { waking?.cancel() }
        while !Task.isCancelled {
            isPoked = false
            var length = checkInterval
            do {
                if try updatePlan() {
                    try queueMissed(around.tracker())
                    length = min(length, try await sendAll(arrivedLate))
                }
            } catch {
                trouble("\(error)")
                length = DayObserver.shortCheckInterval
            }
            await rest(length)
        }
        for id in waiting.keys { answer(id, false) }
    }

    /// Checks the queue and the settings at once.
    package func poke() {
        isPoked = true
        pause?.cancel()
    }

    // MARK: - As a sink

    package nonisolated func canShow() async -> Bool { (try? currentPlan()) != nil }

    /// Stores the notification, sends earlier ones first, and waits a few seconds for the server.
    package func deliver(_ notification: TrackerNotification) async -> Bool {
        guard (try? currentPlan()) != nil, channel.takes(notification.kind),
            !notification.kind.isWaterline || around.sharesWaterline()
        else { return false }
        do {
            let tracker = try around.tracker()
            try queueMissed(tracker, before: notification)
            guard try post(notification, since: tracker.now, tracker) == .waiting else {
                return try tracker.store.postState(notification.notificationId, at: name) == .sent
            }
        } catch {
            trouble("\(error)")
            return false
        }
        // Do not wait during a pause. The message is sent afterwards.
        if let restsUntil, restsUntil > .now { return false }
        let id = notification.notificationId
        poke()
        return await withCheckedContinuation { continuation in
            waiting[id, default: []].append(continuation)
            Task {
                try? await Task.sleep(for: Self.patience)
                answer(id, false)
            }
        }
    }

    /// Drops a queued notification that no longer applies. A webhook gets it nevertheless.
    package func close(id: String) async {
        guard !channel.sendsLate else { return }
        try? around.tracker().store.dropPosts(id, from: name)
    }

    // MARK: - Sending

    /// Sends the queue in order, until it is empty or the server requires a pause.
    /// - Returns: the time until the next attempt.
    private func sendAll(_ arrivedLate: @Sendable () async -> Void) async throws -> Duration {
        guard let plan else { return checkInterval }
        while !Task.isCancelled {
            if let restsUntil, restsUntil > .now { return restsUntil - .now }
            let tracker = try around.tracker()
            let message: QueuedNotification
            switch try tracker.store.nextPost(from: name, as: claimant, at: tracker.now) {
            case .message(let next): message = next
            case .busy: return try min(DayObserver.shortCheckInterval, checkOtherProcesses(tracker.store))
            case .nothing: return try checkOtherProcesses(tracker.store)
            }
            // If recording fails (full disk), the message is not sent again.
            let outcome = unnoted.contains(message.sequence) ? .sent : await attempt(message, plan, tracker)
            let after = try around.tracker()
            switch outcome {
            case .sent:
                unnoted.insert(message.sequence)
                try after.store.endPost(message, from: name, as: claimant, at: after.now, .sent)
                unnoted.remove(message.sequence)
                waitsSince[message.sequence] = nil
                backoff.reset()
                restsUntil = nil
                try after.store.clearChannelProblem(of: name)
                if lastProblem != nil { around.say(.goesOn) }
                lastProblem = nil
                if !answer(message.announcement.id, true) { await arrivedLate() }
            case .refused(let words):
                try after.store.endPost(message, from: name, as: claimant, at: after.now, .refused)
                around.say(.dropped(words))
                answer(message.announcement.id, false)
            case .later(let words, let pause):
                note(words)
                try after.store.endPost(message, from: name, as: claimant, at: after.now, .waiting)
                restsUntil = .now + max(pause ?? .zero, backoff.next(chance: around.chance()))
                if channel.sendsLate { try noteWaiting(after.store) }
                trouble(words)
                for id in waiting.keys { answer(id, false) }
            case nil:
                try after.store.endPost(message, from: name, as: claimant, at: after.now, .dropped)
                answer(message.announcement.id, false)
            }
        }
        return checkInterval
    }

    /// Checks whether another process has sent an awaited message.
    /// - Returns: the time until the next check.
    private func checkOtherProcesses(_ store: TrackerStore) throws -> Duration {
        for id in waiting.keys {
            let state = try store.postState(id, at: name)
            if state != .waiting { answer(id, state == .sent) }
        }
        return waiting.isEmpty ? checkInterval : .milliseconds(100)
    }

    /// Sends a message. Returns `nil` if it no longer applies.
    private func attempt(_ message: QueuedNotification, _ plan: NotificationTarget, _ tracker: TrackerAPI) async
        -> DeliveryOutcome?
    {
        let age = age(of: message, tracker)
        guard age < .seconds(channel.lifetime) else {
            waitsSince[message.sequence] = nil
            let what = channel.sendsLate ? "has been waiting for a day" : "is older than 15 minutes"
            around.say(.dropped("\"\(message.announcement.title)\" \(what) and was dropped"))
            return nil
        }
        guard !message.announcement.kind.isWaterline || around.sharesWaterline() else { return nil }
        do {
            return plan.outcome(
                try await plan.client(limit: around.limit).send(try plan.request(message, now: tracker.now)),
                now: tracker.now)
        } catch {
            return .later("\(error)", after: nil)
        }
    }

    /// The waiting time. The wall clock counts only for ntfy messages from before the start, because it can be wrong.
    private func age(of message: QueuedNotification, _ tracker: TrackerAPI) -> Duration {
        if let since = waitsSince[message.sequence] { return .now - since }
        guard channel.sendsLate else { return .seconds(message.since.seconds(to: tracker.now).magnitude) }
        waitsSince[message.sequence] = .now
        return .zero
    }

    /// Starts the wait of all queued messages.
    private func noteWaiting(_ store: TrackerStore) throws {
        let all = Set(try store.waitingPosts(for: name))
        waitsSince = waitsSince.filter { all.contains($0.key) }
        for one in all where waitsSince[one] == nil { waitsSince[one] = .now }
    }

    /// - Returns: whether a delivery waited for the result.
    @discardableResult
    private func answer(_ id: String, _ isShown: Bool) -> Bool {
        guard let all = waiting.removeValue(forKey: id) else { return false }
        for one in all { one.resume(returning: isShown) }
        return true
    }

    func post(_ notification: TrackerNotification, since: Instant, _ tracker: TrackerAPI) throws
        -> QueuedNotification.State
    {
        let (state, sequence, givenUp) = try tracker.store.post(
            notification.announcement, to: name, sendsLate: channel.sendsLate, at: since, makeKey: TrackerAPI.secret)
        if givenUp > 0 { around.say(.dropped("more than \(TrackerStore.queueLimit) queued: the oldest was dropped")) }
        // For ntfy, the age counts from the decision.
        if state == .waiting, !channel.sendsLate || waitsSince[sequence] == nil {
            waitsSince[sequence] = .now - .seconds(channel.sendsLate ? 0 : max(0, since.seconds(to: tracker.now)))
        }
        return state
    }

    private nonisolated func currentPlan() throws -> NotificationTarget? {
        try NotificationTarget(
            channel, try around.overlay(around.tracker().store.settings()).service, person: around.person)
    }

    /// Reads the settings. Returns whether they name a server.
    private func updatePlan() throws -> Bool {
        let new: NotificationTarget?
        do { new = try currentPlan() } catch {
            plan = nil
            // Report errors of the settings only, not of the store.
            if !(error is StoreError) { note("\(error)") }
            throw error
        }
        let store = try around.tracker().store
        if new == nil { try store.clearChannelProblem(of: name) }
        // Start to receive notifications of other channels, or stop if no server is set.
        if new != nil { _ = try store.deliveredThrough(name) } else { try store.stopsHearing(name) }
        guard new != plan else { return new != nil }
        if let new { around.say(.on("\(new)")) } else { around.say(.off) }
        // New settings might resolve the error.
        if let new { try store.clearChannelProblem(of: name, unlessWith: new.mark) }
        plan = new
        (lastProblem, restsUntil) = (nil, nil)
        backoff.reset()
        return new != nil
    }

    private func trouble(_ words: String) {
        guard words != lastProblem, !Task.isCancelled else { return }
        lastProblem = words
        around.say(.trouble(words))
    }

    /// Reports an error in the log and in the state.
    private func note(_ words: String) {
        guard !Task.isCancelled, let tracker = try? around.tracker() else { return }
        try? tracker.store.recordChannelProblem(words, of: name, with: plan?.mark ?? "", at: tracker.now)
    }

    private func rest(_ length: Duration) async {
        guard !isPoked, !Task.isCancelled else { return }
        let pause = Task { _ = try? await Task.sleep(for: length) }
        self.pause = pause
        await withTaskCancellationHandler {
            await pause.value
        } onCancel: {
            pause.cancel()
        }
    }
}
