import Foundation
import Store
import Testing

@testable import HTTPAPI

/// A browser subscribes to notifications, and goes again.
@Suite struct PushRouteTests {
    static let key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    static func body(
        _ endpoint: String = "https://push.example/wpush/v2/abc", key: String = key,
        auth: String = "BTBZMqHH6r4Tts7J_aSIgg", more: String = ""
    ) -> String {
        #"{"endpoint": "\#(endpoint)", "p256dh": "\#(key)", "auth": "\#(auth)", "label": "Firefox, Linux"\#(more)}"#
    }

    @Test func aBrowserSubscribesAndGoes() async throws {
        try await ServedHousehold.serve { house async throws in
            let before = try await house.ask("GET", "/api/v1/push")
            #expect(
                before.json["publicKey"] as? String == "the-key-of-anna"
                    && (before.json["subscriptions"] as? [Any])?.isEmpty == true)
            let path = "/api/v1/push/subscriptions"
            let made = try await house.ask("POST", path, Self.body(), headers: house.page)
            let id = try #require(made.json["id"] as? String)
            // As the page works it out: the beginning of the endpoint's SHA-256.
            #expect(
                made.status == 201 && id.wholeMatch(of: /[0-9a-f]{16}/) != nil
                    && made.json["service"] as? String == "push.example")
            #expect(!made.body.contains("wpush"), "whoever knows the endpoint may push there")
            // The same browser again is the same one.
            #expect(
                try await house.ask("POST", path, Self.body(), headers: try house.token(.log)).json["id"] as? String
                    == id)
            let list = try await house.ask("GET", "/api/v1/push")
            #expect(
                (list.json["subscriptions"] as? [[String: Any]])?.map { $0["label"] as? String } == ["Firefox, Linux"]
                    && !list.body.contains("wpush"))
            #expect(try house.store.pushSubscriptions().map(\.publicKey.count) == [65])
            #expect(try await house.ask("DELETE", "\(path)/\(id)", headers: house.page).status == 200)
            #expect(try await house.ask("DELETE", "\(path)/\(id)", headers: house.page).status == 404)
        }
    }

    /// The token of this hears of the day only as long as it is good; it takes the right to log.
    @Test func whoMay() async throws {
        try await ServedHousehold.serve(others: [("ben", try TrackerStore(inMemory: "Etc/UTC"))]) {
            house async throws in
            let path = "/api/v1/push/subscriptions"
            #expect(try await house.ask("POST", path, Self.body()).status == 401)
            #expect(try await house.ask("POST", path, Self.body(), headers: try house.token(.read)).status == 403)
            let token = try house.token(.log)
            #expect(try await house.ask("POST", path, Self.body(), headers: token).status == 201)
            // Nobody would push Ben's.
            #expect(try await house.ask("GET", "/api/v1/people/ben/push").json["publicKey"] is NSNull)
            let refused = try await house.ask(
                "POST", "/api/v1/people/ben/push/subscriptions", Self.body(), headers: house.page)
            #expect(refused.status == 409 && refused.code == "noService")
            _ = try house.store.revokeTokens(
                nil, .init(now: ServedHousehold.noon, zone: .utc, source: "test", makeID: { UUID().uuidString }))
            #expect(try house.store.pushSubscriptions().isEmpty)
        }
    }

    static let wrong: [(String, String)] = [
        (body("http://push.example/a"), "noEndpoint"), (body("https://me:pw@push.example/a"), "noEndpoint"),
        (body("https:///a"), "noEndpoint"), (body("https://push.example/a#b"), "noEndpoint"),
        (body("https://push.example/" + String(repeating: "a", count: 2100)), "noEndpoint"),
        (body("https://push.example/ä"), "noEndpoint"), (body(key: "BCVx"), "noPushKey"), (body(key: ""), "noPushKey"),
        (body(key: "A" + key.dropFirst()), "noPushKey"), (body(key: "!!!!"), "noPushKey"),
        (body(auth: "BTBZ"), "noPushSecret"), (body(more: #", "expirationTime": null"#), "unknownField"),
        ("{}", "noEndpoint"), (#"{"endpoint": 5}"#, "wrongType"),
    ]

    @Test(arguments: wrong.indices) func whatIsNoBrowserIsRefusedWithWords(row: Int) async throws {
        let (body, code) = Self.wrong[row]
        try await ServedHousehold.serve { house async throws in
            let reply = try await house.ask("POST", "/api/v1/push/subscriptions", body, headers: house.page)
            #expect(reply.status == 422 && reply.code == code, "\(reply.body)")
            #expect(try house.store.pushSubscriptions().isEmpty)
        }
    }
}
