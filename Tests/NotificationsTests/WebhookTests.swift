import Foundation
import Store
import Support
import Testing
import TrackerCore
import TrackerService

@testable import Notifications

@Suite struct WebhookTests {
    private let message = QueuedNotification(
        sequence: 1,
        announcement: notice(1, .pace, "\"Quoted\" \\ title\n", "Drink 500ml 💧", urgency: .critical).announcement,
        since: Instant(seconds: 1_614_265_330), key: "k3y")

    private func plan(_ changes: [(name: String, text: String)]) throws -> NotificationTarget {
        var settings = Settings()
        try settings.set([("webhook.url", "https://hook.example/x")] + changes)
        return try #require(try NotificationTarget(.webhook, settings.service, person: "anna"))
    }

    private func object(_ bytes: [UInt8]?) throws -> NSDictionary {
        try #require(try JSONSerialization.jsonObject(with: Data(bytes ?? [])) as? NSDictionary)
    }

    /// The test vector of the Standard Webhooks libraries.
    @Test func `the signature matches Standard Webhooks`() throws {
        let signature = try #require(WebhookSignature(secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let text = signature.text(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: Array(#"{"test": 2432232314}"#.utf8))
        #expect(text == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
        #expect(
            WebhookSignature(secret: "whsec_%%") == nil && WebhookSignature(secret: "whsec_") == nil
                && WebhookSignature(secret: "plain") != nil)
    }

    @Test func `a webhook body is encoded as JSON`() throws {
        let request = try plan([("webhook.secret", "plain"), ("http.publicUrl", "https://shelf.example")]).request(
            message, now: Instant(seconds: 1_614_265_400))
        let names = Set(request.headers.map(\.name))
        #expect(names == ["Content-Type", "webhook-id", "webhook-timestamp", "webhook-signature"])
        #expect(
            request.headers.contains { $0 == ("webhook-timestamp", "1614265400") }
                && !"\(request)".contains("k3y"))
        let body = try object(request.body)
        #expect(body["type"] as? String == "notification")
        let expected: NSDictionary = [
            "id": "hydration-reminder/2026-11-22/1", "kind": "hydration-reminder", "title": "\"Quoted\" \\ title\n",
            "body": "Drink 500ml 💧", "urgency": "critical", "sound": true,
            "page": "https://shelf.example/", "person": "anna", "at": body["timestamp"] as? String ?? "",
            "timestamp": 1_614_265_330,
        ]
        #expect(body["data"] as? NSDictionary == expected)
    }

    @Test func `a webhook is not signed when no secret is set`() throws {
        #expect(
            try plan([]).request(message, now: Instant(seconds: 1)).headers.map(\.name) == [
                "Content-Type", "webhook-id", "webhook-timestamp",
            ])
    }
}
