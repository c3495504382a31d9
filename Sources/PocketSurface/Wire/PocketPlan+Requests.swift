import Foundation
import Outgoing
import Store
import TrackerCore
import TrackerDesk

extension PocketPlan {
    /// What sends a message.
    /// - Parameters:
    ///   - age: for how long it has waited, as its outlet knows it: a machine's clock may have been put right since.
    ///   - now: of a webhook's signature, by which a repetition of long ago is told.
    func request(_ message: PocketMessage, age: Duration = .zero, now: Instant) throws -> OutgoingRequest {
        let type = (name: "Content-Type", value: "application/json")
        switch service {
        case .ntfy:
            guard let place = NtfyPlace(url) else { throw OutgoingFailure(.wrongUse, "ntfy.url names no topic") }
            let body = try TrackerDesk.json(try NtfyMessage(message, self, place))
            return OutgoingRequest("POST", place.server, headers: [type] + bearer, body: Array(body.utf8))
        case .webhook:
            let text = try TrackerDesk.json(WebhookBody(message, self))
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

    /// As what the other end knows it when it is sent now; `nil` where nothing can be taken back.
    func place(of message: PocketMessage) -> String? {
        service == .ntfy ? NtfyMessage.sequenceID(message.announcement.kind, self) : nil
    }

    /// As what it stands there: under the name that it was sent with, whatever its person is called by now.
    func standing(of message: PocketMessage) -> String? {
        guard let today = place(of: message) else { return nil }
        // What an earlier version noted is a number of the server's.
        return message.remote.flatMap { $0.hasSuffix(message.announcement.kind.id) ? $0 : nil } ?? today
    }

    /// What takes back what is shown as that; `nil` where that cannot be.
    func withdrawal(_ standing: String) -> OutgoingRequest? {
        guard service == .ntfy, let place = NtfyPlace(url) else { return nil }
        return OutgoingRequest("DELETE", "\(place.server)\(place.topic)/\(standing)", headers: bearer)
    }

    /// What an answer to that means; `nil`: it is not shown there any more, or this server never takes anything back.
    func trouble(takingBack answer: OutgoingAnswer, now: Instant) -> (words: String, pause: Duration?)? {
        // A server of before it could: it says so, and is not asked again.
        guard answer.status != 404, answer.status != 405, case .later(let words, let pause) = outcome(answer, now: now)
        else { return nil }
        return (words, pause)
    }

    private var bearer: [(name: String, value: String)] {
        token.map { [(name: "Authorization", value: "Bearer \($0)")] } ?? []
    }

    /// What an answer means.
    func outcome(_ answer: OutgoingAnswer, now: Instant) -> PocketOutcome {
        let place = OutgoingURL.place(url)
        switch answer.status {
        case 200..<300 where service == .webhook: return .sent
        case 200..<300:
            // A network's login page says 200, too.
            guard Self.hasID(answer.body) else {
                return .later(
                    """
                    The server at \(place) answers with something that is no answer of \(service.title); perhaps \
                    this network wants a login first
                    """,
                    after: nil)
            }
            return .sent
        case 300..<400:
            return .later(
                """
                The server at \(place) sends us elsewhere (status \(answer.status)), and a token goes to one \
                server only
                """,
                after: nil)
        case 400, 410, 413, 422: return .refused("The server at \(place) does not take it (status \(answer.status))")
        case 401, 403:
            return .later(
                """
                The server at \(place) does not let us in (status \(answer.status)): \
                \(service.rawValue).\(service.credential) or \(service.rawValue).\(service.credential)File
                """,
                after: nil)
        case 404:
            return .later(
                "There is nothing at the server's address at \(place) (status 404): \(service.rawValue).url", after: nil
            )
        default:
            return .later(
                "The server at \(place) answered with status \(answer.status)",
                after: PocketOutcome.pause(answer.header("Retry-After"), now: now))
        }
    }

    private static func hasID(_ body: [UInt8]) -> Bool {
        struct Answer: Decodable {
            enum CodingKeys: CodingKey { case id }
            init(from decoder: any Decoder) throws {
                let keys = try decoder.container(keyedBy: CodingKeys.self)
                if (try? keys.decode(String.self, forKey: .id)) == nil { _ = try keys.decode(Int.self, forKey: .id) }
            }
        }
        return (try? JSONDecoder().decode(Answer.self, from: Data(body))) != nil
    }
}
