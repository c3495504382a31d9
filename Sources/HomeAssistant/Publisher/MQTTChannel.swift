import Synchronization
package import TrackerCore
import TrackerService

/// The MQTT broker as a notification channel. A notification counts as delivered if the broker has confirmed it and a
/// client subscribes to the topic (tracker spec B7, K-B15).
package final class MQTTChannel: NotificationSink {
    package let name = "mqtt"
    package let timeLimit: Duration

    /// A connection to the broker, with the objects that publish over it.
    struct Link: Sendable {
        var connection: MQTTConnection
        var topics: Topics
        var rejections: Rejections
        var context: PublisherContext
        /// Called after a late confirmation.
        var storeChanged: @Sendable () async -> Void
    }

    private struct State {
        var link: Link?
        /// The last confirmed notifications of the link. The broker can confirm one after its delivery has stopped
        /// waiting. Another broker has not received them, and after a purge the same ids name other notifications.
        var confirmed: [Announcement] = []
    }

    /// The maximum length of `confirmed`.
    private static let historyLimit = 64
    private let state = Mutex(State())

    package init(timeLimit: Duration = .seconds(6)) { self.timeLimit = timeLimit }

    func connect(_ link: Link?) { state.withLock { $0 = State(link: link) } }

    private var link: Link? { state.withLock { $0.link }.flatMap { $0.connection.failure == nil ? $0 : nil } }

    package func canShow() async -> Bool { link != nil }

    package func deliver(_ notification: TrackerNotification) async -> Bool {
        let (announcement, start) = (notification.announcement, ContinuousClock.now)
        guard let link, !notification.kind.isWaterline || link.context.sharesWaterline() else { return false }
        guard !state.withLock({ $0.confirmed.contains(announcement) }) else { return true }
        guard await publish(notification, link) else { return false }
        state.withLock {
            guard $0.link?.connection === link.connection else { return }
            $0.confirmed = ($0.confirmed + [announcement]).suffix(Self.historyLimit)
        }
        if .now - start > timeLimit { await link.storeChanged() }
        return true
    }

    /// Publishes a notification. Returns whether the broker has confirmed it and a client subscribes.
    private func publish(_ notification: TrackerNotification, _ link: Link) async -> Bool {
        let topic = link.topics.notify
        guard link.rejections.canRetry(topic), let tracker = try? link.context.tracker(),
            let snapshot = try? tracker.state(),
            let text = try? TrackerAPI.json(
                NotifyPayload(notification: notification, snapshot: snapshot, now: tracker.now)),
            let delivery = try? await link.connection.publish([MQTTMessage(topic, text)]).first
        else { return false }
        link.rejections.record(topic, delivery)
        return delivery == .accepted(hasSubscriber: true)
    }
}
