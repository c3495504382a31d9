import Store
import TrackerCore
import TrackerDesk

/// A notification as a webhook takes it where nobody wants it otherwise (standardwebhooks.com: type, timestamp, data).
struct WebhookBody: Encodable {
    var type = "notification"
    var timestamp: String
    var data: [String: WebhookField.Value]

    init(_ message: PocketMessage, _ plan: PocketPlan) {
        timestamp = message.since.description
        data = Dictionary(
            uniqueKeysWithValues: WebhookField.allCases.map { ($0.rawValue, $0.value(of: message, plan)) })
    }
}
