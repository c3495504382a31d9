import Store
import TrackerCore

extension TrackerDesk {
    /// The notifications that somebody was shown, so many at most.
    package func shown(limit: Int = 50) throws -> ShownReport {
        ShownReport(
            notifications: try store.notifications(limit: limit).map { sent in
                ShownReport.Line(
                    id: sent.id, kind: NotificationKind(rawValue: sent.kind)?.id ?? sent.kind, sentAt: sent.sentAt,
                    sinks: sent.sinks, missed: sent.missed)
            })
    }
}
