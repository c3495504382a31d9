import Foundation
import Store
import Synchronization
package import TrackerCore
import TrackerService
import Utilities

/// The MQTT broker as a notification channel. A notification counts as delivered if the broker has confirmed it and a
/// client subscribes to the topic (tracker spec B7, K-B15). Missed notifications are published first, in order.
package final class MQTTChannel: NotificationSink {
    package let name = "mqtt"
    package let timeLimit: Duration

    /// A connection to the broker, with the objects that publish over it.
    struct Link: Sendable {
        var connection: MQTTConnection
        var topics: Topics
        var denials: Denials
        var dependencies: MQTTPublisher.Dependencies
    }

    private struct State {
        var link: Link?
        /// The number of the current connection, counted from the start of the process.
        var number = 0
        /// The published notifications of this connection, oldest first. The broker can confirm them late.
        var sent: [(announcement: Announcement, hasSubscriber: Task<Bool, Never>)] = []
        /// The ids of the confirmed notifications of this connection.
        var confirmed: [String] = []
        /// The time until which missed notifications are not published, because no client subscribes.
        var pausedUntil: ContinuousClock.Instant?
        var backoff = MQTTChannel.initialBackoff
    }

    /// The maximum length of `sent` and `confirmed`.
    private static let historyLimit = 64
    private static let batch = 20
    private static let initialBackoff = Backoff(first: .milliseconds(500), longest: .seconds(300))
    private let state = Mutex(State())
    private let queue = SerialQueue()

    package init(timeLimit: Duration = .seconds(6)) { self.timeLimit = timeLimit }

    func connect(_ link: Link?) { state.withLock { $0 = State(link: link, number: $0.number + 1) } }

    package func canShow() async -> Bool {
        state.withLock { $0.link.map { $0.connection.failure == nil } ?? false }
    }

    package func deliver(_ notification: TrackerNotification) async -> Bool {
        let announcement = notification.announcement
        let result: Task<Bool, Never>? = state.withLock { state in
            guard let link = state.link, link.connection.failure == nil,
                !notification.kind.isWaterline || link.dependencies.sharesWaterline()
            else { return nil }
            if let earlier = state.sent.first(where: { $0.announcement == announcement }) {
                return earlier.hasSubscriber
            }
            let (number, start) = (state.number, ContinuousClock.now)
            let hasSubscriber = queue.enqueue { [self] in
                let hasSubscriber = await publishMissed(link, number) ? await send([notification], link) : false
                guard hasSubscriber else {
                    self.state.withLock { $0.sent.removeAll { $0.announcement == announcement } }
                    return false
                }
                recordConfirmed([notification], number)
                if .now - start > timeLimit { await link.dependencies.storeChanged() }
                return true
            }
            state.sent = (state.sent + [(announcement, hasSubscriber)]).suffix(Self.historyLimit)
            return hasSubscriber
        }
        return await result?.value ?? false
    }

    /// Publishes missed notifications.
    /// - Parameter atOnce: ignores the pause, because a client might have subscribed.
    func catchUp(atOnce: Bool) async {
        let found: (Link, Int)? = state.withLock { state in
            if atOnce { (state.pausedUntil, state.backoff) = (nil, Self.initialBackoff) }
            guard let link = state.link, state.pausedUntil.map({ $0 <= .now }) ?? true else { return nil }
            return (link, state.number)
        }
        guard let (link, number) = found else { return }
        _ = await queue.run { [self] in await publishMissed(link, number) }
    }

    /// Publishes missed notifications. Returns whether the broker has confirmed them and a client subscribes.
    private func publishMissed(_ link: Link, _ number: Int) async -> Bool {
        guard let tracker = try? link.dependencies.tracker(), let through = try? tracker.store.lastProcessed(name),
            let delivered = try? tracker.store.deliveries(after: through)
        else { return false }
        guard let last = delivered.last else { return true }
        let sharedFrom = try? tracker.store.recordSharing(link.dependencies.sharesWaterline())
        let session = (try? tracker.store.activeSession(at: tracker.now))?.session.id
        var waiting = delivered.filter { entry in
            // Notifications of a session stay private if Waterline was not shared at that time.
            !entry.sinks.contains(name)
                && (entry.decision.sessionID == nil || sharedFrom.flatMap { $0 }.map { entry.place > $0 } ?? false)
                && (!entry.decision.kind.isResident || session == entry.decision.sessionID)
        }[...]
        while !waiting.isEmpty {
            let part = Array(waiting.prefix(Self.batch))
            let confirmed = state.withLock { Set($0.confirmed) }
            let unsent = part.map(\.decision).filter { !confirmed.contains($0.notificationId) }
            guard state.withLock({ $0.number == number }) else { return false }
            if !unsent.isEmpty {
                guard await send(unsent, link) else {
                    state.withLock { state in
                        guard state.number == number else { return }
                        state.pausedUntil = .now + state.backoff.next(jitter: 1)
                    }
                    return false
                }
                recordConfirmed(unsent, number)
            }
            guard (try? tracker.store.recordProcessed(part, name, through: part[part.count - 1].place)) != nil else {
                return false
            }
            waiting = waiting.dropFirst(Self.batch)
        }
        return (try? tracker.store.recordProcessed([], name, through: last.place)) != nil
    }

    private func recordConfirmed(_ notifications: [TrackerNotification], _ number: Int) {
        state.withLock { state in
            guard state.number == number else { return }
            state.confirmed = (state.confirmed + notifications.map(\.notificationId)).suffix(Self.historyLimit)
            (state.pausedUntil, state.backoff) = (nil, Self.initialBackoff)
        }
    }

    /// Publishes notifications. Returns whether the broker has confirmed all of them and a client subscribes.
    private func send(_ notifications: [TrackerNotification], _ link: Link) async -> Bool {
        let topic = link.topics.notify
        guard link.denials.canRetry(topic), let tracker = try? link.dependencies.tracker(),
            let snapshot = try? tracker.state()
        else {
            return false
        }
        let messages = notifications.compactMap { notification in
            (try? TrackerAPI.json(NotifyPayload(notification: notification, snapshot: snapshot, now: tracker.now))).map
            {
                MQTTMessage(topic, $0)
            }
        }
        guard messages.count == notifications.count,
            let deliveries = try? await link.connection.publish(messages)
        else { return false }
        for delivery in deliveries { link.denials.record(topic, delivery) }
        return deliveries.allSatisfy { $0 == .accepted(hasSubscriber: true) }
    }
}
