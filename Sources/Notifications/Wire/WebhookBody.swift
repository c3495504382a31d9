import Store
import TrackerCore

/// The JSON body of a webhook request, in the form of Standard Webhooks (standardwebhooks.com).
struct WebhookBody: Encodable {
    struct Notification: Encodable {
        /// The message id, which is equal in each attempt.
        var id: String
        var kind: String
        var title: String
        var body: String
        /// `low`, `normal` or `critical`.
        var urgency: String
        var sound: Bool
        /// The address of the notification's page, or empty.
        var page: String
        /// The instance name of the service, or empty.
        var person: String
        /// The time of the decision in ISO 8601.
        var at: String
        /// The time of the decision, in seconds since 1970.
        var timestamp: Int
    }

    var type = "notification"
    /// The time of the decision in ISO 8601.
    var timestamp: String
    var data: Notification

    init(_ message: QueuedNotification, _ target: NotificationTarget) {
        let announcement = message.announcement
        timestamp = message.since.description
        data = Notification(
            id: announcement.id, kind: announcement.kind.id, title: announcement.title, body: announcement.body,
            urgency: "\(announcement.urgency)", sound: announcement.sound,
            page: target.page(announcement.kind.page) ?? "", person: target.instance ?? "", at: timestamp,
            timestamp: Int((Double(message.since.milliseconds) / 1000).rounded(.down)))
    }
}
