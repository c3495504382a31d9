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
            guard let place = NtfyPlace(url) else { throw OutgoingFailure(.invalidRequest, "ntfy.url has no topic") }
            let body = try TrackerAPI.json(try NtfyMessage(message, self, place))
            return OutgoingRequest("POST", place.server, headers: [type] + bearer, body: Array(body.utf8))
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

    private var bearer: [(name: String, value: String)] {
        token.map { [(name: "Authorization", value: "Bearer \($0)")] } ?? []
    }

    func outcome(_ answer: OutgoingResponse, now: Instant) -> DeliveryOutcome {
        let place = OutgoingURL.origin(url)
        switch answer.status {
        case 200..<300 where channel == .webhook: return .sent
        case 200..<300:
            // A captive portal also responds with 200.
            guard Self.hasID(answer.body) else {
                return .later(
                    """
                    The server at \(place) sent an invalid response: it might not be \(channel.title), or this \
                    network requires a login
                    """,
                    after: nil)
            }
            return .sent
        case 300..<400:
            return .later(
                """
                The server at \(place) redirected the request (status \(answer.status)): a token is sent to one \
                server only
                """,
                after: nil)
        case 400, 410, 413, 422: return .refused("The server at \(place) rejected it (status \(answer.status))")
        case 401, 403:
            return .later(
                """
                The server at \(place) does not let us in (status \(answer.status)): \
                \(channel.rawValue).\(channel.credential) or \(channel.rawValue).\(channel.credential)File
                """,
                after: nil)
        case 404:
            return .later(
                "The server at \(place) has no such address (status 404): check \(channel.rawValue).url", after: nil
            )
        default:
            return .later(
                "The server at \(place) answered with status \(answer.status)",
                after: DeliveryOutcome.pause(answer.header("Retry-After"), now: now))
        }
    }

    private static func hasID(_ body: [UInt8]) -> Bool {
        struct Answer: Decodable { var id: String }
        return (try? JSONDecoder().decode(Answer.self, from: Data(body))) != nil
    }
}
