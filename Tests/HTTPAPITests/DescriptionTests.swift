import Foundation
import Gateway
import Hummingbird
import Store
import Testing
import TrackerService

@testable import TrackerCore
@testable import WebServer

/// Compares answers with `openapi.json`: types, words of enumerations, required members, and members that it does not
/// define. schemathesis (`hardware/bench api`) also checks formats and ranges.
struct APIDescription {
    private let root: [String: Any]

    init() throws {
        let file = try #require(PageFile.named("openapi.json"))
        let object = try JSONSerialization.jsonObject(with: Data(file.bytes.readableBytesView))
        root = try #require(object as? [String: Any])
    }

    /// All operations, e.g. `PATCH` and `/drinks/{drink}`.
    var operations: [(method: String, path: String)] {
        (root["paths"] as? [String: [String: Any]] ?? [:]).flatMap { path, methods in
            methods.keys.map { ($0.uppercased(), path) }
        }
    }

    func schema(_ name: String) -> [String: Any] {
        let schemas = (root["components"] as? [String: Any])?["schemas"] as? [String: [String: Any]]
        return schemas?[name] ?? [:]
    }

    /// The described path of a requested one, e.g. `/drinks/{drink}` of `/drinks/d3`.
    private func template(of path: String) -> String {
        let names = path.prefix { $0 != "?" }.split(separator: "/")
        let fitting = (root["paths"] as? [String: Any] ?? [:]).keys.filter { described in
            let parts = described.split(separator: "/")
            return parts.count == names.count && zip(parts, names).allSatisfy { $0 == $1 || $0.hasPrefix("{") }
        }
        return fitting.first { !$0.contains("{") } ?? fitting.first ?? path
    }

    /// The deviations of a successful answer from the description.
    func faults(of answer: String, to method: String, _ path: String) throws -> [String] {
        let paths = root["paths"] as? [String: [String: Any]]
        let operation = paths?[template(of: path)]?[method.lowercased()] as? [String: Any]
        let responses = operation?["responses"] as? [String: [String: Any]] ?? [:]
        // 200 in addition to 201 means that the request was completed before.
        let success = responses.filter { $0.key.hasPrefix("2") }.max { $0.key < $1.key }?.value
        let content = (success?["content"] as? [String: Any])?["application/json"] as? [String: Any]
        let schema = try #require(content?["schema"] as? [String: Any], "\(method) \(path) is not described")
        return faults(of: try JSONSerialization.jsonObject(with: Data(answer.utf8)), as: schema, at: "answer")
    }

    /// The deviations of an object from the schema with this name.
    func faults(of object: String, named name: String) throws -> [String] {
        faults(of: try JSONSerialization.jsonObject(with: Data(object.utf8)), as: schema(name), at: name)
    }

    private func faults(of value: Any, as described: [String: Any], at place: String) -> [String] {
        let schema = resolved(described)
        if let choices = (schema["anyOf"] ?? schema["oneOf"]) as? [[String: Any]] {
            return choices.map { faults(of: value, as: $0, at: place) }.min { $0.count < $1.count } ?? []
        }
        let types = schema["type"] as? [String] ?? [schema["type"] as? String].compactMap(\.self)
        guard types.isEmpty || types.contains(where: { Self.isA($0, value) }) else {
            return ["\(place) is not \(types.joined(separator: " or "))"]
        }
        if let words = schema["enum"] as? [Any], !words.contains(where: { "\($0)" == "\(value)" }) {
            return ["\(place) is none of \(words)"]
        }
        if let items = value as? [Any], let item = schema["items"] as? [String: Any] {
            return items.enumerated().flatMap { faults(of: $1, as: item, at: "\(place)[\($0)]") }
        }
        guard let members = value as? [String: Any] else { return [] }
        let properties = schema["properties"] as? [String: [String: Any]] ?? [:]
        let missing = Set(schema["required"] as? [String] ?? []).subtracting(members.keys)
        return missing.map { "\(place).\($0) is missing" }
            + members.flatMap { name, member in
                properties[name].map { faults(of: member, as: $0, at: "\(place).\(name)") }
                    ?? ["\(place).\(name) is not described"]
            }
    }

