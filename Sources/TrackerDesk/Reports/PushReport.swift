import Store
import TrackerCore

/// A browser that notifications are pushed to, without what would let somebody else push there.
public struct PushReport: Hashable, Sendable, Encodable {
    /// As the browser works it out itself.
    public let id: String
    /// What its person knows it by.
    public let label: String
    /// In UTC.
    public let since: String
    /// Of its push service, which sees when something is sent, and no words.
    public let service: String

    init(_ subscription: PushSubscription) {
        (id, label, since) = (subscription.id, subscription.label, subscription.since.description)
        service = String(subscription.endpoint.dropFirst("https://".count).prefix { !"/?#".contains($0) })
    }
}
