import Foundation
import WebServer
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerService

/// The state and the event stream (tracker spec section 10, checks 9 and 10 of B9).
@Suite struct StateAndEventsTests {
    @Test func `GET /state has the service's state`() async throws {
        try await ServedHousehold.serve { house async throws in
            let first = try await house.ask("GET", "/api/v1/state")
            #expect(
                first.status == 200 && first.json["dailyTotalMl"] as? Int == 0
                    && first.json["shouldNotify"] as? Bool == false)
            #expect(try await house.ask("POST", "/api/v1/drinks", #"{"ml": 250}"#, headers: house.page).status == 201)
        }
    }

    @Test(arguments: [
        ("history?day=2026-02-01&day=2026-02-02", "repeatedParameter"),
        ("history?day=2026-02-01&month=2026-02", "severalParameters"),
        ("history?week=2026-02-01&month=2026-02", "severalParameters"), ("history?dya=2026-02-01", "unknownParameter"),
        ("events?shows=everything", "unknownValue"), ("events?looks=yes", "unknownValue"),
        ("events?looks=no&looks=no", "repeatedParameter"),
        ("why?at=%25zz", "notATime"),
    ])
    func `an ambiguous query is rejected`(path: String, code: String) async throws {
        try await ServedHousehold.serve { house async throws in
            let answer = try await house.ask("GET", "/api/v1/\(path)")
            #expect(answer.status == 422 && answer.code == code, "\(answer.status) \(answer.body)")
            #expect(try await house.ask("GET", "/api/v1/why?at=12%3A30").status == 200)
        }
    }

    @Test func `an unchanged state is 304`() async throws {
        try await ServedHousehold.serve { house async throws in
            let tag = try #require(try await house.ask("GET", "/api/v1/state").headers["etag"])
            let again = try await house.ask("GET", "/api/v1/state", headers: ["If-None-Match": tag])
            #expect(again.status == 304 && again.body.isEmpty)
            _ = try await house.ask("POST", "/api/v1/drinks", #"{"ml": 250}"#, headers: house.page)
            #expect(try await house.ask("GET", "/api/v1/state", headers: ["If-None-Match": tag]).status == 200)
        }
    }

    @Test func `an event stream starts with the full state and sends every change`() async throws {
        try await ServedHousehold.serve { house async throws in
            let client = try RawHTTP(port: house.port)
            client.send("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\(house.signedIn)\r\n")
            let first = try await client.read {
                $0.contains("\n\n") && $0.contains("event: state") && $0.contains("dailyGoalMl")
            }
            #expect(first.contains("text/event-stream") && first.contains("\"dailyTotalMl\":0"))
            client.forget()
            _ = try await house.ask("POST", "/api/v1/drinks", #"{"ml": 330}"#, headers: house.page)
            #expect(try await client.read { $0.contains("\"dailyTotalMl\":330") }.contains("event: state"))
        }
    }

    /// Tracker spec section 10.4: the connection to the bottle ends a minute after the last viewer disconnects.
    @Test func `a disconnected client is no longer a viewer`() async throws {
        let looks = Mutex<[ServiceClient.Look]>([])
        let door = ServiceClient(
            status: { ServiceStatus(version: "0", lastPoll: ServedHousehold.noon) }, pollNow: {}, recentPolls: { [] },
            send: { _ in "" },
            look: { look in looks.withLock { $0.append(look) } })
        try await ServedHousehold.serve(service: door) { house async throws in
            for query in ["", "?looks=no"] {
                let client = try RawHTTP(port: house.port)
                client.send("GET /api/v1/events\(query) HTTP/1.1\r\nHost: localhost\r\n\(house.signedIn)\r\n")
                _ = try await client.read { $0.contains("event: state") }
            }
            #expect(
                await event(within: 10) { looks.withLock { $0 } == [.begins, .ends] ? true : nil } == true,
                "\(looks.withLock { $0 })")
        }
    }

    @Test func `an event stream sends only the requested keys`() async throws {
        try await ServedHousehold.serve { house async throws in
            let client = try RawHTTP(port: house.port)
            client.send(
                "GET /api/v1/events?fields=dailyTotalMl,percent HTTP/1.1\r\nHost: localhost\r\n\(house.signedIn)\r\n")
            let text = try await client.read { $0.contains("percent") }
            #expect(text.contains(#"data: {"dailyTotalMl":0,"percent":0}"#))
        }
    }

    @Test func `an event stream with parts sends no others`() async throws {
        try await ServedHousehold.serve { house async throws in
            let total = try EventStream(house, "fields=dailyTotalMl")
            let sessions = try EventStream(house, "fields=dailyTotalMl,session")
            _ = try await total.events { $0.kind == "state" }
            _ = try await sessions.events { $0.kind == "state" }
            _ = try await house.ask("POST", "/api/v1/session", headers: house.page)
            #expect(try await sessions.events { $0.kind == "session" }.allSatisfy { $0.kind != "notify" })
            _ = try await house.ask("POST", "/api/v1/drinks", #"{"ml": 250}"#, headers: house.page)
            // A session changes the state but not the total, so no event precedes the drink.
            let told = try await total.events { $0.json["dailyTotalMl"] as? Int == 250 }
            #expect(told.map(\.kind) == ["state", "state"], "\(told)")
        }
    }

    /// A remote client must get neither an unchanged state nor a new ETag when a session entry is added.
    @Test func `session events are not sent to remote clients`() async throws {
        try await ServedHousehold.serve { house async throws in
            let away = try house.token(.read)
            let (near, far) = (try EventStream(house), try EventStream(house, headers: away))
            _ = try await near.events { $0.kind == "state" }
            // Also the first state of the stream.
            _ = try await house.ask("POST", "/api/v1/drinks", #"{"ml": 100}"#, headers: house.page)
            for stream in [near, far] { _ = try await stream.events { $0.json["dailyTotalMl"] as? Int == 100 } }
            far.forget()
            let before = try await house.ask("GET", "/api/v1/state", headers: away)
            for path in ["session", "session/drink", "session/drink"] {
                near.forget()
                #expect(try await house.ask("POST", "/api/v1/\(path)", "{}", headers: house.page).status < 300)
                _ = try await near.events { $0.kind == "session" }
            }
            let after = try await house.ask(
                "GET", "/api/v1/state", headers: away.merging(["If-None-Match": before.headers["etag"] ?? ""]) { $1 })
            #expect(after.status == 304, "\(after.body)")
            _ = try await house.ask("POST", "/api/v1/drinks", #"{"ml": 250}"#, headers: house.page)
            let told = try await far.events { $0.json["dailyTotalMl"] as? Int == 350 }
            #expect(told.count == 1, "\(told)")
        }
    }

    @Test func `a client that never reads is disconnected`() async throws {
        try await ServedHousehold.serve { house async throws in
            let lazy = try RawHTTP(port: house.port)
            lazy.send("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\(house.signedIn)\r\n")
            let eager = try RawHTTP(port: house.port)
            eager.send("GET /api/v1/events?fields=drinkCount HTTP/1.1\r\nHost: localhost\r\n\(house.signedIn)\r\n")
            let token = try house.token(.log)
            for count in 1...40 {
                _ = try await house.ask("POST", "/api/v1/drinks", #"{"ml": 10}"#, headers: token)
                _ = try await eager.read { $0.contains("\"drinkCount\":\(count)}") }
                eager.forget()
            }
            #expect(try await house.ask("GET", "/healthz").body == "ok\n")
        }
    }

    @Test func `metrics are in Prometheus format`() async throws {
        try await ServedHousehold.serve { house async throws in
            _ = try await house.ask("GET", "/api/v1/nothing")
            let text = try await house.ask("GET", "/metrics").body
            #expect(text.contains("waterh_http_responses_total{code=\"404\"} 1"))
            for line in text.split(separator: "\n") where !line.hasPrefix("#") {
                #expect(line.wholeMatch(of: /[a-z_]+(\{[a-z]+="[^"]*"\})? [-0-9.e+]+/) != nil, "\(line)")
            }
        }
    }
}
