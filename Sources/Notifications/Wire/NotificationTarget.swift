import Foundation
import Store
package import TrackerCore
import TrackerService

/// A channel's server and credential, from the settings `ntfy.…` or `webhook.…` (tracker spec Section 11).
package struct NotificationTarget: Hashable, Sendable, CustomStringConvertible {
    package let channel: NotificationChannel
    package let url: String
    let token: String?
    let authorities: String?
    /// The address at which phones reach the service. If `nil`, messages have no links and no buttons.
    let publicURL: String?
    let instance: String?

    /// Returns `nil` if the settings name no server.
    /// - Parameter instance: the service's instance name.
    /// - Throws: an error with a sentence about the invalid setting.
    package init?(_ channel: NotificationChannel, _ settings: ServiceSettings, instance: String? = nil) throws {
        let channelSettings = channel == .ntfy ? settings.ntfy : settings.webhook
        guard let url = channelSettings.url else { return nil }
        (self.channel, self.url, self.instance) = (channel, url, instance)
        let (name, credential) = (channel.rawValue, channel.credentialSetting)
        token =
            try channelSettings.token
            ?? channelSettings.tokenFile.map { path in
                try SmallFile.secret(path, setting: "\(name).\(credential)File", kind: credential) {
                    WrongInput("\(name)TokenFile", $0)
                }
            }
        authorities = channelSettings.caFile
        publicURL = settings.publicURL.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
        if authorities != nil, !url.lowercased().hasPrefix("https://") {
            throw WrongInput(
                "\(name)NotEncrypted", "\(name).caFile requires a \(name).url that begins with https://.")
        }
        if channel == .webhook, let token, WebhookSignature(secret: token) == nil {
            throw WrongInput("webhookSecret", "Invalid webhook secret: the part after whsec_ is not base64.")
        }
    }

    /// The target without secrets, such as the topic of ntfy.
    package var description: String {
        return [
            "\(channel.title) at \(OutgoingURL.origin(url))",
            token == nil ? nil : channel == .webhook ? "signed" : "with a token",
            authorities.map { "authorities \($0)" }, publicURL.map { "buttons to \($0)" },
        ].compactMap(\.self).joined(separator: ", ")
    }

    /// Identifies the settings that determine whether the server accepts messages. A change causes a new attempt.
    var fingerprint: String { [url, token, authorities].map { $0 ?? "" }.joined(separator: "\n") }

    /// A webhook's response body is truncated, because only the status counts.
    func client(limit: Duration) -> OutgoingClient {
        OutgoingClient(
            limit: limit, responseLimit: 64 << 10, truncatesResponses: channel == .webhook, authorities: authorities)
    }

    func page(_ path: String) -> String? { publicURL.map { $0 + path } }
}
