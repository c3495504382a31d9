import NIOCore
import TrackerCore
import TrackerService

/// A notification in the form in which event streams send it.
struct NotificationEvent: Sendable {
    /// The age after which a notification is marked as historical, so that clients do not act on it.
    static let lateSeconds: Double = 900

    /// The position in the order of all notifications, which is the event's ID.
    var position: Int64
    var bytes: ByteBuffer
    var isWaterline: Bool

    init(_ notification: TrackerNotification, now: Instant) {
        let at = notification.decidedAt ?? now
        position = notification.position
        bytes = .json(
            EventData(
                report: NotificationReport(notification, isShown: true), at: at,
                isHistorical: at.seconds(to: now) > Self.lateSeconds))
        isWaterline = notification.kind.isWaterline
    }

    private struct EventData: Encodable {
        var report: NotificationReport
        var at: Instant
        var isHistorical: Bool

        func encode(to encoder: any Encoder) throws {
            try report.encode(to: encoder)
            try encoder.encode(["at": at.wholeSeconds, "historical": isHistorical])
        }
    }
}

/// Sent to a reconnecting client if not all missed events can be sent again.
struct Gap: Encodable {
    enum Reason: String, Encodable {
        /// The client missed more events than are stored or sent again.
        case tooFarBehind
        /// This store has never issued the client's last ID.
        case unknown
    }

    var reason: Reason
    var lastEventId: Int64
}