    /// The schema with the properties of its reference and its parts.
    private func resolved(_ described: [String: Any]) -> [String: Any] {
        if let address = described["$ref"] as? String {
            return resolved(schema(String(address.split(separator: "/").last ?? "")))
        }
        return (described["allOf"] as? [[String: Any]] ?? []).map(resolved).reduce(described) { schema, part in
            schema.merging(part) { own, other in
                switch (own, other) {
                case (let own as [String: Any], let other as [String: Any]): own.merging(other) { $1 }
                case (let own as [String], let other as [String]): own + other
                default: own
                }
            }
        }
    }

    private static func isA(_ type: String, _ value: Any) -> Bool {
        switch type {
        case "null": value is NSNull
        case "boolean": value is Bool
        case "integer": value is Int
        case "number": value is Double || value is Int
        case "string": value is String
        case "array": value is [Any]
        default: value is [String: Any]
        }
    }
}

@Suite struct DescribedAnswerTests {
    @Test func `the state matches the OpenAPI description on every kind of day`() async throws {
        let description = try APIDescription()
        let busy = ServiceStatus(
            version: "0", stage: "polling", lastPoll: TestServer.noon, nextPoll: TestServer.noon,
            pollSentence: "done", trying: "again", storedRecords: 3, setupDone: false, speed: 720)
        for (name, service) in [
            ("no service", nil), ("an idle one", ServiceClient.stub()), ("one that polls", .stub(status: busy)),
        ] {
            let server = try await TestServer(service: service)
            func look(_ at: String, headers: [String: String] = [:]) async throws {
                let state = try await server.get("state", headers: headers)
                #expect(try description.faults(of: state.body, to: "GET", "/state") == [], "\(name), \(at)")
            }
            try await look("an empty day")
            _ = try await server.post("drinks", #"{"ml": 2000}"#)
            try server.store.recordConnection(ConnectionProblem(.notFound), at: TestServer.noon)
            try await look("a day with a drink and a bottle that is not there")
            _ = try await server.post("session")
            for _ in 0..<3 { _ = try await server.post("session/drink", "{}") }
            try await look("a session with a warning")
            try await look("one whose business Waterline is not", headers: try server.token(.read))
            _ = try await server.post("drinks", #"{"ml": 2000}"#)
            try await look("the goal")
        }
    }

    @Test func `the state with a bottle matches the OpenAPI description`() throws {
        let store = try TrackerStore(inMemory: "Etc/UTC")
        let tracker = try TrackerAPI(
            store, now: TestServer.noon, zone: ZoneChoice(named: "UTC", machine: .utc), source: "test")
        var state = try tracker.state()
        state.bottle = BottleCondition(
            name: "mine", advertisedName: "WaterH", model: "Boost", batteryPercent: 97, clockDriftSeconds: -2,
            lastPoll: TestServer.noon)
        state.syncReport = SyncReport(waiting: 2, problem: "away", rejected: 1, rejections: ["a row"])
        #expect(try APIDescription().faults(of: TrackerAPI.json(state), named: "Day") == [])
    }

    /// A client that compares each response with the description.
    private struct Client {
        let server: TestServer
        let description: APIDescription

        init(service: ServiceClient? = nil) async throws {
            (server, description) = (try await TestServer(service: service), try APIDescription())
        }

        /// Sends a request of the page.
        @discardableResult
        func send(_ method: String, _ path: String, _ body: String? = nil, headers: [String: String]? = nil)
            async throws -> RawHTTP.Reply
        {
            let answer = try await server.ask(method, "/api/v1\(path)", body, headers: headers ?? server.page)
            #expect((200...202).contains(answer.status), "\(method) \(path): \(answer.body)")
            #expect(try description.faults(of: answer.body, to: method, path) == [], "\(method) \(path)")
            return answer
        }

        /// Sends a request of one line: method, path and JSON body.
        @discardableResult
        func ask(_ line: String) async throws -> RawHTTP.Reply {
            let words = line.split(separator: " ", maxSplits: 2).map(String.init)
            return try await send(words[0], words[1], words.count > 2 ? words[2] : nil)
        }

        func ask(_ lines: [String]) async throws { for line in lines { try await ask(line) } }
    }

    @Test func `responses to reads and writes match the OpenAPI description`() async throws {
        // The undone drink is d1. An edited drink has a new number.
        try await Client().ask([
            #"POST /drinks {"ml": 100}"#, "POST /undo {}", #"POST /snooze {"minutes": 30}"#,
            #"POST /snooze {"until": "tomorrow"}"#, #"POST /snooze {"minutes": 0}"#, #"POST /drinks {"ml": 250}"#,
            #"PATCH /drinks/d2 {"ml": 300}"#, "GET /history", "GET /history?day=today", "GET /history?week=2026-06-15",
            "GET /history?month=2026-06", "GET /streak", "POST /session {}",
            #"POST /session/drink {"type": "beer", "oz": 16}"#, "POST /session/water {}", "GET /session",
            "POST /session/end {}", "GET /sessions", "POST /session/done {}", "DELETE /drinks/d3",
            #"POST /drinks {"ml": 100}"#, "POST /reset-today {}", #"POST /tokens {"label": "x"}"#, "GET /tokens",
        ])
    }

    @Test func `responses about settings and bottles match the OpenAPI description`() async throws {
        let bottle = "A4:C1:38:00:00:01"
        var report = PollReport()
        (report.bottle, report.received, report.new) = (bottle, 2, 1)
        let failed = PollReport(failure: PollFailure(.notFound, "Bottle not found"))
        let polls = [
            PollLine(at: TestServer.noon, report, sentence: "1 new", seconds: 1.5),
            PollLine(at: TestServer.noon, failed, sentence: "Bottle not found", seconds: 10),
        ]
        let client = try await Client(
            service: ServiceClient.stub(recentPolls: polls, send: { _ in "The goal is 2500 ml." }))
        let server = client.server
        func record(_ second: Int, _ verdict: JournalEntry.Verdict) -> JournalEntry {
            let raw: [UInt8] = [0x1A, 6, 15, 11, 0, UInt8(second), 0, 100, 0, 0, 1, 0x61, 0]
            return JournalEntry(
                bottle: bottle, raw: raw,
                wall: WallTime(year: 2026, month: 6, day: 15, hour: 11, minute: 0, second: second), amountMl: 100,
                received: TestServer.noon, verdict: verdict)
        }
        // An empty store first, then a full one.
        try await client.ask([
            "GET /why", "GET /journal", "GET /bottles", "GET /shortcuts/drinks", "GET /settings", "GET /presets",
            "GET /polls", #"POST /setup {"goal": 2000}"#,
        ])
        _ = try server.store.append([
            record(1, .drink(at: TestServer.noon.advanced(seconds: -3599), zone: "UTC")),
            record(2, .quarantined(reason: "hostClock")), record(3, .quarantined(reason: "implausibleTimestamp")),
        ])
        try server.store.quarantine(bottle: bottle, bytes: [1, 2], reason: "short", received: TestServer.noon)
        try server.store.finishPoll(
            PollRecord(
                bottle: bottle, name: "WaterH", model: "boost", batteryPercent: 97, clockDriftSeconds: -3,
                endedAt: TestServer.noon, complete: true))
        try await client.ask([
            "POST /session {}", "POST /session/drink {}", #"PATCH /session/logs/w1 {"estimate": 1.5}"#, "GET /why",
            "GET /why?at=23:30", "GET /why?at=06:00", "DELETE /session/logs/w1 {}",
            #"POST /presets {"name": "pale ale", "type": "beer", "oz": 16, "abv": 5.5}"#,
            #"PATCH /presets/pale%20ale {"name": "ale", "estimate": 2}"#,
        ])
        let unchanged = try await server.patch("presets/ale", "{}")
        #expect(unchanged.code == "missingField", "a change of nothing: \(unchanged.body)")
        let plain = try await client.ask(#"PATCH /presets/ale {"oz": null, "abv": null}"#).json
        #expect(
            plain["sizeOz"] as? Double == nil && plain["abv"] as? Double == nil
                && plain["standardDrinkEstimate"] as? Double == 2, "\(plain)")
        try await client.ask([
            "GET /presets", "DELETE /presets/ale {}",
            #"PATCH /settings {"hydration.units": "oz", "schedule.adaptive.start": 8, "bottle.amountWidth": "u8"}"#,
            #"PATCH /settings {"sync.token": "secret", "hydration.quickAddMl": [100, 200]}"#, "GET /settings",
            #"PATCH /settings {"hydration.units": null, "schedule.interval.wake": "07:30"}"#,
            #"PATCH /settings {"day.zone": "Europe/Berlin", "ntfy.token": "secret"}"#, "GET /settings",
            "GET /settings/catalogue",
            "GET /settings/hydration.quickAddMl", "GET /settings/waterline.units", "GET /settings/sync.token",
            "GET /polls", "GET /bottles", "GET /journal", "GET /journal?limit=1", "GET /bottles/\(bottle)/settings",
            #"PATCH /bottles/\#(bottle)/settings {"bottle.light": true, "bottle.timeZone": "Asia/Tokyo"}"#,
            "GET /journal/r1", "GET /journal/r2", "GET /journal/r3", #"PATCH /journal/r3 {"at": "2026-06-15T11:30"}"#,
            "POST /journal/resolve {}", "POST /poll {}",
            #"POST /bottle/commands {"command": "goal", "arguments": [2500]}"#,
        ])
        try await client.send("GET", "/settings", headers: server.token(.read))

        let file = ["Content-Type": "text/csv"]
        for path in ["/import", "/shortcuts/samples"] {
            try await client.send("POST", path, "startDate,value_ml\n2026-06-15T09:00:00Z,150\n", headers: file)
        }
        let journal = try await server.get("journal/export").body
        try await client.send("POST", "/journal/import", journal, headers: ["Content-Type": "application/jsonl"])
        let drinks = try await client.ask("GET /shortcuts/drinks").json["drinks"] as? [[String: Any]]
        try await client.ask("POST /shortcuts/done {\"keys\": [\"\(drinks?.first?["key"] as? String ?? "")\"]}")
        let token = try await client.ask("POST /tokens {}").json["id"] as? String ?? ""
        try await client.ask([
            "DELETE /tokens/\(token) {}", "POST /access-codes {}", "GET /access", #"POST /purge {"confirm": "purge"}"#,
        ])
    }

    @Test func `the OpenAPI description has every setting and condition`() throws {
        let description = try APIDescription()
        let settings = description.schema("SomeSettings")["properties"] as? [String: Any]
        #expect(settings.map { Set($0.keys) } == Set(Settings.catalogue.map(\.name)))
        let conditions = description.schema("Guard")["enum"] as? [String]
        #expect(conditions.map(Set.init) == Set(ReminderGuard.Name.allCases.map(\.rawValue)))
    }

    @Test func `the schema check detects deviations from the OpenAPI description`() throws {
        let token = #"{"id": 1, "label": "l", "scope": "all", "createdAt": "", "expiresAt": null, "more": 1}"#
        #expect(
            try Set(APIDescription().faults(of: token, named: "Token")) == [
                "Token.isRevoked is missing", "Token.more is not described", "Token.id is not string",
                #"Token.scope is none of ["widget", "read", "log", "control", "admin"]"#,
                "Token.expiresAt is not string",
            ])
    }
}

@Suite struct DescriptionTests {
    @Test func `the OpenAPI description has every route and no other`() throws {
        let described = try Set(APIDescription().operations.map { "\($0.method) \($0.path)" })
        let routes = HTTPServer.routes.flatMap { path, methods -> [String] in
            guard path.hasPrefix("/api/v1/"), !path.hasSuffix("openapi.json") else { return [] }
            let parts = path.dropFirst("/api/v1".count).split(separator: "/").map {
                $0.hasPrefix(":") ? "{\($0.dropFirst())}" : String($0)
            }
            return methods.map { "\($0.rawValue) /\(parts.joined(separator: "/"))" }
        }
        #expect(described.symmetricDifference(routes).sorted() == [])
    }

    @Test func `every page file is in the program`() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../Sources/CDashboard/pages"
        ).standardized
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(Set(PageFile.all.map(\.name)) == Set(files))
        for file in PageFile.all {
            #expect(
                Array(file.bytes.readableBytesView)
                    == Array(try Data(contentsOf: folder.appendingPathComponent(file.name))),
                "\(file.name) is older in the program")
        }
    }
}
