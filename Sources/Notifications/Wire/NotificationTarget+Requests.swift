import Foundation
import TrackerService
import Store
import TrackerCore

extension NotificationTarget {
    /// The request for a message.
    /// - Parameter now: the time in a webhook's signature, by which a receiver rejects replays.
    func request(_ message: QueuedNotification, now: Instant) throws -> OutgoingRequest {
        let type = (name: "Content-Type", value: "application/json")
        switch channel {
        case .ntfy:
            guard let topic = NtfyTopic(url) else { throw OutgoingFailure(.invalidRequest, "ntfy.url has no topic") }
            let body = try TrackerAPI.json(try NtfyMessage(message, self, topic))
            return OutgoingRequest("POST", topic.server, headers: [type], token: token, body: Array(body.utf8))
        case .webhook:
            let text = try TrackerAPI.json(WebhookBody(message, self))
            let (body, id, timestamp) = (
                Array(text.utf8), WebhookSignature.id(of: message.key), Int(now.milliseconds / 1000)
            )
            let signature =
                token.flatMap(WebhookSignature.init(secret:)).map {
                    [(name: "webhook-signature", value: $0.text(id: id, timestamp: timestamp, body: body))]
                } ?? []
            let headers = [type, (name: "webhook-id", value: id), (name: "webhook-timestamp", value: "\(timestamp)")]
            return OutgoingRequest("POST", url, headers: headers + signature, body: body)
        }
    }

    func outcome(_ response: OutgoingResponse) -> DeliveryOutcome {
        let server = OutgoingURL.origin(url)
        switch response.status {
        case 200..<300 where channel == .webhook: return .sent
        case 200..<300:
            // A captive portal also responds with 200.
            guard Self.hasID(response.body) else {
                return .later(
                    """
                    The server at \(server) sent an invalid response: it might not be \(channel.title), or this \
                    network requires a login
                    """,
                    after: nil)
            }
            return .sent
        case 300..<400:
            return .later(
                """
                The server at \(server) redirected the request (status \(response.status)): a token is sent to one \
                server only
                """,
                after: nil)
        case 400, 410, 413, 422: return .rejected("The server at \(server) rejected it (status \(response.status))")
        case 401, 403:
            return .later(
                """
                The server at \(server) rejects the credential (status \(response.status)): set \
                \(channel.rawValue).\(channel.credentialSetting) or \(channel.rawValue).\(channel.credentialSetting)File
                """,
                after: nil)
        case 404:
            return .later(
                "The server at \(server) does not have this address (status 404): check \(channel.rawValue).url",
                after: nil)
        default:
            return .later(
                "The server at \(server) answered with status \(response.status)",
                after: DeliveryOutcome.retryPause(response.header("Retry-After")))
        }
    }

    private static func hasID(_ body: [UInt8]) -> Bool {
        struct Answer: Decodable { var id: String }
        return (try? JSONDecoder().decode(Answer.self, from: Data(body))) != nil
    }
}
