/// Where notifications are sent: the settings `ntfy.…` and `webhook.…` of tracker law Section 11.
public struct ChannelSettings: Hashable, Sendable {
    /// Nobody.
    public init() {}

    /// Its address, http or https; `nil`: nobody is told.
    public internal(set) var url: String?
    /// What the server wants to be shown: itself, or the file it stands in. Never shown.
    public internal(set) var token: String?
    /// The file that holds the credential instead.
    public internal(set) var tokenFile: String?
    /// A file in PEM: whom we believe to be the server.
    public internal(set) var caFile: String?
}
