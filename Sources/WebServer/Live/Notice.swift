import NIOCore
import TrackerCore
import TrackerService

/// A notification on its way to whoever watches.
struct Notice: Sendable {
    /// So long after it was decided it is history: nobody should act as if it were now.
    static let lateSeconds: Double = 900

    /// In the order of everything that is told; the event's id.
    var place: Int64
    var bytes: ByteBuffer
    var isWaterline: Bool

    /// - Parameter now: when it is said.
    init(_ notification: TrackerNotification, now: Instant) {
        let at = notification.decidedAt ?? now
        place = notification.place
        bytes = Wire.json(
            Words(
                report: NotificationReport(notification, isShown: true), at: at,
                isHistorical: at.seconds(to: now) > Self.lateSeconds))
        isWaterline = notification.kind.isWaterline
    }

    private struct Words: Encodable {
        var report: NotificationReport
        var at: Instant
        var isHistorical: Bool

        private enum CodingKeys: String, CodingKey { case at, historical }

        func encode(to encoder: any Encoder) throws {
            try report.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(at.wholeSeconds, forKey: .at)
            try container.encode(isHistorical, forKey: .historical)
        }
    }
}

/// What a client that comes back is told where not everything that it missed comes again.
struct Gap: Encodable {
    enum Reason: String, Encodable {
        /// More was told since than is remembered, or than is said again.
        case tooFarBehind
        /// The store has never given that id.
        case unknown
    }

    var reason: Reason
    var lastEventId: Int64
}
