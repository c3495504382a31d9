import Foundation
@testable import WebServer
import Logging
import Store
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerService
import TrackerSupport

@Suite struct AccessTests {
    private let server: TestServer

    init() async throws { server = try await TestServer() }

    @Test func `an address in use is reported`() async throws {
        let second = HTTPServer(server.app, log: .silent)
        await #expect { try await second.run(on: .tcp(host: "127.0.0.1", port: server.port)) { _ in } } throws: {
            error in "\(error)" == "another program listens there (find it with: ss -ltnp)"
        }
    }

    @Test func `every response has a Date header`() async throws {
        let format = DateFormatter()
        (format.locale, format.timeZone, format.dateFormat) = (
            Locale(identifier: "en_US_POSIX"), TimeZone(identifier: "UTC"), "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        )
        for path in ["/healthz", "/api/v1/state", "/nowhere"] {
            let said = try #require(try await server.ask("GET", path).headers["date"])
            let date = try #require(format.date(from: said), "\(said)")
            #expect(abs(date.timeIntervalSinceNow) < 20, "\(said)")
        }
    }

    struct Route: Sendable, CustomTestStringConvertible {
        var method: String
        var path: String
        var testDescription: String { "\(method) \(path)" }

        /// Routes of the API that need no token: signing in needs a code.
        static let open = ["POST /api/v1/sign-in"]

        /// All operations of openapi.json, with names for path parameters, and the routes outside the API.
        static func all() throws -> [Route] {
            let operations = try APIDescription().operations.map {
                Route(method: $0.method, path: "/api/v1" + $0.path.replacing(/\{[a-z]+\}/, with: "1"))
            }
            let others =
                ["/metrics", "/readyz"]
                + ["circular", "corner", "small", "medium", "large"].flatMap { ["/widget/\($0)", "/widget/\($0).svg"] }
            return operations + others.map { Route(method: "GET", path: $0) }
        }
    }

    @Test func `every route answers 401 over TCP without a credential, whatever the headers say`() async throws {
        let routes = try Route.all()
        #expect(routes.count > 60)
        let forged: [(headers: [String: String], host: String?)] = [
            ([:], nil), (["Sec-Fetch-Site": "same-origin"], nil), (["Sec-Fetch-Site": "none"], nil),
            (["Origin": "http://127.0.0.1:\(server.port)", "Sec-Fetch-Site": "same-origin"], nil),
            (["X-Forwarded-For": "127.0.0.1", "X-Real-IP": "127.0.0.1", "Forwarded": "for=127.0.0.1"], nil),
            (["X-Forwarded-Host": "localhost", "Via": "1.1 localhost"], nil), ([:], "localhost"), ([:], "evil.example"),
            (["Cookie": "waterh=wt_0000000000000000000000"], nil), (["Waterh-Surface": "dbus"], nil),
        ]
        for route in routes where !Route.open.contains(route.testDescription) {
            for (headers, host) in forged {
                let body = route.method == "GET" ? nil : "{}"
                let reply = try await server.askUnsigned(route.method, route.path, body, headers: headers, host: host)
                #expect(reply.status == 401, "\(route.testDescription) \(headers) \(host ?? "")")
            }
        }
        for path in ["/healthz", "/", "/sign-in", "/sign-in.js", "/watch", "/base.css", "/icon.svg"] {
            #expect(try await server.askUnsigned("GET", path).status == 200, "\(path)")
        }
        let refused = try await server.askUnsigned("GET", "/api/v1/state")
        #expect(refused.headers["www-authenticate"] == "Bearer" && refused.body.contains("waterh-tracker token new"))
        #expect(try await server.askUnsigned("GET", "/healthz").body == "ok\n")
    }

    @Test(arguments: [
        ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"], ["Origin": "http://evil.example"],
        ["Origin": "null"], ["Origin": "http://127.0.0.1:1"],
    ])
    func `a cookie is ignored in requests of another origin`(headers: [String: String]) async throws {
        let isVisible = Mutex(0)
        let server = try await TestServer(service: .stub(reportViewer: { _ in isVisible.withLock { $0 += 1 } }))
        for path in ["state", "events", "events?shows=notifications"] {
            #expect(try await server.get("\(path)", headers: headers).status == 401, "\(path)")
        }
        let write = try await server.post("drinks", #"{"ml": 250}"#, headers: headers)
        #expect(write.status == 401 && isVisible.withLock { $0 } == 0)
        // A token in the header is from a program.
        let token = try server.token(.read).merging(headers) { $1 }
        #expect(try await server.get("state", headers: token).status == 200)
        #expect(try await server.get("state", headers: server.page).status == 200)
    }

    @Test func `a write is rejected when its body is not JSON`() async throws {
        let form = try await server.post("drinks", #"{"ml": 250}"#, headers: ["Content-Type": "text/plain"])
        #expect(form.status == 415)
    }

    @Test func `a token with the scope widget gives access to widgets only`() async throws {
        let token = try server.token(.widget)["Authorization"].map { $0.dropFirst("Bearer ".count) } ?? ""
        let embedded = ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image"]
        let widget = try await server.askUnsigned("GET", "/widget/small.svg?token=\(token)", headers: embedded)
        #expect(widget.status == 200 && widget.headers["cross-origin-resource-policy"] == "cross-origin")
        for path in ["/api/v1/state", "/metrics", "/api/v1/tokens"] {
            #expect(try await server.askUnsigned("GET", "\(path)?token=\(token)").status == 401, "\(path)")
            let header = ["Authorization": "Bearer \(token)"]
            #expect(try await server.askUnsigned("GET", path, headers: header).status == 403, "\(path)")
        }
        // The URL of an embedded widget must not contain a token with more access.
        let more = try server.token(.admin)["Authorization"].map { $0.dropFirst("Bearer ".count) } ?? ""
        #expect(try await server.askUnsigned("GET", "/widget/small.svg?token=\(more)").status == 401)
    }

    @Test func `a token that is not used for 90 days expires, and each use renews it`() async throws {
        let clock = Mutex(TestServer.noon)
        let server = try await TestServer(now: { clock.withLock { $0 } })
        let token = try server.token(.read)
        func status(after days: Double) async throws -> Int {
            clock.withLock { $0 = $0.advanced(seconds: days * 86_400) }
            return try await server.get("state", headers: token).status
        }
        #expect(try await status(after: 89) == 200)
        #expect(try await status(after: 89) == 200)
        #expect(try await status(after: 91) == 401)
    }

    @Test func `a client without the admin scope revokes only its own token`() async throws {
        let (own, other) = (try server.token(.read), try server.token(.read))
        func id(_ headers: [String: String]) async throws -> String {
            try #require(try await server.get("access", headers: headers).json["token"] as? String)
        }
        let (ownID, otherID) = (try await id(own), try await id(other))
        #expect(try await server.delete("tokens/\(otherID)", headers: own).code == "scope")
        #expect(try await server.delete("tokens/\(ownID)", headers: own).json["revoked"] as? Int == 1)
        #expect(try await server.get("state", headers: own).code == "unknownToken")
        #expect(try await server.get("state", headers: other).status == 200)
    }

    @Test func `a token can have at most 32 event streams`() async throws {
        let token = try server.token(.read)
        var streams: [EventStream] = []
        for _ in 0..<32 { streams.append(try await EventStream.opened(server, headers: token)) }
        #expect(try await server.get("events", headers: token).code == "tooManyStreams")
        _ = try await EventStream.opened(server, headers: try server.token(.read))
        withExtendedLifetime(streams) {}
    }

    @Test func `each administrative request is logged in one line`() async throws {
        let lines = LogLines()
        let server = try await TestServer(log: lines.logger)
        let made = try await server.post("access-codes", #"{"label": "phone"}"#)
        let code = try #require(made.json["code"] as? String)
        #expect(try await server.askUnsigned("POST", "/api/v1/sign-in", "{\"code\": \"\(code)\"}").status == 200)
        for _ in 0..<3 { _ = try await server.askUnsigned("POST", "/api/v1/sign-in", #"{"code": "0123456789"}"#) }
        let token = try await server.post("tokens", #"{"label": "script"}"#)
        _ = try await server.delete("tokens/\(token.json["id"] as? String ?? "")")
        _ = try await server.patch("settings", #"{"ntfy.url": "http://127.0.0.1:9/x"}"#)
        _ = try await server.patch("settings", #"{"hydration.goalMl": 2000}"#)
        _ = try await server.get("backup")
        _ = try await server.post("purge", #"{"confirm": "purge"}"#)
        let starts = [
            "Access code created", "Access code used", "Wrong access code", "Token", "Token", "Settings changed",
            "Backup downloaded", "Everything deleted",
        ]
        #expect(lines.all.count == starts.count, "\(lines.all)")
        for (line, start) in zip(lines.all, starts) { #expect(line.hasPrefix(start), "\(line)") }
        #expect(!lines.all.joined().contains(code))
    }

    /// A proxy with password authentication passes its credentials on, which must not prevent the sign-in.
    @Test(arguments: [
        ("Basic YW5uYTpzZWNyZXQ=", 200), ("Digest username=\"anna\"", 200), ("", 200), ("Bearer", 401),
        ("Bearer nobody-knows-this-token", 401),
    ])
    func `proxy credentials grant nothing`(authorization: String, status: Int) async throws {
        #expect(
            try await server.askUnsigned(
                "GET", "/api/v1/state", headers: server.page.merging(["Authorization": authorization]) { $1 }
            ).status == status)
    }

    @Test(arguments: ["zz\r\n{\"ml\": 100}\r\n0\r\n\r\n", "a\n{\"ml\":100}\n0\n\n"], ["drinks", "import"])
    func `an invalid chunked body is a client error`(body: String, path: String) async throws {
        let token = try #require(try server.token(.admin)["Authorization"])
        let client = try RawHTTP(port: server.port)
        client.send(
            """
            POST /api/v1/\(path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: \(token)\r\nContent-Type: \
            application/json\r\nTransfer-Encoding: chunked\r\n\r\n\(body)
            """)
        let answer = try await client.read { $0.contains("}") }
        #expect(answer.hasPrefix("HTTP/1.1 400 ") && answer.contains("malformedBody"), "\(answer)")
    }

    @Test(arguments: [
        ("Transfer-Encoding: gzip, chunked", 501, "transferEncoding"),
        ("Transfer-Encoding: chunked\r\nContent-Encoding: gzip", 415, "contentEncoding"),
        ("Transfer-Encoding: CHUNKED\r\nContent-Encoding: identity", 201, ""),
    ])
    func `a compressed body is rejected`(fields: String, status: Int, code: String) async throws {
        let reply = try await RawHTTP.exchange(
            server.port,
            """
            POST /api/v1/drinks HTTP/1.1\r\nHost: localhost\r\n\(server.signedIn)Origin: http://localhost\r\n\
            Content-Type: application/json\r\nConnection: close\r\n\(fields)\r\n\r\nb\r\n{\"ml\": 250}\r\n0\r\n\r\n
            """)
        #expect(reply.status == status && (code.isEmpty || reply.code == code), "\(reply.status) \(reply.body)")
    }

    /// A double slash must not bypass a proxy's rule for `/api/v1/tokens`.
    @Test(arguments: ["/api/v1//state", "//api/v1/state", "/api//v1/state"])
    func `an empty path segment is not ignored`(path: String) async throws {
        #expect(try await server.ask("GET", path).status == 404)
        #expect(try await server.get("history?day=2026-06-15&x=//").code == "unknownParameter")
    }

    /// A proxy can have checked another one of the values.
    @Test(arguments: [
        ("localhost", "evil.example"), ("evil.example", "localhost"), ("localhost", "localhost"), ("localhost", ""),
    ])
    func `a request with two Host headers is rejected`(first: String, second: String) async throws {
        let reply = try await RawHTTP.exchange(
            server.port,
            """
            POST /api/v1/drinks HTTP/1.1\r\nHost: \(first)\r\nhOST: \(second)\r\nOrigin: http://localhost\r\n\
            Content-Type: application/json\r\nContent-Length: 11\r\nConnection: close\r\n\r\n{\"ml\": 250}
            """)
        #expect(reply.status == 400 && reply.code == "severalHosts", "\(reply.status) \(reply.body)")
        #expect(try await server.total() == 0)
    }

    /// Setting names are case-insensitive, so the filter is too.
    @Test func `Waterline settings are hidden regardless of letter case`() async throws {
        let away = try server.token(.control)
        for name in [
            "waterline.discreet", "Waterline.Discreet", "hydration.countSessionWater", "HYDRATION.COUNTSESSIONWATER",
        ] {
            #expect(try await server.get("settings/\(name)", headers: away).status == 403, "\(name)")
            #expect(try await server.patch("settings", "{\"\(name)\": false}", headers: away).status == 403, "\(name)")
        }
        #expect(try await server.get("settings", headers: away).json["hydration.countSessionWater"] == nil)
        #expect(try await server.get("settings").json["hydration.countSessionWater"] as? Bool == false)
    }

    /// The ntfy topic contains the key of the action buttons: with it a read token would be a write token.
    @Test func `a secret address is shown only to clients that may change it`() async throws {
        let names = ["ntfy.url", "webhook.url", "sync.url"]
        let given = names.map { "\"\($0)\": \"http://127.0.0.1:9/s3cret\"" }.joined(separator: ", ")
        #expect(try await server.patch("settings", "{\(given)}").body.contains("s3cret"))
        func from(_ scope: Scope) throws -> [String: String] { try server.token(scope) }
        for scope in [Scope.read, .log, .control] {
            let all = try await server.get("settings", headers: from(scope))
            #expect(
                all.status == 200 && !all.body.contains("s3cret")
                    && names.allSatisfy { all.json[$0] as? String == "(set)" })
            for name in names + ["NTFY.url"] {
                #expect(try await server.get("settings/\(name)", headers: from(scope)).code == "scope")
            }
        }
        let changed = try await server.patch("settings", #"{"hydration.goalMl": 2100}"#, headers: from(.control))
        #expect(changed.status == 200 && !changed.body.contains("s3cret"))
        #expect(try await server.get("settings", headers: from(.admin)).body.contains("s3cret"))
        #expect(try await server.get("settings/ntfy.url").body.contains("s3cret"))
    }

    /// Session water that counts in the day is listed as plain water there. Files and phone messages omit it.
    @Test func `session water does not reveal a session`() async throws {
        for shares in [false, true] {
            let server = try await TestServer(sharesWaterline: shares)
            #expect(try await server.patch("settings", #"{"hydration.countSessionWater": true}"#).status == 200)
            _ = try await server.post("session")
            _ = try await server.post("session/water", #"{"ml": 240}"#)
            let away = try server.token(.control)
            let day = try await server.get("history?day=today", headers: away)
            let drink = try #require((day.json["drinks"] as? [[String: Any]])?.first)
            #expect(drink["ml"] as? Int == 240 && day.body.contains("session") == shares, "\(day.body)")
            for path in [
                "/api/v1/export?format=json", "/api/v1/export?format=csv", "/api/v1/export?format=apple-health",
                "/api/v1/shortcuts/drinks", "/api/v1/state",
            ] {
                #expect(
                    try await server.ask("GET", path, headers: away).body.contains("session|")
                        == (shares && path != "/api/v1/state"), "\(path)")
            }
            #expect(try await server.get("export?format=csv").body.contains("session|"))
            let number = try #require(drink["number"] as? Int)
            let edited = try await server.patch("drinks/d\(number)", #"{"ml": 200}"#, headers: away)
            #expect(
                edited.status == 200
                    && ((edited.json["drink"] as? [String: Any])?["source"] as? String == "session") == shares,
                "\(edited.body)")
            let reset = try await server.post("reset-today", headers: away)
            #expect(
                reset.status == 200
                    && (((reset.json["deleted"] as? [[String: Any]])?.first?["source"] as? String) == "session")
                        == shares,
                "\(reset.body)")
        }
    }

    @Test func `Waterline is hidden from remote clients`() async throws {
        for shares in [false, true] {
            let server = try await TestServer(sharesWaterline: shares)
            _ = try await server.post("session")
            let away = try server.token(.control)
            let state = try await server.get("state", headers: away)
            #expect((state.json["waterline"] is NSNull) == !shares)
            for (method, path, body) in [
                ("GET", "session", nil), ("GET", "settings/waterline.discreet", nil),
                ("PATCH", "settings", #"{"waterline.discreet": false}"#),
                // The first-run page must not change.
                ("POST", "setup", #"{"threshold": 4}"#),
            ] as [(String, String, String?)] {
                let reply = try await server.ask(method, "/api/v1/\(path)", body, headers: away)
                #expect(reply.status == (shares ? 200 : 403), "\(method) \(path): \(reply.body)")
            }
            let drink = try await server.post("drinks", #"{"ml": 100}"#, headers: away)
            #expect(((drink.json["state"] as? [String: Any])?["waterline"] is NSNull) == !shares)
            // The widget reveals neither a session nor its absence.
            for widget in ["small", "medium", "large"] {
                #expect(
                    try await !server.ask("GET", "/widget/\(widget).svg", headers: away).body.contains("No Session"))
            }
            #expect(
                try await server.get("settings", headers: away).json.keys.contains { $0.hasPrefix("waterline.") }
                    == shares)
            let setup = try await server.post("setup", #"{"goal": 2600}"#, headers: away)
            #expect(
                setup.status == 200 && (setup.json["presets"] != nil) == shares
                    && setup.body.contains("waterline.") == shares, "\(setup.body)")
            #expect(try await server.get("why", headers: away).body.contains("waterline-") == shares)
            // Neither the desktop agent nor its actions reveal a session, and no session entry can be undone.
            #expect(try await server.get("agent", headers: away).status == 403)
            for (path, body) in [
                ("shown", #"{"agent": "agent-1", "id": "x"}"#),
                ("press", #"{"action": "log-water", "key": "log-water"}"#),
                ("press", #"{"action": "end-session", "key": "end-session"}"#),
                ("press", #"{"action": "log-cup", "key": "log-cup"}"#),
            ] { #expect(try await server.post("agent/\(path)", body, headers: away).status == 403, "\(body)") }
            #expect(try await server.post("session/drink", "{}").status == 201)
            let undone = try await server.post("undo", headers: away)
            #expect(
                ((undone.json["state"] as? [String: Any])?["dailyTotalMl"] as? Int == 0) == !shares, "\(undone.body)")
            // Nor a stored response of a request with other access.
            let water = ["Idempotency-Key": "w"]
            #expect(try await server.post("session/water", headers: server.page.merging(water) { $1 }).status == 201)
            #expect(
                try await server.post("session/water", headers: away.merging(water) { $1 }).status
                    == (shares ? 409 : 403))
        }
    }

    @Test func `an access code works once`() async throws {
        let made = try await server.post("access-codes", #"{"label": "phone"}"#)
        let code = try #require(made.json["code"] as? String)
        #expect(
            made.status == 201 && code.count == 10 && (made.json["urls"] as? [String]) == ["http://192.0.2.1:8077/"])
        let paired = try await server.askUnsigned("POST", "/api/v1/sign-in", #"{"code": "\#(code)"}"#)
        let cookie = try #require(paired.headers["set-cookie"])
        #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"))
        let away = ["Cookie": String(cookie.prefix { $0 != ";" })]
        #expect(try await server.post("drinks", #"{"ml": 250}"#, headers: away).status == 201)
        #expect(try await server.post("purge", #"{"confirm": "purge"}"#, headers: away).status == 403)
        let again = try await server.askUnsigned("POST", "/api/v1/sign-in", #"{"code": "\#(code)"}"#)
        #expect(again.status == 403 && again.code == "codeUsed" && again.body.contains("the list of tokens"))
        #expect(try await server.askUnsigned("POST", "/api/v1/sign-in", #"{"code": "0000000000"}"#).status == 429)
        #expect(try await server.get("state", headers: ["Cookie": "waterh=wt_00000000000000000000000"]).status == 401)
    }

    @Test func `a script gets a token for an access code`() async throws {
        let code = try #require(try await server.post("access-codes", #"{"scope": "log"}"#).json["code"] as? String)
        let reply = try await server.askUnsigned("POST", "/api/v1/sign-in", #"{"code": "\#(code)", "token": true}"#)
        let token = try #require(reply.json["token"] as? String, "\(reply.body)")
        #expect(reply.json["scope"] as? String == "log" && reply.headers["set-cookie"] == nil)
        let drink = try await server.post("drinks", #"{"ml": 250}"#, headers: ["Authorization": "Bearer \(token)"])
        #expect(drink.status == 201)
    }

    @Test func `a token that another process revokes is rejected at once`() async throws {
        let folder = try TemporaryFolder()
        let (store, other) = (
            try TrackerStore(path: folder.file("me.sqlite")), try TrackerStore(path: folder.file("me.sqlite"))
        )
        let server = try await TestServer(store)
        let token = try server.token(.read)
        for _ in 0..<2 { #expect(try await server.get("state", headers: token).status == 200) }
        _ = try other.revokeTokens(nil, .noon)
        #expect(try await server.get("state", headers: token).status == 401)
    }

    @Test func `a revoked client receives no more events`() async throws {
        let token = try server.token(.read)
        let client = try RawHTTP(port: server.port)
        client.send(
            """
            GET /api/v1/events?fields=dailyTotalMl HTTP/1.1\r\nHost: localhost\r\nAuthorization: \
            \(token["Authorization"] ?? "")\r\n\r\n
            """)
        _ = try await client.read { $0.contains("dailyTotalMl") }
        client.forget()
        _ = try server.store.revokeTokens(nil, .noon)
        _ = try await server.post("drinks", #"{"ml": 250}"#)
        #expect(try await !client.read { $0.contains("250") || $0.hasSuffix("0\r\n\r\n") }.contains("250"))
    }

    @Test(arguments: [
        ("GET", "/api/v1/nothing", 404), ("GET", "/../../etc/passwd", 404), ("GET", "/%2e%2e/%2e%2e/etc/passwd", 404),
        ("GET", "/index.html/../openapi.json", 404), ("PUT", "/api/v1/state", 405), ("DELETE", "/api/v1/drinks", 405),
        ("GET", "/api/v1/undo", 405), ("QUERY", "/api/v1/state", 405), ("GET", "/api/v1/people/anna/state", 404),
        ("GET", "/api/v1/history?day=never", 422), ("GET", "/api/v1/history?dya=today", 422),
        ("GET", "/api/v1/sessions?limit=0", 422), ("HEAD", "/api/v1/state", 200), ("GET", "/api/v1/sessions/%00", 404),
        ("GET", "/api/v1/history?month=2026-13", 422), ("GET", "/api/v1/events?fields=", 422),
    ])
    func `a request for an unknown path, method or parameter is rejected`(
        method: String, path: String, status: Int
    ) async throws {
        let reply = try await server.ask(method, path)
        #expect(reply.status == status, "\(path): \(reply.body)")
        #expect(reply.headers["x-content-type-options"] == "nosniff" && reply.headers["content-security-policy"] != nil)
        if status == 405 { #expect(reply.headers["allow"] != nil) }
    }

    @Test func `bodies and headers above the limits are rejected`() async throws {
        let huge = #"{"ml": "\#(String(repeating: "1", count: 80_000))"}"#
        #expect(try await server.post("drinks", huge).status == 413)
        let header = try? await server.get("state", headers: ["X-Long": String(repeating: "x", count: 100_000)])
        #expect(header.map { $0.status >= 400 } ?? true)
        let garbage = try RawHTTP(port: server.port)
        garbage.send("\u{1}\u{2}\u{3} not http at all\r\n\r\n")
        #expect(try await garbage.read { _ in false }.contains("400"))
        #expect(try await server.ask("GET", "/healthz").status == 200)
    }

    @Test func `the server survives a request truncated at any byte`() async throws {
        let request = """
            POST /api/v1/drinks HTTP/1.1\r\nHost: localhost\r\n\(server.signedIn)Origin: http://localhost\r\n\
            Content-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"ml\": 250}
            """
        for end in stride(from: 0, to: request.utf8.count, by: 1) {
            let client = try RawHTTP(port: server.port)
            client.send(String(decoding: request.utf8.prefix(end), as: UTF8.self))
        }
        #expect(try await server.total() == 0)
    }
}

/// Stopping a server during incoming connections (chaos seed 303: it crashed with SIGILL).
@Suite(.timeLimit(.minutes(2))) struct StoppingTests {
    @Test func `a server stops while connections arrive`() async throws {
        for _ in 0..<4 {
            let isOver = Mutex(false)
            let server = try await TestServer()
            let (port, signedIn) = (server.port, server.signedIn)
            // Threads of their own, so that later requests do not wait for them.
            for _ in 0..<8 {
                Thread.detachNewThread {
                    while !isOver.withLock({ $0 }) {
                        guard let client = try? RawHTTP(port: port) else { return }
                        client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\(signedIn)\r\n")
                    }
                }
            }
            _ = try await server.ask("GET", "/healthz")
            await server.stop()
            isOver.withLock { $0 = true }
        }
    }
}
