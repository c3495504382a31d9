/// A notification channel: the settings `ntfy.…` and `webhook.…` (tracker spec Section 11).
package struct ChannelSettings: Hashable, Sendable {
    package init() {}

    /// The http or https address; `nil` switches the channel off.
    package internal(set) var url: String?
    /// The access token, never displayed.
    package internal(set) var token: String?
    /// The file with the access token.
    package internal(set) var tokenFile: String?
    /// The PEM file with the CA certificate of the server.
    package internal(set) var caFile: String?
}
