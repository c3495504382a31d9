import Logging
import Store
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
    /// The time for which a delivery waits for the server. A later acceptance counts at the next evaluation.
    static let deliveryWait = Duration.seconds(4)
    private static let stateInterval = Duration.milliseconds(100)

    private let channel: NotificationChannel
    private nonisolated let context: PublisherContext
    private let instance: String?
    private let limit: Duration
    /// The name of the channel in reports and in the store.
    package nonisolated let name: String
    private let senderID: String
    /// The interval between checks of the settings, and of the messages that other processes send.
    private var checkInterval: Duration { DayObserver.checkInterval(hasFileEvents: context.watch != nil) }
    private var target: NotificationTarget?
    private let pause = Pause()
    private var backoff = Backoff(first: .seconds(2), longest: .seconds(300))
    private var pausedUntil: ContinuousClock.Instant?
    /// The time since which the server has accepted nothing. Monotonic, because the wall clock can be wrong.
    private var failingSince: ContinuousClock.Instant?
    private var lastProblem: String?
    private var isStopped = false
    /// The ids of the notifications whose deliveries wait for the server.
    private var awaited: Set<String> = []
    /// When ntfy's notifications of this process were decided, by id. Monotonic, because the wall clock can be set.
    private var queuedSince: [String: ContinuousClock.Instant] = [:]
    /// The sequence numbers of sent messages that the store has not recorded yet.
    private var unrecorded: Set<Int64> = []

    /// - Parameters:
    ///   - instance: the service's instance name.
    ///   - limit: the time limit of a request.
    package init(
        _ channel: NotificationChannel, _ context: PublisherContext, instance: String?, limit: Duration = .seconds(10)
    ) {
        (self.channel, name, self.context) = (channel, channel.rawValue, context)
        (self.instance, self.limit) = (instance, limit)
        senderID = "\(channel.rawValue)-\(String(UInt64.random(in: .min ... .max), radix: 36))"
    }

    /// Runs until its task is cancelled.
    /// - Parameter arrivedLate: called when a message is accepted after its delivery has stopped waiting.
    package func run(arrivedLate: @Sendable () async -> Void = {}) async {
        let observation = DayObserver.observe(context.watch) { [weak self] in await self?.checkNow() }
        defer { observation?.cancel() }
        isStopped = false
        while !Task.isCancelled {
            var length = checkInterval
            do {
                if try updateTarget() {
                    try queueMissed(context.tracker())
                    length = min(length, try await sendAll(arrivedLate))
                }
            } catch {
                report("\(error)")
                length = DayObserver.shortCheckInterval
            }
            await pause.wait { [length] in try? await Task.sleep(for: length) }
        }
        isStopped = true
    }

    /// Checks the queue and the settings at once.
    package func checkNow() { pause.end() }

    // MARK: - NotificationSink

    package nonisolated func canShow() async -> Bool { (try? currentTarget()) != nil }

    /// Stores the notification after earlier ones, and waits a few seconds for the server.
    package func deliver(_ notification: TrackerNotification) async -> Bool {
        guard (try? currentTarget()) != nil, channel.sends(notification.kind),
            !notification.kind.isWaterline || context.sharesWaterline()
        else { return false }
        let (id, start) = (notification.notificationId, ContinuousClock.now)
        awaited.insert(id)
        defer { awaited.remove(id) }
        do {
            let tracker = try context.tracker()
            try queueMissed(tracker, before: notification)
            try post(notification, since: tracker.now, tracker)
            checkNow()
            // During a pause, the message stays queued and is sent afterwards. Another process can send it, too.
            while try tracker.store.queuedState(id, at: name) == .waiting, remainingPause == nil, !isStopped,
                .now - start < Self.deliveryWait
            {
                try await Task.sleep(for: Self.stateInterval)
            }
            return try tracker.store.queuedState(id, at: name) == .sent
        } catch {
            report("\(error)")
            return false
        }
    }

    /// Removes a notification that no longer applies from the queue. A webhook receives all notifications.
    package func close(id: String) async {
        guard !channel.sendsLate else { return }
        try? context.tracker().store.dropNotifications(id, from: name)
    }

    // MARK: - Sending

    private var remainingPause: Duration? { pausedUntil.flatMap { $0 > .now ? $0 - .now : nil } }

    /// Sends the queue in order, until it is empty or the server requires a pause.
    /// - Returns: the time until the next attempt.
    private func sendAll(_ arrivedLate: @Sendable () async -> Void) async throws -> Duration {
        guard let target else { return checkInterval }
        while !Task.isCancelled {
            if let remainingPause { return remainingPause }
            let tracker = try context.tracker()
            let message: QueuedNotification
            switch try tracker.store.claimNextNotification(from: name, as: senderID, at: tracker.now) {
            case .message(let next): message = next
            case .busy: return awaited.isEmpty ? DayObserver.shortCheckInterval : .milliseconds(100)
            case .nothing:
                queuedSince = [:]
                return checkInterval
            }
            // A message that was sent and could not be recorded (full disk) is not sent again.
            let outcome = unrecorded.contains(message.sequence) ? .sent : await attempt(message, target, tracker)
            let after = try context.tracker()
            func finish(_ state: QueuedNotification.State) throws {
                try after.store.finishNotification(message, from: name, as: senderID, at: after.now, state)
                if state != .waiting { queuedSince[message.announcement.id] = nil }
            }
            switch outcome {
            case .sent:
                unrecorded.insert(message.sequence)
                try finish(.sent)
                unrecorded.remove(message.sequence)
                endPause()
                try after.store.clearProblem(of: name)
                if lastProblem != nil { context.log.notice("\(channel.title) continues.") }
                lastProblem = nil
                if !awaited.contains(message.announcement.id) { await arrivedLate() }
            case .rejected(let problem):
                try finish(.rejected)
                logDropped(problem)
            case .later(let problem, let pause):
                storeProblem(problem)
                try finish(.waiting)
                failingSince = failingSince ?? .now
                pausedUntil = .now + max(pause ?? .zero, backoff.next(jitter: context.randomFraction()))
                report(problem)
            case nil: try finish(.dropped)
            }
        }
        return checkInterval
    }

    /// Sends a message. Returns `nil` if it no longer applies.
    private func attempt(_ message: QueuedNotification, _ target: NotificationTarget, _ tracker: TrackerAPI) async
        -> DeliveryOutcome?
    {
        guard !isOld(message, at: tracker.now) else {
            let reason = channel.sendsLate ? "has been waiting for a day" : "is older than 15 minutes"
            logDropped("\"\(message.announcement.title)\" \(reason) and was dropped")
            return nil
        }
        guard !message.announcement.kind.isWaterline || context.sharesWaterline() else { return nil }
        do {
            return target.outcome(
                try await target.client(limit: limit).send(try target.request(message, now: tracker.now)))
        } catch {
            return .later("\(error)", after: nil)
        }
    }

    /// Whether to drop a message. The wall clock can be wrong, so ntfy uses it only for messages from before the start
    /// of this process, and a webhook must also have failed for that time.
    private func isOld(_ message: QueuedNotification, at now: Instant) -> Bool {
        if let since = queuedSince[message.announcement.id] { return .now - since >= .seconds(channel.lifetime) }
        guard message.since.seconds(to: now).magnitude >= channel.lifetime else { return false }
        return !channel.sendsLate || failingSince.map { .now - $0 >= .seconds(channel.lifetime) } ?? false
    }

    private func endPause() {
        (pausedUntil, failingSince) = (nil, nil)
        backoff.reset()
    }

    /// Queues the notifications that other channels have delivered, in order and once each. ntfy does not get those
    /// that no longer apply, that a later one replaced, or that are 15 minutes old.
    /// - Parameter next: the notification to deliver next.
    private func queueMissed(_ tracker: TrackerAPI, before next: TrackerNotification? = nil) throws {
        let rule = CatchUpRule(
            skipsOutdated: !channel.sendsLate, lifetime: channel.sendsLate ? .infinity : channel.lifetime,
            hidesEndedSessions: !channel.sendsLate, sharesWaterline: context.sharesWaterline)
        let missed = try tracker.missed(by: name, rule, before: next)
        guard let last = missed.last else { return }
        for (entry, action) in missed where action == .deliver && channel.sends(entry.decision.kind) {
            let decision = entry.decision
            guard try tracker.store.queuedState(decision.notificationId, at: name) == nil else { continue }
            try post(decision, since: decision.decidedAt ?? tracker.now, tracker)
        }
        try tracker.store.recordProcessed([], name, through: last.entry.position)
    }

    private func post(_ notification: TrackerNotification, since: Instant, _ tracker: TrackerAPI) throws {
        let droppedCount = try tracker.store.enqueue(
            notification.announcement, to: name, sendsLate: channel.sendsLate, at: since, makeKey: TrackerAPI.secret)
        if !channel.sendsLate {
            queuedSince[notification.notificationId] = .now - .seconds(max(0, since.seconds(to: tracker.now)))
        }
        if droppedCount > 0 {
            logDropped("more than \(TrackerStore.queueLimit) queued: the oldest was dropped")
        }
    }

    private nonisolated func currentTarget() throws -> NotificationTarget? {
        try NotificationTarget(channel, try context.settings(), instance: instance)
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
        let store = try context.tracker().store
        if new == nil { try store.clearProblem(of: name) }
        // Start to receive notifications of other channels, or stop if no server is set.
        if new != nil { _ = try store.lastProcessed(name) } else { try store.removeChannel(name) }
        guard new != target else { return new != nil }
        if let new {
            context.log.notice("Notifications go to \(new).")
        } else {
            context.log.notice("\(channel.title): no server is set.")
        }
        // New settings might resolve the error.
        if let new { try store.clearProblem(of: name, unlessWith: new.fingerprint) }
        target = new
        lastProblem = nil
        endPause()
        return new != nil
    }

    private func report(_ problem: String) {
        guard problem != lastProblem, !Task.isCancelled else { return }
        lastProblem = problem
        context.log.warning("\(channel.title): \(asSentence(problem)) It is retried automatically.")
    }

    private func logDropped(_ reason: String) { context.log.warning("\(channel.title): \(asSentence(reason))") }

    /// Stores an error, which `status` and `doctor` show.
    private func storeProblem(_ problem: String) {
        guard !Task.isCancelled, let tracker = try? context.tracker() else { return }
        try? tracker.store.recordProblem(problem, of: name, with: target?.fingerprint ?? "", at: tracker.now)
    }
}
