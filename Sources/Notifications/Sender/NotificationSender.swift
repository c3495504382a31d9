package import Store
package import TrackerCore
package import TrackerService
import Utilities

/// Sends notifications to ntfy or a webhook while a service runs (tracker spec Section 10.8).
///
/// A notification is queued in the store until the server accepts it, so that a restart neither loses nor repeats it.
/// It counts as shown when it is accepted (tracker spec B7, K-B15). ntfy does not get a notification that is 15 minutes
/// old, that no longer applies, or that a later one of its kind replaced. A webhook gets every notification that is
/// less than a day old.
package actor NotificationSender: NotificationSink {
    package struct Dependencies: Sendable {
        /// Creates an application API for one request.
        package var tracker: @Sendable () throws -> TrackerAPI
        /// Applies the configuration to the settings.
        package var overlay: @Sendable (Settings) throws -> Settings
        /// The service's instance name.
        package var person: String?
        /// Whether Waterline is shown on other machines.
        package var sharesWaterline: @Sendable () -> Bool
        /// Reports writes to the store by any process. If `nil`, the store is polled.
        package var watch: StoreWatch?
        /// Receives events for the log.
        package var log: @Sendable (LogEvent) -> Void
        /// Returns a random number from 0 to 1.
        package var randomFraction: @Sendable () -> Double
        package var limit: Duration

        package init(
            tracker: @escaping @Sendable () throws -> TrackerAPI,
            overlay: @escaping @Sendable (Settings) throws -> Settings = { $0 }, person: String? = nil,
            sharesWaterline: @escaping @Sendable () -> Bool,
            watch: StoreWatch? = nil,
            log: @escaping @Sendable (LogEvent) -> Void,
            randomFraction: @escaping @Sendable () -> Double = { .random(in: 0...1) }, limit: Duration = .seconds(10)
        ) {
            (self.tracker, self.overlay, self.person, self.sharesWaterline, self.watch) = (
                tracker, overlay, person, sharesWaterline, watch
            )
            (self.log, self.randomFraction, self.limit) = (log, randomFraction, limit)
        }
    }

    /// Events for the log; a repeated one is reported once.
    package enum LogEvent: Hashable, Sendable {
        case enabled(String)
        case failed(String)
        case resumed
        /// The settings name no server.
        case disabled
        /// A notification was dropped, with the reason.
        case dropped(String)
    }

    /// The time for which a delivery waits for the server. A later acceptance counts at the next evaluation.
    static let deliveryWait = Duration.seconds(4)

    nonisolated let channel: NotificationChannel
    nonisolated let dependencies: Dependencies
    /// The name of the channel in reports and in the store.
    package nonisolated let name: String
    private let senderID: String
    /// The interval between checks of the settings, and of the messages that other processes send.
    private var checkInterval: Duration { DayObserver.checkInterval(hasFileEvents: dependencies.watch != nil) }
    private var target: NotificationTarget?
    private let pause = Pause()
    private var backoff = Backoff(first: .seconds(2), longest: .seconds(300))
    private var pausedUntil: ContinuousClock.Instant?
    private var lastProblem: String?
    /// Deliveries that wait for a result, by notification id.
    private var waiting: [String: [CheckedContinuation<Bool, Never>]] = [:]
    /// The time since which each message is queued, by sequence number. Monotonic, because the wall clock can be wrong.
    private var waitStarts: [Int64: ContinuousClock.Instant] = [:]
    /// The sequence numbers of sent messages that the store has not recorded yet.
    private var unrecorded: Set<Int64> = []

    package init(_ channel: NotificationChannel, _ dependencies: Dependencies) {
        (self.channel, self.dependencies, name) = (channel, dependencies, channel.rawValue)
        senderID =
            "\(channel.rawValue)-\((0..<4).map { _ in String(UInt32.random(in: .min ... .max), radix: 36) }.joined())"
    }

    /// Runs until its task is cancelled.
    /// - Parameter arrivedLate: called when a message is accepted after its delivery has stopped waiting.
    package func run(arrivedLate: @Sendable () async -> Void = {}) async {
        let waking = DayObserver.waking(dependencies.watch) { [weak self] in await self?.checkNow() }
        defer { waking?.cancel() }
        while !Task.isCancelled {
            var length = checkInterval
            do {
                if try updateTarget() {
                    try queueMissed(dependencies.tracker())
                    length = min(length, try await sendAll(arrivedLate))
                }
            } catch {
                report("\(error)")
                length = DayObserver.shortCheckInterval
            }
            await pause.wait { [length] in try? await Task.sleep(for: length) }
        }
        for id in waiting.keys { finishDelivery(id, false) }
    }

    /// Checks the queue and the settings at once.
    package func checkNow() { pause.end() }

    // MARK: - As a sink

    package nonisolated func canShow() async -> Bool { (try? currentTarget()) != nil }

    /// Stores the notification, sends earlier ones first, and waits a few seconds for the server.
    package func deliver(_ notification: TrackerNotification) async -> Bool {
        guard (try? currentTarget()) != nil, channel.sends(notification.kind),
            !notification.kind.isWaterline || dependencies.sharesWaterline()
        else { return false }
        do {
            let tracker = try dependencies.tracker()
            try queueMissed(tracker, before: notification)
            guard try post(notification, since: tracker.now, tracker) == .waiting else {
                return try tracker.store.queuedState(notification.notificationId, at: name) == .sent
            }
        } catch {
            report("\(error)")
            return false
        }
        // During a pause, the message stays queued and is sent afterwards.
        if let pausedUntil, pausedUntil > .now { return false }
        let id = notification.notificationId
        checkNow()
        return await withCheckedContinuation { continuation in
            waiting[id, default: []].append(continuation)
            Task {
                try? await Task.sleep(for: Self.deliveryWait)
                finishDelivery(id, false)
            }
        }
    }

    /// Removes a notification that no longer applies from the queue. A webhook receives all notifications.
    package func close(id: String) async {
        guard !channel.sendsLate else { return }
        try? dependencies.tracker().store.dropNotifications(id, from: name)
    }

    // MARK: - Sending

    /// Sends the queue in order, until it is empty or the server requires a pause.
    /// - Returns: the time until the next attempt.
    private func sendAll(_ arrivedLate: @Sendable () async -> Void) async throws -> Duration {
        guard let target else { return checkInterval }
        while !Task.isCancelled {
            if let pausedUntil, pausedUntil > .now { return pausedUntil - .now }
            let tracker = try dependencies.tracker()
            let message: QueuedNotification
            switch try tracker.store.claimNextNotification(from: name, as: senderID, at: tracker.now) {
            case .message(let next): message = next
            case .busy: return try min(DayObserver.shortCheckInterval, checkOtherProcesses(tracker.store))
            case .nothing: return try checkOtherProcesses(tracker.store)
            }
            // A message that was sent and could not be recorded (full disk) is not sent again.
            let outcome = unrecorded.contains(message.sequence) ? .sent : await attempt(message, target, tracker)
            let after = try dependencies.tracker()
            switch outcome {
            case .sent:
                unrecorded.insert(message.sequence)
                try after.store.finishNotification(message, from: name, as: senderID, at: after.now, .sent)
                unrecorded.remove(message.sequence)
                waitStarts[message.sequence] = nil
                backoff.reset()
                pausedUntil = nil
                try after.store.clearChannelProblem(of: name)
                if lastProblem != nil { dependencies.log(.resumed) }
                lastProblem = nil
                if !finishDelivery(message.announcement.id, true) { await arrivedLate() }
            case .refused(let problem):
                try after.store.finishNotification(message, from: name, as: senderID, at: after.now, .refused)
                dependencies.log(.dropped(problem))
                finishDelivery(message.announcement.id, false)
            case .later(let problem, let pause):
                storeProblem(problem)
                try after.store.finishNotification(message, from: name, as: senderID, at: after.now, .waiting)
                pausedUntil = .now + max(pause ?? .zero, backoff.next(jitter: dependencies.randomFraction()))
                if channel.sendsLate { try startWaits(after.store) }
                report(problem)
                for id in waiting.keys { finishDelivery(id, false) }
            case nil:
                try after.store.finishNotification(message, from: name, as: senderID, at: after.now, .dropped)
                finishDelivery(message.announcement.id, false)
            }
        }
        return checkInterval
    }

    /// Checks whether another process has sent an awaited message.
    /// - Returns: the time until the next check.
    private func checkOtherProcesses(_ store: TrackerStore) throws -> Duration {
        for id in waiting.keys {
            let state = try store.queuedState(id, at: name)
            if state != .waiting { finishDelivery(id, state == .sent) }
        }
        return waiting.isEmpty ? checkInterval : .milliseconds(100)
    }

    /// Sends a message. Returns `nil` if it no longer applies.
    private func attempt(_ message: QueuedNotification, _ target: NotificationTarget, _ tracker: TrackerAPI) async
        -> DeliveryOutcome?
    {
        let age = age(of: message, tracker)
        guard age < .seconds(channel.lifetime) else {
            waitStarts[message.sequence] = nil
            let reason = channel.sendsLate ? "has been waiting for a day" : "is older than 15 minutes"
            dependencies.log(.dropped("\"\(message.announcement.title)\" \(reason) and was dropped"))
            return nil
        }
        guard !message.announcement.kind.isWaterline || dependencies.sharesWaterline() else { return nil }
        do {
            return target.outcome(
                try await target.client(limit: dependencies.limit).send(try target.request(message, now: tracker.now)),
                now: tracker.now)
        } catch {
            return .later("\(error)", after: nil)
        }
    }

    /// The time for which a message is queued. The wall clock, which can be wrong, is used only for ntfy messages that
    /// were queued before this process started.
    private func age(of message: QueuedNotification, _ tracker: TrackerAPI) -> Duration {
        if let since = waitStarts[message.sequence] { return .now - since }
        guard channel.sendsLate else { return .seconds(message.since.seconds(to: tracker.now).magnitude) }
        waitStarts[message.sequence] = .now
        return .zero
    }

    /// Starts to measure the waiting time of all queued messages.
    private func startWaits(_ store: TrackerStore) throws {
        let all = Set(try store.waitingNotifications(for: name))
        waitStarts = waitStarts.filter { all.contains($0.key) }
        for sequence in all where waitStarts[sequence] == nil { waitStarts[sequence] = .now }
    }

    /// Resumes the deliveries that wait for the result of this notification.
    /// - Returns: whether a delivery waited for the result.
    @discardableResult
    private func finishDelivery(_ id: String, _ isShown: Bool) -> Bool {
        guard let all = waiting.removeValue(forKey: id) else { return false }
        for continuation in all { continuation.resume(returning: isShown) }
        return true
    }

    func post(_ notification: TrackerNotification, since: Instant, _ tracker: TrackerAPI) throws
        -> QueuedNotification.State
    {
        let (state, sequence, droppedCount) = try tracker.store.enqueue(
            notification.announcement, to: name, sendsLate: channel.sendsLate, at: since, makeKey: TrackerAPI.secret)
        if droppedCount > 0 {
            dependencies.log(.dropped("more than \(TrackerStore.queueLimit) queued: the oldest was dropped"))
        }
        // The age of an ntfy message is measured from the decision.
        if state == .waiting, !channel.sendsLate || waitStarts[sequence] == nil {
            waitStarts[sequence] = .now - .seconds(channel.sendsLate ? 0 : max(0, since.seconds(to: tracker.now)))
        }
        return state
    }

    private nonisolated func currentTarget() throws -> NotificationTarget? {
        try NotificationTarget(
            channel, try dependencies.overlay(dependencies.tracker().store.settings()).service,
            person: dependencies.person)
    }

    /// Reads the settings. Returns whether they name a server.
    private func updateTarget() throws -> Bool {
        let new: NotificationTarget?
        do { new = try currentTarget() } catch {
            target = nil
            // Report errors of the settings only, not of the store.
            if !(error is StoreError) { storeProblem("\(error)") }
            throw error
        }
        let store = try dependencies.tracker().store
        if new == nil { try store.clearChannelProblem(of: name) }
        // Start to receive notifications of other channels, or stop if no server is set.
        if new != nil { _ = try store.lastProcessed(name) } else { try store.removeChannel(name) }
        guard new != target else { return new != nil }
        if let new { dependencies.log(.enabled("\(new)")) } else { dependencies.log(.disabled) }
        // New settings might resolve the error.
        if let new { try store.clearChannelProblem(of: name, unlessWith: new.fingerprint) }
        target = new
        (lastProblem, pausedUntil) = (nil, nil)
        backoff.reset()
        return new != nil
    }

    private func report(_ problem: String) {
        guard problem != lastProblem, !Task.isCancelled else { return }
        lastProblem = problem
        dependencies.log(.failed(problem))
    }

    /// Stores an error, which `status` and `doctor` show.
    private func storeProblem(_ problem: String) {
        guard !Task.isCancelled, let tracker = try? dependencies.tracker() else { return }
        try? tracker.store.recordChannelProblem(problem, of: name, with: target?.fingerprint ?? "", at: tracker.now)
    }
}
