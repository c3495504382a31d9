/// Where notifications are sent: the settings `ntfy.…` and `webhook.…` of tracker spec Section 11.
package struct ChannelSettings: Hashable, Sendable {
    /// Nobody.
    package init() {}

    /// Its address, http or https; `nil`: nobody is told.
    package internal(set) var url: String?
    /// What the server wants to be shown: itself, or the file it stands in. Never shown.
    package internal(set) var token: String?
    /// The file that holds the credential instead.
    package internal(set) var tokenFile: String?
    /// A file in PEM: whom we believe to be the server.
    package internal(set) var caFile: String?
}
