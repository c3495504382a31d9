import Foundation
@testable import WebServer
import Logging
import Store
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerService

/// Who gets in: names, origins, codes, hostile bytes.
@Suite struct DoorTests {
    @Test(arguments: [
        ("127.0.0.1:8077", true), ("localhost", true), ("localhost:8077", true), ("[::1]:8077", true),
        ("192.168.1.5:8077", true), ("bench:8077", true),
        ("BENCH", true), ("app.localhost", true), ("evil.example", false), ("127.0.0.1.evil.example", false),
        ("", false), ("bench:notaport", false),
        ("bench:99999", false), ("local\u{0}host", false), ("256.1.1.1", false), ("[evil]", false),
    ])
    func aMachineGoesByItsOwnNames(host: String, isAllowed: Bool) {
        #expect(HostRule(names: ["bench"]).allows(host) == isAllowed)
    }

    @Test(arguments: [
        ("http://localhost:8077", "localhost:8077", true), ("http://localhost", "localhost:80", true),
        ("https://bench", "bench:443", true),
        ("http://evil.example", "localhost:8077", false), ("null", "localhost:8077", false),
        ("http://localhost:8078", "localhost:8077", false),
        ("ftp://localhost:8077", "localhost:8077", false),
    ])
    func anOriginIsTheVeryPlace(origin: String, host: String, isSame: Bool) {
        #expect(HostRule.isSame(origin: origin, as: host) == isSame)
    }

