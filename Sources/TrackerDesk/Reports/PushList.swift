/// The browsers that notifications are pushed to.
public struct PushList: Hashable, Sendable, Encodable {
    /// In the order of coming.
    public let subscriptions: [PushReport]
}
