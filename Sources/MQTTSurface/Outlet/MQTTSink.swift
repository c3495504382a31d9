import Foundation
import MQTT
import Synchronization
import TrackerCore
import TrackerDesk

/// The broker as a place where notifications are shown: what it has confirmed, and somebody listens to, counts as told (tracker law B7, K-B15).
///
/// What was sent and is not confirmed yet may still arrive: it is not sent again in the same connection, however often it is asked for. A connection that ends
/// without a confirmation leaves nobody who could tell, and the next one sends it again.
public final class MQTTSink: NotificationSink {
    /// Always `mqtt`.
    public let name = "mqtt"
    /// How long a confirmation may take.
    public let limit: Duration

    /// What there is to speak to right now.
    struct Connection: Sendable {
        var session: MQTTSession
        var topics: Topics
        var desk: @Sendable () throws -> TrackerDesk
        var sharesWaterline: @Sendable () -> Bool
        /// Called when the broker confirms what nobody waited for any more: it counts at the next look.
        var confirmedLate: @Sendable () async -> Void = {}
    }

    private struct Held {
        var connection: Connection?
        /// What was sent in this connection, and what became of it, oldest first.
        var sent: [(what: Announcement, answer: Task<Bool, Never>)] = []
    }

    /// So much that was sent is remembered. Far less is ever asked for again.
    private static let memory = 64
    private let held = Mutex(Held())

    /// With the usual limit of six seconds.
    public convenience init() { self.init(limit: .seconds(6)) }

    /// - Parameter limit: so long somebody waits for the broker.
    init(limit: Duration) { self.limit = limit }

    func connect(_ new: Connection?) { held.withLock { $0 = Held(connection: new) } }

    public func canShow() async -> Bool { held.withLock { $0.connection.map { $0.session.failure == nil } ?? false } }

    public func deliver(_ notification: TrackerNotification) async -> Bool {
        let what = notification.announcement
        let answer: Task<Bool, Never>? = held.withLock { held in
            guard let connection = held.connection, connection.session.failure == nil else { return nil }
            guard !notification.kind.isWaterline || connection.sharesWaterline() else { return nil }
            if let known = held.sent.first(where: { $0.what == what }) { return known.answer }
            let limit = limit
            let answer = Task {
                let began = ContinuousClock.now
                let isHeard = await Self.send(notification, connection)
                // What nobody hears is not told: it comes again, here or on another surface.
                if !isHeard { self.forget(what) }
                if isHeard, ContinuousClock.now - began > limit { await connection.confirmedLate() }
                return isHeard
            }
            held.sent.append((what, answer))
            if held.sent.count > Self.memory { held.sent.removeFirst() }
            return answer
        }
        return await answer?.value ?? false
    }

    private static func send(_ notification: TrackerNotification, _ connection: Connection) async -> Bool {
        guard let snapshot = try? connection.desk().state(), let text = try? TrackerDesk.json(NotifyPayload(notification: notification, snapshot: snapshot)) else { return false }
        return (try? await connection.session.publish([MQTTMessage(connection.topics.notify, text)])) ?? false
    }

    private func forget(_ what: Announcement) { held.withLock { $0.sent.removeAll { $0.what == what } } }
}