    /// "bind(descriptor:ptr:bytes:): Address already in use) (errno: 98)" stood there.
    @Test func aPlaceWhereAnotherListensIsToldInWords() async throws {
        try await ServedHousehold.serve { house async throws in
            var log = Logger(label: "test")
            log.logLevel = .critical
            let second = HTTPServer(
                house.person, names: { [] }, log: log, random: { 0 }, passing: { ServedHousehold.noon },
                addresses: { [] })
            await #expect {
                try await second.run(on: .tcp(host: "127.0.0.1", port: house.port)) { _ in }
            } throws: { error in "\(error)" == "another program listens there already (ss -ltnp says which)" }
        }
    }

    /// The library's own clock for this field ticked each second, whether anybody asked or not.
    @Test func everyAnswerSaysWhenItWasWritten() async throws {
        let format = DateFormatter()
        (format.locale, format.timeZone, format.dateFormat) = (
            Locale(identifier: "en_US_POSIX"), TimeZone(identifier: "UTC"), "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        )
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
            let other = try await house.ask(
                "POST", "/api/v1/drinks", #"{"ml": 250}"#, headers: ["Origin": "http://evil.example"])
            #expect(other.status == 403 && other.code == "otherOrigin")
            let cross = try await house.ask(
                "POST", "/api/v1/drinks", #"{"ml": 250}"#,
                headers: try house.token(.log).merging(["Sec-Fetch-Site": "cross-site"]) { $1 })
            #expect(cross.status == 403)
            // A form of another page can send text without asking first.
            let form = try await house.ask(
                "POST", "/api/v1/drinks", #"{"ml": 250}"#,
                headers: house.page.merging(["Content-Type": "text/plain"]) { $1 })
            #expect(form.status == 415)
        }
    }

    /// An adversary's finding: any website could listen, and used up the reminders; or ask for the state, which held
    /// the bottle for it.
    @Test(arguments: [
        ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"], ["Origin": "http://evil.example"],
        ["Origin": "null"],
    ])
    func aPageOfAnotherOriginBringsNothingAbout(headers: [String: String]) async throws {
        let looks = Mutex(0)
        let door = ServiceDoor(
            status: { ServiceStatus(version: "test") }, pollNow: {}, recentPolls: { [] }, send: { _ in "" },
            look: { _ in looks.withLock { $0 += 1 } })
        try await ServedHousehold.serve(service: door) { house async throws in
            for path in ["events", "events?shows=notifications", "events?looks=no"] {
                let reply = try await house.ask("GET", "/api/v1/\(path)", headers: headers)
                #expect(reply.status == 403 && reply.code == "otherOrigin", "\(path): \(reply.status)")
            }
            #expect(try await house.ask("GET", "/api/v1/state", headers: headers).status == 200)
            #expect(looks.withLock { $0 } == 0)
            // A program with a token knows what it does; and so does the page itself.
            #expect(try await house.ask("GET", "/api/v1/state", headers: house.page).status == 200)
            #expect(looks.withLock { $0 } == 1)
        }
    }

    /// An adversary's finding: a proxy that asks its visitors for a password hands it on, and then nobody got in.
    @Test(arguments: [
        ("Basic YW5uYTpzZWNyZXQ=", 200), ("Digest username=\"anna\"", 200), ("", 200), ("Bearer", 401),
        ("Bearer nobody-knows-this-token", 401),
    ])
    func whatAProxyAskedItsVisitorForSaysNothing(authorization: String, status: Int) async throws {
        try await ServedHousehold.serve { house async throws in
            for path in ["/healthz", "/", "/api/v1/state"] {
                #expect(
                    try await house.ask(
                        "GET", path, headers: house.page.merging(["Authorization": authorization]) { $1 }
                    ).status == status, "\(path)")
            }
        }
    }

    /// An adversary's finding: it was answered 500, as if the service had failed.
    @Test(arguments: ["zz\r\n{\"ml\": 100}\r\n0\r\n\r\n", "a\n{\"ml\":100}\n0\n\n"], ["drinks", "import"])
    func aBodyWhoseChunksAreNoneIsTheClientsFault(body: String, path: String) async throws {
        try await ServedHousehold.serve { house async throws in
            let token = try #require(try house.token(.admin)["Authorization"])
            let client = try RawHTTP(port: house.port)
            client.send(
                """
                POST /api/v1/\(path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: \(token)\r\nContent-Type: \
                application/json\r\nTransfer-Encoding: chunked\r\n\r\n\(body)
                """
            )
            let answer = try await client.read { $0.contains("}") }
            #expect(answer.hasPrefix("HTTP/1.1 400 ") && answer.contains("malformedBody"), "\(answer)")
        }
    }

    /// An adversary's finding: what was said to be packed was read as it came.
    @Test(arguments: [
        ("Transfer-Encoding: gzip, chunked", 501, "transferEncoding"),
        ("Transfer-Encoding: chunked\r\nContent-Encoding: gzip", 415, "contentEncoding"),
        ("Transfer-Encoding: CHUNKED\r\nContent-Encoding: identity", 201, ""),
    ])
    func aBodyThatIsPackedIsNotReadAsItComes(fields: String, status: Int, code: String) async throws {
        try await ServedHousehold.serve { house async throws in
            let client = try RawHTTP(port: house.port)
            client.send(
                """
                POST /api/v1/drinks HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nContent-Type: \
                application/json\r\nConnection: close\r\n\(fields)\r\n\r\nb\r\n{\"ml\": 250}\r\n0\r\n\r\n
                """
            )
            let reply = try RawHTTP.reply(try await client.read { _ in false })
            #expect(reply.status == status && (code.isEmpty || reply.code == code), "\(reply.status) \(reply.body)")
        }
    }

    /// An adversary's finding: a proxy's rule for `/api/v1/tokens` could be gone round.
    @Test(arguments: ["/api/v1//state", "//api/v1/state", "/api//v1/state"]) func anEmptyPartOfAPathIsNotReadOver(
        path: String
    ) async throws {
        try await ServedHousehold.serve { house async throws in
            #expect(try await house.ask("GET", path).status == 404)
            #expect(try await house.ask("GET", "/api/v1/history?day=2026-06-15&x=//").code == "unknownParameter")
        }
    }

    /// An adversary's finding: with the public address as a setting every button of a notification led to "this machine
    /// does not go by that name".
    @Test func byThePublicAddressOfTheSettingsTheMachineIsCalledToo() async throws {
        try await ServedHousehold.serve { house async throws in
            let named = ["X-Forwarded-For": "203.0.113.9"]
            #expect(try await house.ask("GET", "/healthz", headers: named, host: "water.example").code == "unknownHost")
            _ = try house.person.desk().set([("http.publicUrl", "https://water.example/")])
            #expect(try await house.ask("GET", "/healthz", headers: named, host: "water.example").status == 200)
            #expect(try await house.ask("GET", "/healthz", host: "other.example").code == "unknownHost")
        }
    }

    /// The first of them used to count, whatever a proxy before us had believed.
    @Test(arguments: [
        ("localhost", "evil.example"), ("evil.example", "localhost"), ("localhost", "localhost"), ("localhost", ""),
    ])
    func aRequestNamesItsHostOnce(first: String, second: String) async throws {
        try await ServedHousehold.serve { house async throws in
            let client = try RawHTTP(port: house.port)
            client.send(
                """
                POST /api/v1/drinks HTTP/1.1\r\nHost: \(first)\r\nhOST: \(second)\r\nOrigin: http://localhost\r\n\
                Content-Type: application/json\r\nContent-Length: 11\r\nConnection: close\r\n\r\n{\"ml\": 250}
                """
            )
            let reply = try RawHTTP.reply(try await client.read { _ in false })
            #expect(reply.status == 400 && reply.code == "severalHosts", "\(reply.status) \(reply.body)")
            #expect(try await house.ask("GET", "/api/v1/state").json["dailyTotalMl"] as? Int == 0)
        }
    }

    @Test func fromBeyondThisMachineNobodyLooksWithoutBeingLetIn() async throws {
        try await ServedHousehold.serve { house async throws in
            let proxied = ["X-Forwarded-For": "203.0.113.9"]
            for (path, status) in [
                ("/api/v1/state", 401), ("/metrics", 401), ("/widget/circular.svg", 401), ("/healthz", 200), ("/", 200),
            ] {
                let reply = try await house.ask("GET", path, headers: proxied)
                #expect(reply.status == status, "\(path)")
            }
            #expect(
                try await house.ask(
                    "POST", "/api/v1/drinks", #"{"ml": 1}"#, headers: house.page.merging(proxied) { $1 }
                ).status == 401)
        }
    }

    /// An adversary's finding: behind a proxy that says nothing everybody was somebody at this machine.
    @Test func aProxyThatHandsOnTheNameItWasAskedByGivesItselfAway() async throws {
        try await ServedHousehold.serve(names: ["shelf.example"]) { house async throws in
            for host in ["shelf.example", "192.0.2.7:\(house.port)"] {
                #expect(try await house.ask("GET", "/api/v1/state", host: host).status == 401)
                let page = ["Origin": "http://\(host)", "Sec-Fetch-Site": "same-origin"]
                #expect(
                    try await house.ask("POST", "/api/v1/drinks", #"{"ml": 250}"#, headers: page, host: host).status
                        == 401)
                #expect(
                    try await house.ask("GET", "/api/v1/state", headers: try house.token(.read), host: host).status
                        == 200)
            }
            #expect(try await house.ask("GET", "/api/v1/state", host: "localhost").status == 200)
        }
    }

    @Test func behindAProxyNobodyIsBelievedToSitHere() async throws {
        try await ServedHousehold.serve(isBehindProxy: true) { house async throws in
            // As nginx hands on where nobody tells it anything: by the name of where it sends it.
            #expect(try await house.ask("GET", "/api/v1/state").status == 401)
            #expect(try await house.ask("POST", "/api/v1/drinks", #"{"ml": 250}"#, headers: house.page).status == 401)
            #expect(try await house.ask("POST", "/api/v1/pairings", "{}", headers: house.page).status == 401)
            #expect(try await house.ask("GET", "/healthz").status == 200)
            #expect(
                try await house.ask("POST", "/api/v1/drinks", #"{"ml": 250}"#, headers: try house.token(.log)).status
                    == 201)
            _ = try await house.ask("POST", "/api/v1/session", headers: try house.token(.log))
            #expect(
                try await house.ask("GET", "/api/v1/state", headers: try house.token(.read)).json["waterline"] is NSNull
            )
        }
    }

    /// Names of settings are taken in any letters: a rule that looks for them does so, too.
    @Test func waterlinesSettingsAreHiddenHoweverTheyAreWritten() async throws {
        try await ServedHousehold.serve { house async throws in
            let away = try house.token(.admin).merging(["X-Forwarded-For": "203.0.113.9"]) { $1 }
            for name in [
                "waterline.discreet", "Waterline.Discreet", "hydration.countSessionWater",
                "HYDRATION.COUNTSESSIONWATER",
            ] {
                #expect(try await house.ask("GET", "/api/v1/settings/\(name)", headers: away).status == 403, "\(name)")
                #expect(
                    try await house.ask("PATCH", "/api/v1/settings", "{\"\(name)\": false}", headers: away).status
                        == 403, "\(name)")
            }
            #expect(
                try await house.ask("GET", "/api/v1/settings", headers: away).json["hydration.countSessionWater"] == nil
            )
            #expect(
                try await house.ask("GET", "/api/v1/settings").json["hydration.countSessionWater"] as? Bool == false)
        }
    }

    @Test func aServiceWhoseStoreWasTakenAwayIsNotReady() async throws {
        let folder = try TemporaryFolder()
        try await ServedHousehold.serve(try TrackerStore(path: folder.file("s.sqlite"))) { house async throws in
            _ = try await house.ask("POST", "/api/v1/drinks", #"{"ml": 100}"#, headers: house.page)
            #expect(try await house.ask("GET", "/readyz").status == 200)
            try FileManager.default.moveItem(atPath: folder.file("s.sqlite"), toPath: folder.file("t.sqlite"))
            let reply = try await house.ask("GET", "/readyz")
            #expect(reply.status >= 500 && reply.code == "storeWasRemoved", "\(reply)")
            #expect(try await house.ask("GET", "/healthz").status == 200)
        }
    }

    /// Whoever knows ntfy's topic reads there by which key its buttons log: a token for looking was one for logging.
    @Test func anAddressThatIsAsGoodAsASecretIsShownToWhoMayChangeIt() async throws {
        try await ServedHousehold.serve { house async throws in
            let names = ["ntfy.url", "webhook.url", "sync.url"]
            let given = names.map { "\"\($0)\": \"http://127.0.0.1:9/s3cret\"" }.joined(separator: ", ")
            #expect(
                try await house.ask("PATCH", "/api/v1/settings", "{\(given)}", headers: house.page).body.contains(
                    "s3cret"))
            func from(_ scope: Scope) throws -> [String: String] {
                try house.token(scope).merging(["X-Forwarded-For": "203.0.113.9"]) { $1 }
            }
            for scope in [Scope.read, .log, .control] {
                let all = try await house.ask("GET", "/api/v1/settings", headers: from(scope))
                #expect(
                    all.status == 200 && !all.body.contains("s3cret")
                        && names.allSatisfy { all.json[$0] as? String == "(set)" })
                for name in names + ["NTFY.url"] {
                    #expect(
                        try await house.ask("GET", "/api/v1/settings/\(name)", headers: from(scope)).code == "scope")
                }
            }
            let changed = try await house.ask(
                "PATCH", "/api/v1/settings", #"{"hydration.goalMl": 2100}"#, headers: from(.control))
            #expect(changed.status == 200 && !changed.body.contains("s3cret"))
            #expect(try await house.ask("GET", "/api/v1/settings", headers: from(.admin)).body.contains("s3cret"))
            #expect(try await house.ask("GET", "/api/v1/settings/ntfy.url").body.contains("s3cret"))
        }
    }

    /// A session's water that counts in the day is there a water like another; in files and for a phone it is left out.
    @Test func waterOfASessionDoesNotSayThatThereIsOne() async throws {
        for shares in [false, true] {
            try await ServedHousehold.serve(sharesWaterline: shares) { house async throws in
                #expect(
                    try await house.ask(
                        "PATCH", "/api/v1/settings", #"{"hydration.countSessionWater": true}"#, headers: house.page
                    ).status == 200)
                _ = try await house.ask("POST", "/api/v1/session", headers: house.page)
                _ = try await house.ask("POST", "/api/v1/session/water", #"{"ml": 240}"#, headers: house.page)
                let away = try house.token(.control).merging(["X-Forwarded-For": "203.0.113.9"]) { $1 }
                let day = try await house.ask("GET", "/api/v1/history?day=today", headers: away)
                let drink = try #require((day.json["drinks"] as? [[String: Any]])?.first)
                #expect(drink["ml"] as? Int == 240 && day.body.contains("session") == shares, "\(day.body)")
                for path in [
                    "/api/v1/export?format=json", "/api/v1/export?format=csv", "/api/v1/export?format=apple-health",
                    "/api/v1/shortcuts/drinks", "/api/v1/state",
                ] {
                    #expect(
                        try await house.ask("GET", path, headers: away).body.contains("session|")
                            == (shares && path != "/api/v1/state"), "\(path)")
                }
                #expect(try await house.ask("GET", "/api/v1/export?format=csv").body.contains("session|"))
                let number = try #require(drink["number"] as? Int)
                let edited = try await house.ask("PATCH", "/api/v1/drinks/d\(number)", #"{"ml": 200}"#, headers: away)
                #expect(
                    edited.status == 200
                        && ((edited.json["drink"] as? [String: Any])?["source"] as? String == "session") == shares,
                    "\(edited.body)")
                let reset = try await house.ask("POST", "/api/v1/reset-today", headers: away)
                #expect(
                    reset.status == 200
                        && (((reset.json["deleted"] as? [[String: Any]])?.first?["source"] as? String) == "session")
                            == shares,
                    "\(reset.body)")
            }
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
                for widget in ["small", "medium", "large"] {
                    #expect(
                        try await !house.ask("GET", "/widget/\(widget).svg", headers: away).body.contains("No Session"))
                }
                let control = try house.token(.control).merging(["X-Forwarded-For": "203.0.113.9"]) { $1 }
                #expect(
                    try await house.ask("GET", "/api/v1/settings", headers: control).json.keys.contains {
                        $0.hasPrefix("waterline.")
                    } == shares)
                #expect(
                    try await house.ask("GET", "/api/v1/settings/waterline.discreet", headers: control).status
                        == (shares ? 200 : 403))
                #expect(
                    try await house.ask(
                        "PATCH", "/api/v1/settings", #"{"waterline.discreet": false}"#, headers: control
                    ).status == (shares ? 200 : 403))
                // An adversary's finding: the welcome changed and told them.
                #expect(
                    try await house.ask("POST", "/api/v1/setup", #"{"threshold": 4}"#, headers: control).status
                        == (shares ? 200 : 403))
                let setup = try await house.ask("POST", "/api/v1/setup", #"{"goal": 2600}"#, headers: control)
                #expect(
                    setup.status == 200 && (setup.json["presets"] != nil) == shares
                        && setup.body.contains("waterline.") == shares, "\(setup.body)")
                #expect(try await house.ask("GET", "/api/v1/why", headers: away).body.contains("waterline-") == shares)
                // Not by way of what a desktop is shown, nor by its buttons; nor is anything of it taken back.
                #expect(try await house.ask("GET", "/api/v1/agent", headers: away).status == 403)
                #expect(
                    try await house.ask(
                        "POST", "/api/v1/agent/shown", #"{"agent": "agent-1", "id": "x"}"#, headers: away
                    ).status == 403)
                for action in ["log-water", "end-session", "log-cup"] {
                    #expect(
                        try await house.ask(
                            "POST", "/api/v1/agent/press", "{\"action\": \"\(action)\", \"key\": \"\(action)\"}",
                            headers: away
                        ).status == 403)
                }
                #expect(try await house.ask("POST", "/api/v1/session/drink", "{}", headers: house.page).status == 201)
                let undone = try await house.ask("POST", "/api/v1/undo", headers: away)
                #expect(
                    ((undone.json["state"] as? [String: Any])?["dailyTotalMl"] as? Int == 0) == !shares,
                    "\(undone.body)")
                // Not by way of an answer that was given before, either.
                let water = ["Idempotency-Key": "w"]
                #expect(
                    try await house.ask("POST", "/api/v1/session/water", headers: house.page.merging(water) { $1 })
                        .status == 201)
                #expect(
                    try await house.ask("POST", "/api/v1/session/water", headers: away.merging(water) { $1 }).status
                        == (shares ? 201 : 403))
            }
        }
    }

    @Test func aPhoneIsLetInByACodeOnce() async throws {
        try await ServedHousehold.serve { house async throws in
            let made = try await house.ask("POST", "/api/v1/pairings", #"{"label": "phone"}"#, headers: house.page)
            let code = try #require(made.json["code"] as? String)
            #expect(
                made.status == 201 && code.count == 8 && (made.json["urls"] as? [String]) == ["http://192.0.2.1:8077/"])
            let paired = try await house.ask("POST", "/api/v1/pair", #"{"code": "\#(code)"}"#)
            let cookie = try #require(paired.headers["set-cookie"])
            #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"))
            let away = ["Cookie": String(cookie.prefix { $0 != ";" }), "X-Forwarded-For": "203.0.113.9"]
            #expect(try await house.ask("POST", "/api/v1/drinks", #"{"ml": 250}"#, headers: away).status == 201)
            #expect(try await house.ask("POST", "/api/v1/purge", #"{"confirm": "purge"}"#, headers: away).status == 403)
            let again = try await house.ask("POST", "/api/v1/pair", #"{"code": "\#(code)"}"#)
            #expect(again.status == 403 && again.code == "codeUsed" && again.body.contains("the list of tokens"))
            #expect(try await house.ask("POST", "/api/v1/pair", #"{"code": "00000000"}"#).status == 429)
            #expect(
                try await house.ask(
                    "GET", "/api/v1/state",
                    headers: ["Cookie": "waterh=wt_00000000000000000000000", "X-Forwarded-For": "203.0.113.9"]
                ).status == 401)
        }
    }

    @Test func whoIsLetInNoMoreHearsNothingMore() async throws {
        try await ServedHousehold.serve { house async throws in
            let token = try house.token(.read)
            let client = try RawHTTP(port: house.port)
            client.send(
                """
                GET /api/v1/events?fields=dailyTotalMl HTTP/1.1\r\nHost: localhost\r\nAuthorization: \
                \(token["Authorization"] ?? "")\r\n\r\n
                """
            )
            _ = try await client.read { $0.contains("dailyTotalMl") }
            client.forget()
            _ = try house.store.revokeTokens(
                nil, WriteContext(now: ServedHousehold.noon, zone: .utc, source: "test", makeID: { "x" }))
            _ = try await house.ask("POST", "/api/v1/drinks", #"{"ml": 250}"#, headers: house.page)
            #expect(try await !client.read { $0.contains("250") || $0.hasSuffix("0\r\n\r\n") }.contains("250"))
        }
    }

    @Test(arguments: [
        ("GET", "/api/v1/nothing", 404), ("GET", "/../../etc/passwd", 404), ("GET", "/%2e%2e/%2e%2e/etc/passwd", 404),
        ("GET", "/index.html/../openapi.json", 404),
        ("PUT", "/api/v1/state", 405), ("DELETE", "/api/v1/drinks", 405), ("GET", "/api/v1/undo", 405),
        ("GET", "/api/v1/people/anna/state", 404),
        ("GET", "/api/v1/history?day=never", 422), ("GET", "/api/v1/history?dya=today", 422),
        ("GET", "/api/v1/sessions?limit=0", 422), ("HEAD", "/api/v1/state", 200),
        ("GET", "/api/v1/sessions/%00", 404), ("GET", "/api/v1/history?month=2026-13", 422),
        ("GET", "/api/v1/events?fields=", 422),
    ])
    func whatIsNotThereSaysSo(method: String, path: String, status: Int) async throws {
        try await ServedHousehold.serve { house async throws in
            let reply = try await house.ask(method, path)
            #expect(reply.status == status, "\(path): \(reply.body)")
            #expect(
                reply.headers["x-content-type-options"] == "nosniff" && reply.headers["content-security-policy"] != nil)
            if status == 405 { #expect(reply.headers["allow"] != nil) }
        }
    }

    @Test func hugeBodiesAndHeadersAreRefusedAndTheServerGoesOn() async throws {
        try await ServedHousehold.serve { house async throws in
            let huge = #"{"ml": "\#(String(repeating: "1", count: 80_000))"}"#
            #expect(try await house.ask("POST", "/api/v1/drinks", huge, headers: house.page).status == 413)
            let header = try? await house.ask(
                "GET", "/api/v1/state", headers: ["X-Long": String(repeating: "x", count: 100_000)])
            #expect(header.map { $0.status >= 400 } ?? true)
            let garbage = try RawHTTP(port: house.port)
            garbage.send("\u{1}\u{2}\u{3} not http at all\r\n\r\n")
            #expect(try await garbage.read { _ in false }.contains("400"))
            #expect(try await house.ask("GET", "/healthz").status == 200)
        }
    }

    @Test func everyCutOfARequestLeavesTheServerWell() async throws {
        try await ServedHousehold.serve { house async throws in
            let request =
                """
                POST /api/v1/drinks HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nContent-Type: \
                application/json\r\nContent-Length: 11\r\n\r\n{\"ml\": 250}
                """
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
