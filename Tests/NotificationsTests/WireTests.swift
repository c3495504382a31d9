import Foundation
import Store
import Support
import Testing
import TrackerCore
import TrackerService

@testable import Notifications

@Suite struct WireTests {
    private func plan(_ channel: NotificationChannel, _ pairs: [(name: String, text: String)], instance: String? = nil)
        throws -> NotificationTarget?
    {
        var settings = Settings()
        try settings.set(pairs)
        return try NotificationTarget(channel, settings.service, instance: instance)
    }

    private func message(_ notification: TrackerNotification) -> QueuedNotification {
        QueuedNotification(sequence: 1, announcement: notification.announcement, since: Instant(seconds: 0), key: "k3y")
    }

    private let now = Instant(seconds: 1_614_265_330)

    private func json(_ bytes: [UInt8]?) throws -> NSDictionary {
        try #require(try JSONSerialization.jsonObject(with: Data(bytes ?? [])) as? NSDictionary)
    }

    @Test func `an ntfy message is encoded as JSON`() throws {
        let plan = try #require(
            try plan(
                .ntfy,
                [
                    ("ntfy.url", "https://ntfy.example/my-water"), ("ntfy.token", "tk_1"),
                    ("http.publicUrl", "https://shelf.example/"),
                ]))
        let request = try plan.request(message(notice(urgency: .critical)), now: now)
        #expect(
            request.method == "POST" && request.url == "https://ntfy.example/"
                && request.headers.contains { $0 == ("Authorization", "Bearer tk_1") })
        let expected: NSDictionary = [
            "topic": "my-water", "sequence_id": "hydration-reminder", "title": "Hydration Reminder",
            "message": "Time to hydrate! You're 100ml behind pace.", "priority": 4,
            "tags": ["droplet"], "click": "https://shelf.example/",
            "actions": [("Log a cup", "log-cup"), ("In 30 minutes", "snooze"), ("Not today", "not-today")].map {
                [
                    "action": "http", "label": $0.0, "url": "https://shelf.example/api/v1/press",
                    "method": "POST", "headers": ["Content-Type": "application/json"],
                    "body": #"{"action":"\#($0.1)","key":"k3y"}"#, "clear": true,
                ] as [String: Any]
            },
        ]
        #expect(try json(request.body) == expected)
    }

    @Test func `an ntfy message omits empty fields`() throws {
        let plan = try #require(try plan(.ntfy, [("ntfy.url", "http://h:80/t/")], instance: "anna"))
        let body = try json(
            try plan.request(message(notice(1, .waterlinePerDrink, "Time for a break", "", discreet: true)), now: now)
                .body)
        #expect(
            body == [
                "topic": "t", "sequence_id": "anna-waterline-per-drink", "message": "Time for a break", "priority": 3,
                "tags": ["bell"],
            ])
    }

    /// The test vector of the Standard Webhooks libraries.
    @Test func `the signature of a webhook matches Standard Webhooks`() throws {
        let signature = try #require(WebhookSignature(secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let text = signature.text(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: Array(#"{"test": 2432232314}"#.utf8))
        #expect(text == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
        #expect(
            WebhookSignature(secret: "whsec_%%") == nil && WebhookSignature(secret: "whsec_") == nil
                && WebhookSignature(secret: "plain") != nil)
    }

    @Test func `a webhook body is encoded as JSON`() throws {
        let plan = try #require(
            try plan(
                .webhook,
                [
                    ("webhook.url", "https://hook.example/x"), ("webhook.secret", "plain"),
                    ("http.publicUrl", "https://shelf.example"),
                ], instance: "anna"))
        let notification = notice(1, .pace, "\"Quoted\" \\ title\n", "Drink 500ml 💧", urgency: .critical)
        let request = try plan.request(message(notification), now: now)
        #expect(
            Set(request.headers.map(\.name)) == [
                "Content-Type", "webhook-id", "webhook-timestamp", "webhook-signature",
            ])
        #expect(request.headers.contains { $0 == ("webhook-timestamp", "1614265330") } && !"\(request)".contains("k3y"))
        let body = try json(request.body)
        let at = "1970-01-01T00:00:00Z"
        #expect(body["type"] as? String == "notification" && body["timestamp"] as? String == at)
        let expected: NSDictionary = [
            "id": "hydration-reminder/2026-11-22/1", "kind": "hydration-reminder", "title": "\"Quoted\" \\ title\n",
            "body": "Drink 500ml 💧", "urgency": "critical", "sound": true, "page": "https://shelf.example/",
            "person": "anna", "at": at, "timestamp": 0,
        ]
        #expect(body["data"] as? NSDictionary == expected)
    }

    @Test func `a webhook is not signed when no secret is set`() throws {
        let plan = try #require(try plan(.webhook, [("webhook.url", "https://hook.example/x")]))
        #expect(
            try plan.request(message(notice()), now: now).headers.map(\.name) == [
                "Content-Type", "webhook-id", "webhook-timestamp",
            ])
    }

    @Test(arguments: [
        (NotificationUrgency.low, true, 2), (.normal, true, 3), (.critical, true, 4), (.low, false, 2),
        (.normal, false, 2), (.critical, false, 2),
    ])
    func `the urgency of a notification determines the ntfy priority`(
        urgency: NotificationUrgency, sound: Bool, priority: Int
    ) {
        #expect(NtfyMessage.priority(notice(urgency: urgency, sound: sound).announcement) == priority)
    }

    static let wrong: [(NotificationChannel, [(name: String, text: String)], String)] = [
        (.ntfy, [("ntfy.url", "https://ntfy.example/a%20b")], "topic"),
        (.ntfy, [("ntfy.url", "https://h/\(String(repeating: "a", count: 65))")], "topic"),
        (.ntfy, [("ntfy.url", "https://me:s3cret@h/t")], "password"),
        (.ntfy, [("ntfy.url", "https://h/t"), ("ntfy.tokenFile", "/nowhere/token")], "/nowhere/token"),
        (.ntfy, [("ntfy.url", "http://h/t"), ("ntfy.caFile", "/ca")], "https"),
        (.webhook, [("webhook.url", "https://h"), ("webhook.secret", "whsec_%")], "base64"),
        (.webhook, [("webhook.url", "https://a:s3cret@h/")], "password"),
    ]

    @Test(arguments: wrong.indices) func `invalid settings are reported`(_ row: Int) throws {
        let (service, changes, word) = Self.wrong[row]
        // Errors that a single setting reveals, and errors that only the combination reveals.
        let problem = #expect(throws: (any Error).self) { try plan(service, changes) } as? any Problem
        #expect(
            problem?.sentence.contains(word) == true && problem?.sentence.contains("s3cret") == false,
            "\(String(describing: problem))")
    }

    @Test func `a channel without an address is off`() throws {
        for service in NotificationChannel.allCases { #expect(try plan(service, []) == nil) }
    }

    /// A credential from a file, as with systemd's LoadCredential. Neither it nor the topic is in any message.
    @Test func `a token from a file appears in no message`() throws {
        let folder = try TemporaryFolder()
        try Data("  tk_s3cret  \n# for ntfy\n".utf8).write(to: folder.url("token"))
        let plan = try #require(
            try plan(
                .ntfy, [("ntfy.url", "https://ntfy.example/hard-to-guess"), ("ntfy.tokenFile", folder.file("token"))]))
        #expect(
            try plan.request(message(notice()), now: now).headers.contains {
                $0 == ("Authorization", "Bearer tk_s3cret")
            })
        #expect("\(plan)" == "ntfy at https://ntfy.example, with a token")
    }

    @Test(
        arguments: [
            ("7", 7.0), ("0", 0), ("-5", 0), ("99999999", 3600), ("inf", nil), ("nan", nil), ("soon", nil), ("", nil),
            ("Sun, 22 Nov 2026 12:00:30 GMT", nil),
        ] as [(String, Double?)])
    func `Retry-After is parsed`(text: String, seconds: Double?) {
        #expect(DeliveryOutcome.retryPause(text) == seconds.map { .seconds($0) })
    }
}
