import Foundation
import Store
import Support
import Testing
import TrackerCore

@testable import PocketSurface

@Suite("The shape of what a webhook is told") struct WebhookTests {
    private let message = PocketMessage(
        sequence: 1,
        announcement: notice(1, .pace, "\"Quoted\" \\ title\n", "Drink 500ml 💧", urgency: .critical).announcement,
        since: Instant(seconds: 1_614_265_330), key: "k3y")

    private func plan(_ changes: [(name: String, text: String)]) throws -> PocketPlan {
        var settings = Settings()
        try settings.set([("webhook.url", "https://hook.example/x")] + changes)
        return try #require(try PocketPlan(.webhook, settings.service, person: "anna"))
    }

    private func object(_ bytes: [UInt8]?) throws -> NSDictionary {
        try #require(try JSONSerialization.jsonObject(with: Data(bytes ?? [])) as? NSDictionary)
    }

    /// The vector of Standard Webhooks' own libraries.
    @Test func theSignatureIsTheStandards() throws {
        let signature = try #require(WebhookSignature(secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let text = signature.text(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: Array(#"{"test": 2432232314}"#.utf8))
        #expect(text == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
        #expect(
            WebhookSignature(secret: "whsec_%%") == nil && WebhookSignature(secret: "whsec_") == nil
                && WebhookSignature(secret: "plain") != nil)
    }

    @Test func theUsualBody() throws {
        let request = try plan([("webhook.secret", "plain"), ("http.publicUrl", "https://shelf.example")]).request(
            message, now: Instant(seconds: 1_614_265_400))
        let names = Set(request.headers.map(\.name))
        #expect(names == ["Content-Type", "webhook-id", "webhook-timestamp", "webhook-signature"])
        #expect(
            request.headers.contains(.init(name: "webhook-timestamp", value: "1614265400"))
                && !"\(request)".contains("k3y"))
        let body = try object(request.body)
        #expect(body["type"] as? String == "notification")
        let expected: NSDictionary = [
            "id": "hydration-reminder/2026-11-22/1", "kind": "hydration-reminder", "title": "\"Quoted\" \\ title\n",
            "body": "Drink 500ml 💧", "urgency": "critical", "sound": true,
            "page": "https://shelf.example/people/anna/", "person": "anna", "at": body["timestamp"] as? String ?? "",
            "timestamp": 1_614_265_330,
        ]
        #expect(body["data"] as? NSDictionary == expected)
    }

    @Test func withoutASecretNothingIsSigned() throws {
        #expect(
            try plan([]).request(message, now: Instant(seconds: 1)).headers.map(\.name) == [
                "Content-Type", "webhook-id", "webhook-timestamp",
            ])
    }

    @Test func aTemplateIsFilledWhateverIsInTheWords() throws {
        let folder = try TemporaryFolder()
        try Data(
            """
            {\n \"text\": \"{{ title }}: {{body}}\", \"all\": [{{title}}, {{timestamp}}, {{sound}}, -1.5e3, null, \
            \"\\u00e4\\n\", {}, []],\n \"at {{person}}\": \"{{timestamp}}\"\n}
            """
            .utf8
        )
        .write(to: folder.url("hook.json"))
        let body = try object(
            try plan([("webhook.templateFile", folder.file("hook.json"))]).request(message, now: Instant(seconds: 1))
                .body)
        let title = "\"Quoted\" \\ title\n"
        let expected: NSDictionary = [
            "text": "\(title): Drink 500ml 💧",
            "all": [title, 1_614_265_330, true, -1500, NSNull(), "ä\n", [:] as NSDictionary, [] as NSArray],
            "at anna": "1614265330",
        ]
        #expect(body == expected)
    }

    static let wrong: [(String, String)] = [
        ("", "line 1, column 1"), ("text", "line 1, column 1"), ("{{title}}", "line 1, column 1"),
        ("{\"a\": \"{{titel}}\"}", "line 1, column 8: there is no field \"titel\""),
        ("{\n \"ä💧\": {{title}\n}", "line 2, column 8: {{ is not closed"), ("{\"a\": \"{{title\"}", "{{ is not closed"),
        ("{\"a\": x}", "line 1, column 7"), ("{\"a\" 1}", "line 1, column 6: a colon"),
        ("{\"a\": 1\n \"b\": 2}", "line 2, column 2: a comma"), ("{\"a\": \"x\n\"}", "line 1, column 9"),
        ("{\"a\": \"x", "line 1, column 7: the text is not closed"), ("[1,]", "line 1, column 4"),
        ("{\"a\": 01}", "line 1, column 7"), ("{\"a\": 1} x", "line 1, column 10"),
        ("{\"a\": \"\\x\"}", "line 1, column 8"), ("{\"a\": \"\\u12\"}", "four digits"),
        ("{a: 1}", "line 1, column 2: a name"),
        (String(repeating: "[", count: 1000), "nested too deeply"), ("{\"a\":", "line 1, column 6"),
        ("[\"\\", "not closed"),
    ]

    @Test(arguments: wrong) func aWrongTemplateIsToldWithLineAndColumn(text: String, words: String) {
        let problem = #expect(throws: WrongInput.self) { try WebhookTemplate(text) }
        #expect(
            problem?.sentence.contains(words) == true && problem?.sentence.contains("line ") == true,
            "\(text): \(String(describing: problem?.sentence))")
    }

    /// Every template, cut at every byte, is a template or an error; and what is one makes JSON.
    @Test func cutTemplates() throws {
        let whole = Array("{\"a\": [\"{{title}}\", {{at}}, true, 1.5], \"b\": {\"c\": null}}".utf8)
        var good = 0
        for first in 0..<whole.count {
            for last in first...whole.count {
                guard let template = try? WebhookTemplate(String(decoding: whole[first..<last], as: UTF8.self)) else {
                    continue
                }
                good += 1
                let text = try template.rendered { _ in .text("\"}\\") }
                #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(text.utf8)) }
            }
        }
        #expect(good >= 3)
    }
}
