import Foundation
import MQTT
import Synchronization
import TrackerCore
import TrackerDesk

/// The broker as a place where notifications are shown: what it has confirmed, and somebody listens to, counts as told (tracker law B7, K-B15).
public final class MQTTSink: NotificationSink {
    public let name = "mqtt"

    /// What there is to speak to right now.
    struct Connection: Sendable {
        var session: MQTTSession
        var topics: Topics
        var desk: @Sendable () throws -> TrackerDesk
        var sharesWaterline: @Sendable () -> Bool
    }

    private let connection = Mutex<Connection?>(nil)

    public init() {}

    func connect(_ new: Connection?) { connection.withLock { $0 = new } }

    private var current: Connection? {
        guard let connection = connection.withLock({ $0 }), connection.session.failure == nil else { return nil }
        return connection
    }

    public func canShow() async -> Bool { current != nil }

    public func deliver(_ notification: TrackerNotification) async -> Bool {
        guard let connection = current else { return false }
        guard notification.sessionID == nil || connection.sharesWaterline() else { return false }
        guard let snapshot = try? connection.desk().state() else { return false }
        guard let text = try? TrackerDesk.json(NotifyPayload(notification: notification, snapshot: snapshot)) else { return false }
        do {
            // What nobody hears is not told: it comes again, here or on another surface.
            return try await connection.session.publish([MQTTMessage(connection.topics.notify, text)])
        } catch {
            return false
        }
    }
}
