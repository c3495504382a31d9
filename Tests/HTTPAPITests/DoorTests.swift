import Foundation
@testable import HTTPAPI
import Synchronization
import Testing
import TrackerCore

/// Who gets in: names, origins, codes, hostile bytes.
@Suite struct DoorTests {
    @Test(arguments: [
        ("127.0.0.1:8077", true), ("localhost", true), ("localhost:8077", true), ("[::1]:8077", true), ("192.168.1.5:8077", true), ("bench:8077", true),
        ("BENCH", true), ("app.localhost", true), ("evil.example", false), ("127.0.0.1.evil.example", false), ("", false), ("bench:notaport", false),
        ("bench:99999", false), ("local\u{0}host", false), ("256.1.1.1", false), ("[evil]", false),
    ])
    func aMachineGoesByItsOwnNames(host: String, isAllowed: Bool) {
        #expect(HostRule(names: ["bench"]).allows(host) == isAllowed)
    }

    @Test(arguments: [
        ("http://localhost:8077", "localhost:8077", true), ("http://localhost", "localhost:80", true), ("https://bench", "bench:443", true),
        ("http://evil.example", "localhost:8077", false), ("null", "localhost:8077", false), ("http://localhost:8078", "localhost:8077", false),
        ("ftp://localhost:8077", "localhost:8077", false),
    ])
    func anOriginIsTheVeryPlace(origin: String, host: String, isSame: Bool) { #expect(HostRule.isSame(origin: origin, as: host) == isSame) }

    /// The library's own clock for this field ticked each second, whether anybody asked or not.
    @Test func everyAnswerSaysWhenItWasWritten() async throws {
        let format = DateFormatter()
        (format.locale, format.timeZone, format.dateFormat) = (Locale(identifier: "en_US_POSIX"), TimeZone(identifier: "UTC"), "EEE, dd MMM yyyy HH:mm:ss 'GMT'")
        try await ServedHousehold.serve { house async throws in
            for path in ["/healthz", "/api/v1/state", "/nowhere"] {
                let said = try #require(try await house.ask("GET", path).headers["date"])
                let date = try #require(format.date(from: said), "\(said)")
                #expect(abs(date.timeIntervalSinceNow) < 20, "\(said)")
            }
        }
    }

    @Test func aPageOfTheInternetGetsNothing() async throws {
        try await ServedHousehold.serve { house async throws in
            let rebound = try await house.ask("GET", "/api/v1/state", host: "evil.example:\(house.port)")
            #expect(rebound.status == 421 && rebound.code == "unknownHost")
            let other = try await house.ask("POST", "/api/v1/drinks", #"{"ml": 250}"#, headers: ["Origin": "http://evil.example"])
            #expect(other.status == 403 && other.code == "otherOrigin")
            let cross = try await house.ask("POST", "/api/v1/drinks", #"{"ml": 250}"#, headers: try house.token(.log).merging(["Sec-Fetch-Site": "cross-site"]) { $1 })
            #expect(cross.status == 403)
            // A form of another page can send text without asking first.
            let form = try await house.ask("POST", "/api/v1/drinks", #"{"ml": 250}"#, headers: house.page.merging(["Content-Type": "text/plain"]) { $1 })
            #expect(form.status == 415)
        }
    }

    /// The first of them used to count, whatever a proxy before us had believed.
    @Test(arguments: [("localhost", "evil.example"), ("evil.example", "localhost"), ("localhost", "localhost"), ("localhost", "")])
    func aRequestNamesItsHostOnce(first: String, second: String) async throws {
        try await ServedHousehold.serve { house async throws in
            let client = try RawHTTP(port: house.port)
            client.send("POST /api/v1/drinks HTTP/1.1\r\nHost: \(first)\r\nhOST: \(second)\r\nOrigin: http://localhost\r\nContent-Type: application/json\r\nContent-Length: 11\r\nConnection: close\r\n\r\n{\"ml\": 250}")
            let reply = try RawHTTP.reply(try await client.read { _ in false })
            #expect(reply.status == 400 && reply.code == "severalHosts", "\(reply.status) \(reply.body)")
            #expect(try await house.ask("GET", "/api/v1/state").json["dailyTotalMl"] as? Int == 0)
        }
    }

    @Test func fromBeyondThisMachineNobodyLooksWithoutBeingLetIn() async throws {
        try await ServedHousehold.serve { house async throws in
            let proxied = ["X-Forwarded-For": "203.0.113.9"]
            for (path, status) in [("/api/v1/state", 401), ("/metrics", 401), ("/widget/circular.svg", 401), ("/healthz", 200), ("/", 200)] {
                let reply = try await house.ask("GET", path, headers: proxied)
                #expect(reply.status == status, "\(path)")
            }
            #expect(try await house.ask("POST", "/api/v1/drinks", #"{"ml": 1}"#, headers: house.page.merging(proxied) { $1 }).status == 401)
        }
    }

    @Test func waterlineIsNobodysBusinessBeyondThisMachine() async throws {
        for shares in [false, true] {
            try await ServedHousehold.serve(sharesWaterline: shares) { house async throws in
                _ = try await house.ask("POST", "/api/v1/session", headers: house.page)
                let away = try house.token(.control).merging(["X-Forwarded-For": "203.0.113.9"]) { $1 }
                let state = try await house.ask("GET", "/api/v1/state", headers: away)
                #expect((state.json["waterline"] is NSNull) == !shares)
                #expect(try await house.ask("GET", "/api/v1/session", headers: away).status == (shares ? 200 : 403))
                let drink = try await house.ask("POST", "/api/v1/drinks", #"{"ml": 100}"#, headers: away)
                #expect(((drink.json["state"] as? [String: Any])?["waterline"] is NSNull) == !shares)
                // Neither that one runs nor that none does.
                for widget in ["small", "medium", "large"] { #expect(try await !house.ask("GET", "/widget/\(widget).svg", headers: away).body.contains("No Session")) }
                let control = try house.token(.control).merging(["X-Forwarded-For": "203.0.113.9"]) { $1 }
                #expect(try await house.ask("GET", "/api/v1/settings", headers: control).json.keys.contains { $0.hasPrefix("waterline.") } == shares)
                #expect(try await house.ask("GET", "/api/v1/settings/waterline.discreet", headers: control).status == (shares ? 200 : 403))
                #expect(try await house.ask("PATCH", "/api/v1/settings", #"{"waterline.discreet": false}"#, headers: control).status == (shares ? 200 : 403))
                // An adversary's finding: the welcome changed and told them.
                #expect(try await house.ask("POST", "/api/v1/setup", #"{"threshold": 4}"#, headers: control).status == (shares ? 200 : 403))
                let setup = try await house.ask("POST", "/api/v1/setup", #"{"goal": 2600}"#, headers: control)
                #expect(setup.status == 200 && (setup.json["presets"] != nil) == shares && setup.body.contains("waterline.") == shares, "\(setup.body)")
                #expect(try await house.ask("GET", "/api/v1/why", headers: away).body.contains("waterline-") == shares)
                // Not by way of what a desktop is shown, nor by its buttons; nor is anything of it taken back.
                #expect(try await house.ask("GET", "/api/v1/agent", headers: away).status == 403)
                #expect(try await house.ask("POST", "/api/v1/agent/shown", #"{"agent": "agent-1", "id": "x"}"#, headers: away).status == 403)
                for action in ["log-water", "end-session", "log-cup"] {
                    #expect(try await house.ask("POST", "/api/v1/agent/press", "{\"action\": \"\(action)\", \"key\": \"\(action)\"}", headers: away).status == 403)
                }
                #expect(try await house.ask("POST", "/api/v1/session/drink", "{}", headers: house.page).status == 201)
                let undone = try await house.ask("POST", "/api/v1/undo", headers: away)
                #expect(((undone.json["state"] as? [String: Any])?["dailyTotalMl"] as? Int == 0) == !shares, "\(undone.body)")
                // Not by way of an answer that was given before, either.
                let water = ["Idempotency-Key": "w"]
                #expect(try await house.ask("POST", "/api/v1/session/water", headers: house.page.merging(water) { $1 }).status == 201)
                #expect(try await house.ask("POST", "/api/v1/session/water", headers: away.merging(water) { $1 }).status == (shares ? 201 : 403))
            }
        }
    }

    @Test func aPhoneIsLetInByACodeOnce() async throws {
        try await ServedHousehold.serve { house async throws in
            let made = try await house.ask("POST", "/api/v1/pairings", #"{"label": "phone"}"#, headers: house.page)
            let code = try #require(made.json["code"] as? String)
            #expect(made.status == 201 && code.count == 8 && (made.json["urls"] as? [String]) == ["http://192.0.2.1:8077/"])
            let paired = try await house.ask("POST", "/api/v1/pair", #"{"code": "\#(code)"}"#)
            let cookie = try #require(paired.headers["set-cookie"])
            #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"))
            let away = ["Cookie": String(cookie.prefix { $0 != ";" }), "X-Forwarded-For": "203.0.113.9"]
            #expect(try await house.ask("POST", "/api/v1/drinks", #"{"ml": 250}"#, headers: away).status == 201)
            #expect(try await house.ask("POST", "/api/v1/purge", #"{"confirm": "purge"}"#, headers: away).status == 403)
            #expect(try await house.ask("POST", "/api/v1/pair", #"{"code": "\#(code)"}"#).status == 403)
            #expect(try await house.ask("POST", "/api/v1/pair", #"{"code": "00000000"}"#).status == 429)
            #expect(try await house.ask("GET", "/api/v1/state", headers: ["Cookie": "waterh=wt_00000000000000000000000", "X-Forwarded-For": "203.0.113.9"]).status == 401)
        }
    }

    @Test func whoIsLetInNoMoreHearsNothingMore() async throws {
        try await ServedHousehold.serve { house async throws in
            let token = try house.token(.read)
            let client = try RawHTTP(port: house.port)
            client.send("GET /api/v1/events?fields=dailyTotalMl HTTP/1.1\r\nHost: localhost\r\nAuthorization: \(token["Authorization"] ?? "")\r\n\r\n")
            _ = try await client.read { $0.contains("dailyTotalMl") }
            client.forget()
            _ = try house.store.revokeTokens(nil, WriteContext(now: ServedHousehold.noon, zone: .utc, source: "test", makeID: { "x" }))
            _ = try await house.ask("POST", "/api/v1/drinks", #"{"ml": 250}"#, headers: house.page)
            #expect(try await !client.read { $0.contains("250") || $0.hasSuffix("0\r\n\r\n") }.contains("250"))
        }
    }

    @Test func codesEndAfterTheirTimeAndAfterTooManyGuesses() {
        var codes = PairingCodes()
        let start = ServedHousehold.noon
        let grant = PairingCodes.Grant(scope: .control, label: "phone", person: "anna")
        let late = codes.issue(grant, at: start, random: { 7 })
        #expect(late == "00000007")
        #expect(codes.redeem(late, at: start.advanced(seconds: 300)) == .wrong)
        let back = codes.issue(grant, at: start.advanced(seconds: 1000), random: { 8 })
        // The clock was put back: that does not make a code last for ever.
        #expect(codes.redeem(back, at: start.advanced(seconds: -90_000)) == .wrong)
        var now = start.advanced(seconds: 10_000)
        let guessed = codes.issue(grant, at: now, random: { 9 })
        for _ in 0..<PairingCodes.guesses {
            now = now.advanced(seconds: 61)
            #expect(codes.redeem("11111111", at: now) == .wrong)
            #expect(codes.redeem(guessed, at: now) != .letIn(grant))
        }
        now = now.advanced(seconds: 61)
        #expect(codes.redeem(guessed, at: now) == .wrong)
        let good = codes.issue(grant, at: now.advanced(seconds: 70), random: { 123 })
        #expect(codes.redeem("0000 0123", at: now.advanced(seconds: 140)) == .letIn(grant) && good == "00000123")
        // An adversary's finding: ten typos in a service's life, and each one after them ended a fresh code.
        for _ in 1..<PairingCodes.guesses {
            now = now.advanced(seconds: 1000)
            #expect(codes.redeem("11111111", at: now) == .wrong)
        }
        now = now.advanced(seconds: 1000)
        let fresh = codes.issue(grant, at: now, random: { 456 })
        #expect(codes.redeem("11111111", at: now) == .wrong)
        #expect(codes.redeem(fresh, at: now.advanced(seconds: 2)) == .letIn(grant))
    }

    @Test(arguments: [
        ("GET", "/api/v1/nothing", 404), ("GET", "/../../etc/passwd", 404), ("GET", "/%2e%2e/%2e%2e/etc/passwd", 404), ("GET", "/index.html/../openapi.json", 404),
        ("PUT", "/api/v1/state", 405), ("DELETE", "/api/v1/drinks", 405), ("GET", "/api/v1/undo", 405), ("GET", "/api/v1/people/bob/state", 404),
        ("GET", "/api/v1/history?day=never", 422), ("GET", "/api/v1/history?dya=today", 422), ("GET", "/api/v1/sessions?limit=0", 422), ("HEAD", "/api/v1/state", 200),
        ("GET", "/api/v1/sessions/%00", 404), ("GET", "/api/v1/history?month=2026-13", 422), ("GET", "/api/v1/events?fields=", 422),
    ])
    func whatIsNotThereSaysSo(method: String, path: String, status: Int) async throws {
        try await ServedHousehold.serve { house async throws in
            let reply = try await house.ask(method, path)
            #expect(reply.status == status, "\(path): \(reply.body)")
            #expect(reply.headers["x-content-type-options"] == "nosniff" && reply.headers["content-security-policy"] != nil)
            if status == 405 { #expect(reply.headers["allow"] != nil) }
        }
    }

    @Test func hugeBodiesAndHeadersAreRefusedAndTheServerGoesOn() async throws {
        try await ServedHousehold.serve { house async throws in
            let huge = #"{"ml": "\#(String(repeating: "1", count: 80_000))"}"#
            #expect(try await house.ask("POST", "/api/v1/drinks", huge, headers: house.page).status == 413)
            let header = try? await house.ask("GET", "/api/v1/state", headers: ["X-Long": String(repeating: "x", count: 100_000)])
            #expect(header.map { $0.status >= 400 } ?? true)
            let garbage = try RawHTTP(port: house.port)
            garbage.send("\u{1}\u{2}\u{3} not http at all\r\n\r\n")
            #expect(try await garbage.read { _ in false }.contains("400"))
            #expect(try await house.ask("GET", "/healthz").status == 200)
        }
    }

    @Test func everyCutOfARequestLeavesTheServerWell() async throws {
        try await ServedHousehold.serve { house async throws in
            let request = "POST /api/v1/drinks HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"ml\": 250}"
            for end in stride(from: 0, to: request.utf8.count, by: 1) {
                let client = try RawHTTP(port: house.port)
                client.send(String(decoding: request.utf8.prefix(end), as: UTF8.self))
            }
            #expect(try await house.ask("GET", "/api/v1/state").json["dailyTotalMl"] as? Int == 0)
        }
    }
}

/// A server that is told to stop while connections come in (chaos seed 303: it died of SIGILL).
@Suite(.timeLimit(.minutes(2))) struct StoppingTests {
    @Test func aServerThatIsToldToStopWhileConnectionsComeInEndsInPeace() async throws {
        for _ in 0..<4 {
            let isOver = Mutex(false)
            try await ServedHousehold.serve { house async throws in
                let port = house.port
                // Threads of their own: what is asked for below must not wait for them.
                for _ in 0..<8 {
                    Thread.detachNewThread {
                        while !isOver.withLock({ $0 }) {
                            guard let client = try? RawHTTP(port: port) else { return }
                            client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                        }
                    }
                }
                _ = try await house.ask("GET", "/healthz")
            }
            isOver.withLock { $0 = true }
        }
    }
}
