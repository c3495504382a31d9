import Foundation
import NIOCore
import Store
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerService

@testable import WebServer

@Suite struct WriteTests {
    private let server: TestServer

    init() async throws { server = try await TestServer() }

    @Test func `a request repeated during a restart counts once`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("waterh.sqlite")
        var answers: [String] = []
        for _ in 0..<3 {
            // The store cannot distinguish this from another process.
            let server = try await TestServer(TrackerStore(path: path))
            let headers = ["Idempotency-Key": "tap-1"]
            let reply = try await server.post("drinks", #"{"ml": 250}"#, headers: headers)
            #expect(reply.status == 201)
            answers.append(reply.body)
            #expect(try await server.total() == 250)
            await server.stop()
        }
        #expect(Set(answers).count == 1)
    }

    @Test func `an idempotency key of another request is rejected`() async throws {
        let headers = ["Idempotency-Key": "tap-1"]
        #expect(try await server.post("drinks", #"{"ml": 250}"#, headers: headers).status == 201)
        let other = try await server.post("drinks", #"{"ml": 100}"#, headers: headers)
        #expect(other.status == 409 && other.code == "idempotencyKeyReused")
    }

    @Test(arguments: ["", "a tap", "täp", String(repeating: "k", count: 129)])
    func `an idempotency key with unusual characters is rejected`(key: String) async throws {
        let reply = try await server.post("drinks", #"{"ml": 250}"#, headers: ["Idempotency-Key": key])
        #expect(reply.status == 422 && reply.code == "idempotencyKey", "\(reply.status) \(reply.body)")
        #expect(try await server.total() == 0)
    }

    @Test(arguments: [
        (#"{"action": "log-cup"}"#, 401), (#"{"action": "log-cup", "key": "short"}"#, 401), ("no JSON", 401),
        (#"{"action": "log-cup", "key": "\#(String(repeating: "a", count: 64))"}"#, 410),
        (#"{"key": "\#(String(repeating: "a", count: 64))"}"#, 422),
    ])
    func `an incomplete action is rejected with the name of the missing field`(body: String, status: Int) async throws {
        let reply = try await server.post("press", body)
        #expect(reply.status == status, "\(reply.body)")
    }

    /// A button of a notification from the shared time must not log water when sessions are private.
    @Test(arguments: [true, false]) func `a Waterline action is rejected unless Waterline is shared`(isShared: Bool)
        async throws
    {
        let store = try TrackerStore(inMemory: "Etc/UTC")
        _ = try store.startSession(.noon)
        let key = String(repeating: "a", count: 64)
        let words = Announcement(kind: .waterlineTime, id: "w/1", title: "t", body: "b", urgency: .normal, sound: false)
        _ = try store.enqueue(words, to: "ntfy", sendsLate: false, at: TestServer.noon) { key }
        let server = try await TestServer(store, sharesWaterline: isShared)
        let reply = try await server.post("press", "{\"action\": \"log-water\", \"key\": \"\(key)\"}")
        #expect(isShared ? reply.status == 200 : reply.code == "waterlineNotShared", "\(reply.status) \(reply.body)")
    }

    @Test func `a request is not executed again when its response was lost`() async throws {
        let store = try TrackerStore(inMemory: "Etc/UTC")
        let server = try await TestServer(store)
        let idempotentRequest = IdempotentRequest(
            key: "tap-9", content: Array(#"POST /api/v1/drinks {"ml": 250}"#.utf8), at: TestServer.noon)
        // As after a kill between the commit and the response.
        _ = try store.executing(idempotentRequest).logDrink(ml: 250, .noon)
        let reply = try await server.post("drinks", #"{"ml": 250}"#, headers: ["Idempotency-Key": "tap-9"])
        #expect(reply.status == 200 && reply.headers["idempotent-replayed"] == "true")
        #expect((reply.json["state"] as? [String: Any])?["dailyTotalMl"] as? Int == 250)
    }

    @Test func `a bottle has its own settings`() async throws {
        let store = try TrackerStore(inMemory: "Etc/UTC")
        try store.adoptBottle("A4:C1:38:00:00:01")
        let server = try await TestServer(store)
        let path = "/api/v1/bottles/A4:C1:38:00:00:01/settings"
        let bottles = try await server.get("bottles").json["bottles"] as? [[String: Any]]
        #expect(bottles?.map { $0["name"] as? String } == ["A4:C1:38:00:00:01"])
        #expect(try await server.ask("GET", path).json["own"] as? [String] == [])
        let changed = try await server.ask(
            "PATCH", path, #"{"bottle.recordDialect": "strict", "bottle.readDelayS": 1.5}"#, headers: server.page)
        #expect(
            changed.status == 200 && changed.json["own"] as? [String] == ["bottle.recordDialect", "bottle.readDelayS"])
        #expect((changed.json["settings"] as? [String: Any])?["bottle.recordDialect"] as? String == "strict")
        #expect(try await server.get("settings").json["bottle.recordDialect"] as? String == "calendar")
        let back = try await server.ask("PATCH", path, #"{"bottle.recordDialect": null}"#, headers: server.page)
        #expect(back.json["own"] as? [String] == ["bottle.readDelayS"])
        #expect(
            try await server.ask("PATCH", path, #"{"hydration.goalMl": 2000}"#, headers: server.page).code
                == "settingRule")
        #expect(try await server.get("bottles/unknown/settings").status == 404)
    }

    @Test(arguments: [
        (#"{"abv": 6.5e16}"#, "drinkStrength"), (#"{"oz": 1e73, "type": "beer"}"#, "drinkSize"),
        (#"{"oz": 0, "abv": 5}"#, "estimate"), (#"{"abv": -1}"#, "drinkStrength"),
        (#"{"estimate": 1e300}"#, "estimate"),
    ])
    func `an amount out of range is rejected`(body: String, code: String) async throws {
        #expect(try await server.post("session", "{}").status == 200)
        let reply = try await server.post("session/drink", body)
        #expect(reply.status == 422 && reply.code == code, "\(reply.status) \(reply.body)")
        let session = try await server.get("session").json
        #expect((session["logs"] as? [Any])?.isEmpty == true, "\(session)")
    }

    /// A proxy or a log can have read the other one of two values.
    @Test(arguments: [
        ("POST", "/api/v1/drinks", #"{"ml": 100, "ml": 2000}"#, "ml"),
        ("POST", "/api/v1/drinks", #"{"ml": 100, "\u006dl": 2000}"#, "ml"),
        (
            "PATCH", "/api/v1/settings",
            #"{"hydration.goalMl": 2000, "hydration.cupMl": 200, "hydration.goalMl": 3000}"#, "hydration.goalMl"
        ),
        // Setting names are case-insensitive.
        ("PATCH", "/api/v1/settings", #"{"hydration.goalMl": 2000, "HYDRATION.goalMl": 3000}"#, "hydration.goalMl"),
        ("POST", "/api/v1/setup", #"{"goal": 2000, "goal": 2000}"#, "goal"),
        ("POST", "/api/v1/sign-in", #"{"code": "1", "code": "2"}"#, "code"),
    ])
    func `a repeated JSON key is rejected`(method: String, path: String, body: String, key: String) async throws {
        let reply = try await server.ask(method, path, body, headers: server.page)
        #expect(
            reply.status == 422 && reply.code == "repeatedField"
                && (reply.json["detail"] as? String)?.hasPrefix("\"\(key)\"") == true, "\(reply.body)")
        #expect(try await server.total() == 0)
    }

    /// In UTF-16 a key could occur twice undetected.
    @Test(arguments: [String.Encoding.utf16LittleEndian, .utf16BigEndian, .utf32LittleEndian])
    func `a body that is not UTF-8 is rejected`(encoding: String.Encoding) async throws {
        let body = String(decoding: try #require(#"{"ml": 100, "ml": 2000}"#.data(using: encoding)), as: UTF8.self)
        let reply = try await server.post("drinks", body)
        #expect(reply.status == 400 && reply.body.contains("not text in UTF-8"), "\(reply.status) \(reply.body)")
        #expect(try await server.total() == 0)
    }

    @Test func `undo reverts the latest entry that the page shows`() async throws {
        func post(_ path: String, _ body: String) async throws -> RawHTTP.Reply { try await server.post(path, body) }
        func undone(_ body: String) async throws -> String? { try await post("undo", body).json["undone"] as? String }
        _ = try await post("drinks", #"{"ml": 100, "at": "2026-06-14T12:00"}"#)
        let first = try #require(
            (try await post("drinks", #"{"ml": 250}"#).json["drink"] as? [String: Any])?["number"] as? Int)
        _ = try await post("drinks", #"{"ml": 300}"#)
        _ = try await post("session", "{}")
        _ = try await post("session/drink", "{}")
        _ = try await post("session/water", "{}")
        // The latest entry, independent of other actions.
        #expect(try await undone("{\"drink\": \"d\(first)\"}") == "log 250 ml")
        #expect(try await undone(#"{"of": "today"}"#) == "log 300 ml")
        // Yesterday's entry is not on the page.
        let none = try await post("undo", #"{"of": "today"}"#)
        #expect(none.status == 409 && none.code == "nothingToUndo")
        #expect(try await undone(#"{"of": "session"}"#) == "water")
        #expect(try await undone(#"{"of": "drinks"}"#) == "log 100 ml")
        #expect(try await undone("{}") == "drink")
        for body in [
            #"{"of": "all"}"#, #"{"drink": "w1"}"#, #"{"drink": "d0"}"#, #"{"drink": "d1", "of": "today"}"#,
            #"{"drink": "d99999999999999999999"}"#,
        ] { #expect(try await post("undo", body).status == 422, "\(body)") }
    }

    @Test func `a repeated purge request deletes nothing again`() async throws {
        let headers = ["Idempotency-Key": "purge-1"]
        #expect(try await server.post("purge", #"{"confirm": "purge"}"#, headers: headers).status == 200)
        #expect(try await server.post("drinks", #"{"ml": 300}"#).status == 201)
        #expect(
            try await server.post("purge", #"{"confirm": "purge"}"#, headers: headers).headers["idempotent-replayed"]
                == "true")
        #expect(try await server.total() == 300)
    }

    @Test func `a repeated command reaches the bottle once`() async throws {
        let sent = Mutex<[[String]]>([])
        let service = ServiceClient.stub(send: { words in
            guard words != ["nonsense"] else { throw WrongInput("notACommand", "That is no command.") }
            sent.withLock { $0.append(words) }
            return "done"
        })
        let server = try await TestServer(service: service)
        for (key, command, status) in [
            ("a", "flash", 200), ("a", "flash", 200), ("b", "nonsense", 422), ("b", "nonsense", 422),
        ] {
            let headers = ["Idempotency-Key": key]
            let reply = try await server.post("bottle/commands", "{\"command\": \"\(command)\"}", headers: headers)
            #expect(reply.status == status)
        }
        #expect(sent.withLock { $0 } == [["flash"]])
    }

    @Test func `a pending command is not reported as done`() async throws {
        let (asked, deliver) = AsyncStream.makeStream(of: Void.self)
        let (isDone, finish) = AsyncStream.makeStream(of: Void.self)
        let service = ServiceClient.stub(send: { _ in
            deliver.yield()
            for await _ in isDone { break }
            throw Refusal("bottleSilent", "The bottle did not answer.")
        })
        let server = try await TestServer(service: service)
        let headers = ["Idempotency-Key": "one"]
        @Sendable func send() async throws -> RawHTTP.Reply {
            try await server.post("bottle/commands", #"{"command": "goal", "arguments": ["2000"]}"#, headers: headers)
        }
        async let first = send()
        for await _ in asked { break }
        let second = try await send()
        #expect(
            second.status == 409 && second.code == "underWay" && second.headers["retry-after"] == "5", "\(second.body)")
        finish.yield()
        #expect(try await first.code == "bottleSilent")
        // A retry is possible now.
        finish.yield()
        #expect(try await send().code == "bottleSilent")
    }

    @Test func `a repeated command reports an unknown result after a crash`() async throws {
        let store = try TrackerStore(inMemory: "Etc/UTC")
        let polls = Mutex(0)
        let server = try await TestServer(store, service: .stub(pollNow: { polls.withLock { $0 += 1 } }))
        try store.record(
            IdempotentRequest(
                key: "killed", content: Array(#"POST /api/v1/bottle/commands {"command": "flash"}"#.utf8),
                at: TestServer.noon))
        for (key, status, code) in [("killed", 409, "outcomeUnknown" as String?), ("another", 200, nil)] {
            let reply = try await server.post(
                "bottle/commands", #"{"command": "flash"}"#, headers: ["Idempotency-Key": key])
            #expect(reply.status == status && reply.code == code, "\(reply.body)")
        }
        // Idempotent commands run again.
        for _ in 0..<2 {
            #expect(try await server.post("poll", "{}", headers: ["Idempotency-Key": "poll"]).status == 202)
        }
        #expect(polls.withLock { $0 } == 1)
    }

    @Test func `a failed revocation can be repeated`() async throws {
        let tokens = try (0..<20).map { _ in try server.token(.log) }
        let headers = ["Idempotency-Key": "lost"]
        for _ in 0..<2 {
            let reply = try await server.delete("tokens/mistyped", headers: headers)
            #expect(reply.status == 404 && reply.code == "noSuchToken", "\(reply.body)")
        }
        // Twenty ids of sixteen digits.
        let ids = try server.store.tokens().map(\.id)
        let shared = try #require(Dictionary(grouping: ids) { $0.prefix(1) }.first { $0.value.count > 1 }?.key)
        let several = try await server.delete("tokens/\(shared)")
        #expect(several.status == 422 && several.code == "severalTokens", "\(several.body)")
        #expect(try server.store.tokens().filter { $0.revokedAt == nil }.count == tokens.count + 1)
    }

    @Test func `idempotency keys do not depend on the clock`() async throws {
        let store = try TrackerStore(inMemory: "Etc/UTC")
        for count in 0..<5000 {
            try store.record(
                IdempotentRequest(key: "old\(count)", content: [], at: TestServer.noon.advanced(seconds: 3600)))
        }
        let server = try await TestServer(store)
        for tap in ["1", "2", "1", "2"] {
            let headers = ["Idempotency-Key": "tap-\(tap)"]
            #expect(try await server.post("drinks", #"{"ml": 250}"#, headers: headers).status == 201)
        }
        #expect(try await server.total() == 500)
    }

    /// A remote administrator must not read files of the service's machine with these settings.
    @Test(arguments: ["ntfy.tokenFile", "webhook.secretFile", "sync.tokenFile", "mqtt.passwordFile", "health.inbox"])
    func `settings with files need an administrator`(name: String) async throws {
        let away = try server.token(.admin)
        let refused = try await server.patch("settings", "{\"\(name)\": \"/etc/hostname\"}", headers: away)
        #expect(refused.status == 403 && refused.code == "onlyHere")
        #expect(try server.store.settings() == Settings())
        #expect(SettingScope(of: name) == .files && Settings.catalogue.contains { $0.name == name })
    }

    @Test(
        arguments: [
            (Scope.read, "POST", "/api/v1/drinks", #"{"ml": 250}"#, 403),
            (.log, "POST", "/api/v1/drinks", #"{"ml": 250}"#, 201),
            (.log, "PATCH", "/api/v1/settings", #"{"hydration.goalMl": 2000}"#, 403),
            (.control, "PATCH", "/api/v1/settings", #"{"hydration.goalMl": 2000}"#, 200),
            (.control, "PATCH", "/api/v1/settings", #"{"webhook.url": "http://127.0.0.1:9/hook"}"#, 403),
            (
                .control, "PATCH", "/api/v1/settings", #"{"hydration.goalMl": 2000, "SYNC.url": "http://127.0.0.1:9"}"#,
                403
            ), (.control, "PATCH", "/api/v1/settings", #"{"ntfy.tokenFile": "/etc/hostname"}"#, 403),
            (.control, "PATCH", "/api/v1/settings", #"{"health.inbox": "/etc"}"#, 403),
            (.admin, "PATCH", "/api/v1/settings", #"{"webhook.url": "http://127.0.0.1:9/hook"}"#, 200),
            (.control, "GET", "/api/v1/tokens", nil, 403), (.admin, "GET", "/api/v1/tokens", nil, 200),
            (.control, "POST", "/api/v1/purge", #"{"confirm": "purge"}"#, 403),
            (.admin, "POST", "/api/v1/purge", #"{"confirm": "purge"}"#, 200),
        ] as [(Scope, String, String, String?, Int)])
    func `a token grants its scope only`(
        scope: Scope, method: String, path: String, body: String?, status: Int
    ) async throws {
        #expect(try await server.ask(method, path, body, headers: try server.token(scope)).status == status)
    }

    @Test(arguments: [
        (#"{"ml": 0}"#, 422), (#"{"ml": 2001}"#, 422), (#"{"ml": "cup"}"#, 201), (#"{"ml": "quick1"}"#, 201),
        (#"{"ml": "quick9"}"#, 409), (#"{"ml": true}"#, 422), (#"{"ml": 1.5}"#, 422), (#"{"ml": 250, "mll": 1}"#, 422),
        (#"[250]"#, 422), (#"{"#, 400), (#"{}"#, 422), (#"{"ml": {"a": {"b": 1}}}"#, 422),
        (#"{"ml": 250, "at": "tomorrow"}"#, 422), (#"{"ml": 250, "at": "2199-01-01T08:00:00Z"}"#, 422),
        (#"{"ml": 250, "at": "08:30"}"#, 201), (#"{"ml": 1e400}"#, 422),
    ])
    func `invalid drinks are rejected`(body: String, status: Int) async throws {
        let reply = try await server.post("drinks", body)
        #expect(reply.status == status, "\(body): \(reply.body)")
        if status >= 400 {
            #expect(
                reply.headers["content-type"] == "application/problem+json" && reply.json["status"] as? Int == status
                    && reply.code != nil)
            #expect((reply.json["detail"] as? String)?.contains("--") == false)
        }
    }
}

@Suite struct FieldsTests {
    @Test(
        arguments: [
            (#"["a", "a"]"#, nil), (#"[{"a": 1}, "a", "a"]"#, nil), (#"{"a": 1, "b": [1, "a", "b"], "c": "a"}"#, nil),
            ("{\"a\": \"\u{301}\", \"b\": \"\", \"a\": 1}", "a"), (#"{}"#, nil),
            (#"{"a": "\"a\":", "b": ",\"a\""}"#, nil),
            (#"{"a": 1, "a": 1}"#, "a"), (#"{"a": [{"x": 1}], "b": 1 , "a": 2}"#, "a"), (#"{"": 1, "": 2}"#, ""),
            (#"{"ä": 1, "\u00e4": 2}"#, "ä"), ("[1, 1]", nil), ("\"a\"", nil),
        ] as [(String, String?)])
    func `JSON keys with escapes are read`(json: String, key: String?) {
        #expect(Fields.repeatedKey(in: json) == key)
    }

    @Test func `a body truncated at any byte is rejected`() throws {
        let body = #"{"ml": 250, "at": "14:00", "list": [1, "two", true], "no": false}"#
        for end in 1..<body.utf8.count {
            #expect(throws: (any Error).self) { try Fields(ByteBuffer(string: String(body.prefix(end)))) }
        }
        var fields = try Fields(ByteBuffer(string: body))
        #expect(
            try fields.integer("ml") == 250 && fields.text("at") == "14:00"
                && fields.texts("list") == ["1", "two", "true"] && fields.flag("no") == false)
        try fields.finish()
    }

    /// A client that sends `{"oz": null}` to delete a value must get an error.
    @Test func `null is rejected as the value of a field`() throws {
        var fields = try Fields(
            ByteBuffer(
                string: #"{"text": null, "number": null, "whole": null, "flag": null, "word": null, "list": null}"#))
        #expect(throws: (any Error).self) { try fields.text("text") }
        #expect(throws: (any Error).self) { try fields.number("number") }
        #expect(throws: (any Error).self) { try fields.integer("whole") }
        #expect(throws: (any Error).self) { try fields.flag("flag") }
        #expect(throws: (any Error).self) { try fields.scalarText("word") }
        #expect(try fields.texts("list") == nil, "a null list is accepted")
    }

    @Test(arguments: [
        "{\"a\":\(String(repeating: "[", count: 5000))", "{\"a\": [[1]]}", "{\"a\": {\"b\": 1}}", "\"text\"", "[]",
        "nul", "{\"a\": \u{1}}",
    ])
    func `a body is rejected when it is not a JSON object of plain values`(body: String) {
        #expect(throws: (any Error).self) { try Fields(ByteBuffer(string: body)) }
    }
}
