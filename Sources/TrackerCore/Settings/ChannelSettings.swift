/// A notification channel: the settings `ntfy.…` and `webhook.…` (tracker spec Section 11).
package struct ChannelSettings: Hashable, Sendable {
    package init() {}

    /// The http or https address; `nil` disables the channel.
    package internal(set) var url: String?
    /// The credential, which is never displayed.
    package internal(set) var token: String?
    package internal(set) var tokenFile: String?
    /// The PEM file with the CA certificate of the server.
    package internal(set) var caFile: String?
}
