import Foundation
import Hummingbird
import Store
import Testing
import TrackerService

@testable import TrackerCore
@testable import WebServer

/// Validates answers with `openapi.json`: the subset of JSON Schema that the file uses. Members that it does not define
/// are errors.
struct APIDescription {
    private let root: JSON

    init() throws {
        let file = try #require(PageFile.named("openapi.json"))
        root = try JSONDecoder().decode(JSON.self, from: Data(file.bytes.readableBytesView))
    }

    /// The deviations of a successful answer from the description.
    func faults(of answer: String, to method: String, _ path: String) throws -> [String] {
        let responses = try #require(
            root["paths"]?[path]?[method.lowercased()]?["responses"]?.members, "\(method) \(path) is not described")
        // 200 in addition to 201 means that the request was completed before.
        let schema = responses.filter { $0.key.hasPrefix("2") }.max { $0.key < $1.key }?.value["content"]?[
            "application/json"]?["schema"]
        return faults(
            of: try JSONDecoder().decode(JSON.self, from: Data(answer.utf8)), as: try #require(schema), at: "answer")
    }

    /// The deviations of an object from the schema with this name.
    func faults(of object: String, named name: String) throws -> [String] {
        faults(
            of: try JSONDecoder().decode(JSON.self, from: Data(object.utf8)),
            as: .members(["$ref": .text("#/components/schemas/\(name)")]), at: name)
    }

    /// The members of the schema with this name.
    func members(of name: String) -> Set<String> { Set((schema(name)?["properties"]?.members ?? [:]).keys) }

    /// The enumeration values of the schema with this name.
    func words(of name: String) -> Set<String> { Set((schema(name)?["enum"]?.items ?? []).compactMap(\.text)) }

    private func schema(_ name: String) -> JSON? { root["components"]?["schemas"]?[name] }

    private func faults(of value: JSON, as schema: JSON, at place: String) -> [String] {
        var named: Set<String> = []
        let faults = faults(of: value, as: schema, at: place, &named)
        let strange = value.members?.keys.filter { !named.contains($0) }.sorted() ?? []
        return faults + strange.map { "\(place).\($0) is not described" }
    }

    /// - Parameter named: collects the members that the schema defines, also through references.
    private func faults(of value: JSON, as schema: JSON, at place: String, _ named: inout Set<String>) -> [String] {
        if case .text(let address)? = schema["$ref"] {
            guard let target = address.dropFirst(2).split(separator: "/").reduce(root as JSON?, { $0?[String($1)] })
            else { return ["\(place): \(address) is nowhere"] }
            return faults(of: value, as: target, at: place, &named)
        }
        var faults = simpleFaults(of: value, as: schema).map { "\(place) \($0)" }
        for part in schema["allOf"]?.items ?? [] { faults += self.faults(of: value, as: part, at: place, &named) }
        if let choices = schema["anyOf"]?.items ?? schema["oneOf"]?.items {
            let tried = choices.map { choice in
                var own: Set<String> = []
                return (faults: self.faults(of: value, as: choice, at: place, &own), own)
            }
            let fits = tried.filter(\.faults.isEmpty)
            if schema["oneOf"] != nil, fits.count > 1 { faults.append("\(place) is \(fits.count) things at once") }
            if let fit = fits.first {
                named.formUnion(fit.1)
            } else {
                faults += tried.min { $0.faults.count < $1.faults.count }?.faults ?? []
            }
        }
        for (name, inner) in schema["properties"]?.members ?? [:] {
            named.insert(name)
            if let member = value[name] { faults += self.faults(of: member, as: inner, at: "\(place).\(name)") }
        }
        for case .text(let name) in schema["required"]?.items ?? [] where value.members != nil && value[name] == nil {
            faults.append("\(place).\(name) is missing")
        }
        if let inner = schema["items"] {
            for (index, item) in (value.items ?? []).enumerated() {
                faults += self.faults(of: item, as: inner, at: "\(place)[\(index)]")
            }
        }
        return faults
    }

    private func simpleFaults(of value: JSON, as schema: JSON) -> [String] {
        var faults: [String] = []
        if let type = schema["type"] {
            let types = (type.items ?? [type]).compactMap(\.text)
            if !types.contains(where: value.isA) {
                faults.append("is \(value), and not \(types.joined(separator: " or "))")
            }
        }
        if let allowed = schema["enum"]?.items, !allowed.contains(value) {
            faults.append("is \(value), which is none of \(allowed)")
        }
        if let only = schema["const"], only != value { faults.append("is \(value), and not \(only)") }
        if let number = value.number {
            if let least = schema["minimum"]?.number, number < least { faults.append("is \(number), below \(least)") }
            if let most = schema["maximum"]?.number, number > most { faults.append("is \(number), above \(most)") }
        }
        if let text = value.text {
            let formats = ["date": #"^\d{4}-\d\d-\d\d$"#, "date-time": #"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$"#]
            for pattern in [schema["pattern"]?.text, schema["format"]?.text.flatMap { formats[$0] }].compactMap(\.self)
            {
                if (try? Regex(pattern).firstMatch(in: text)) ?? nil == nil {
                    faults.append("is \"\(text)\", which is not \(pattern)")
                }
            }
        }
        if let items = value.items {
            if let least = schema["minItems"]?.number, Double(items.count) < least {
                faults.append("has \(items.count) items")
            }
            if let most = schema["maxItems"]?.number, Double(items.count) > most {
                faults.append("has \(items.count) items")
            }
        }
        return faults
    }

    private indirect enum JSON: Hashable, Decodable, CustomStringConvertible {
        case null
        case flag(Bool)
        case number(Double)
        case text(String)
        case items([JSON])
        case members([String: JSON])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let value = try? container.decode(Bool.self) {
                self = .flag(value)
            } else if let value = try? container.decode(Double.self) {
                self = .number(value)
            } else if let value = try? container.decode(String.self) {
                self = .text(value)
            } else if let value = try? container.decode([JSON].self) {
                self = .items(value)
            } else {
                self = .members(try container.decode([String: JSON].self))
            }
        }

        subscript(_ name: String) -> JSON? { members?[name] }

        var members: [String: JSON]? { if case .members(let value) = self { value } else { nil } }
        var items: [JSON]? { if case .items(let value) = self { value } else { nil } }
        var text: String? { if case .text(let value) = self { value } else { nil } }
        var number: Double? { if case .number(let value) = self { value } else { nil } }

        func isA(_ type: String) -> Bool {
            switch self {
            case .null: type == "null"
            case .flag: type == "boolean"
            case .number(let value): type == "number" || (type == "integer" && value == value.rounded())
            case .text: type == "string"
            case .items: type == "array"
            case .members: type == "object"
            }
        }

        var description: String {
            switch self {
            case .null: "null"
            case .flag(let value): "\(value)"
            case .number(let value): "\(value)"
            case .text(let value): "\"\(value)\""
            case .items(let value): "\(value)"
            case .members(let value): "{\(value.keys.sorted().joined(separator: ", "))}"
            }
        }
    }
}

@Suite struct DescribedAnswerTests {
    @Test func `the state matches the OpenAPI description on every kind of day`() async throws {
        let description = try APIDescription()
        let busy = ServiceClient(
            status: {
                ServiceStatus(
                    version: "0", stage: "polling", lastPoll: TestServer.noon, nextPoll: TestServer.noon,
                    pollSentence: "done", trying: "again", storedRecords: 3, setupDone: false, speed: 720)
            }, pollNow: {}, recentPolls: { [] }, send: { _ in "" })
        let quiet = ServiceClient(
            status: { ServiceStatus(version: "0") }, pollNow: {}, recentPolls: { [] }, send: { _ in "" })
        for (name, service) in [("no service", nil), ("an idle one", quiet), ("one that polls", busy)] {
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
        state.syncReport = SyncReport(waiting: 2, trouble: "away", refused: 1, refusals: ["a row"])
        #expect(try APIDescription().faults(of: TrackerAPI.json(state), named: "Day") == [])
    }

    @Test func `responses to reads and writes match the OpenAPI description`() async throws {
        let description = try APIDescription()
        let server = try await TestServer()
        @discardableResult
        func ask(
            _ method: String, _ path: String, _ body: String? = nil, as described: String? = nil
        ) async throws -> RawHTTP.Reply {
            let answer = try await server.ask(method, "/api/v1\(path)", body, headers: server.page)
            #expect((200...201).contains(answer.status), "\(method) \(path): \(answer.body)")
            #expect(try description.faults(of: answer.body, to: method, described ?? path) == [], "\(method) \(path)")
            return answer
        }
        /// An edited drink has a new number.
        func number(_ answer: RawHTTP.Reply) throws -> Int {
            try #require((answer.json["drink"] as? [String: Any])?["number"] as? Int)
        }
        try await ask("POST", "/drinks", #"{"ml": 100}"#)
        try await ask("POST", "/undo", "{}")
        for body in [#"{"minutes": 30}"#, #"{"until": "tomorrow"}"#, #"{"minutes": 0}"#] {
            try await ask("POST", "/snooze", body)
        }
        var drink = try await number(ask("POST", "/drinks", #"{"ml": 250}"#))
        drink = try await number(ask("PATCH", "/drinks/d\(drink)", #"{"ml": 300}"#, as: "/drinks/{drink}"))
        for query in ["", "?day=today", "?week=2026-06-15", "?month=2026-06"] {
            try await ask("GET", "/history\(query)", as: "/history")
        }
        try await ask("GET", "/streak")
        try await ask("POST", "/session", "{}")
        try await ask("POST", "/session/drink", #"{"type": "beer", "oz": 16}"#)
        try await ask("POST", "/session/water", "{}")
        try await ask("GET", "/session")
        try await ask("POST", "/session/end", "{}")
        try await ask("GET", "/sessions")
        try await ask("POST", "/session/done", "{}")
        try await ask("DELETE", "/drinks/d\(drink)", as: "/drinks/{drink}")
        try await ask("POST", "/drinks", #"{"ml": 100}"#)
        try await ask("POST", "/reset-today", "{}")
        try await ask("POST", "/tokens", #"{"label": "x"}"#)
        try await ask("GET", "/tokens")
    }

    @Test func `responses about settings and bottles match the OpenAPI description`() async throws {
        let description = try APIDescription()
        let polls = [
            PollLine(
                at: TestServer.noon, bottle: "A4:C1:38:00:00:01", result: "done", sentence: "1 new", received: 2,
                new: 1, duplicates: 1, suspect: 0, acknowledged: 2, seconds: 1.5),
            PollLine(
                at: TestServer.noon, bottle: nil, result: "notFound", sentence: "Bottle not found", received: 0,
                new: 0, duplicates: 0, suspect: 0, acknowledged: 0, seconds: 10),
        ]
        let service = ServiceClient(
            status: { ServiceStatus(version: "0") }, pollNow: {}, recentPolls: { polls },
            send: { _ in "The goal is 2500 ml." })
        let server = try await TestServer(service: service)
        @discardableResult
        func ask(
            _ method: String, _ path: String, _ body: String? = nil, as described: String? = nil,
            headers: [String: String]? = nil
        ) async throws -> RawHTTP.Reply {
            let answer = try await server.ask(method, "/api/v1\(path)", body, headers: headers ?? server.page)
            #expect((200...202).contains(answer.status), "\(method) \(path): \(answer.body)")
            #expect(try description.faults(of: answer.body, to: method, described ?? path) == [], "\(method) \(path)")
            return answer
        }
        func seconds(_ later: Double) -> Instant { TestServer.noon.advanced(seconds: later) }
        func record(_ second: Int, _ verdict: JournalEntry.Verdict) -> JournalEntry {
            let raw: [UInt8] = [0x1A, 6, 15, 11, 0, UInt8(second), 0, 100, 0, 0, 1, 0x61, 0]
            return JournalEntry(
                bottle: "A4:C1:38:00:00:01", raw: raw,
                wall: WallTime(year: 2026, month: 6, day: 15, hour: 11, minute: 0, second: second), amountMl: 100,
                received: seconds(0), verdict: verdict)
        }
        // An empty store first, then a full one.
        for path in ["/why", "/journal", "/bottles", "/shortcuts/drinks", "/settings", "/presets", "/polls"] {
            try await ask("GET", path)
        }
        try await ask("POST", "/setup", #"{"goal": 2000}"#)
        _ = try server.store.append([
            record(1, .drink(at: seconds(-3599), zone: "UTC")), record(2, .quarantined(reason: "hostClock")),
            record(3, .quarantined(reason: "implausibleTimestamp")),
        ])
        try server.store.quarantine(bottle: "A4:C1:38:00:00:01", bytes: [1, 2], reason: "short", received: seconds(0))
        try server.store.finishPoll(
            PollRecord(
                bottle: "A4:C1:38:00:00:01", name: "WaterH", model: "boost", batteryPercent: 97, clockDriftSeconds: -3,
                endedAt: seconds(0), complete: true))
        try await ask("POST", "/session", "{}")
        let session = try await ask("POST", "/session/drink", "{}")
        let entry = try #require((session.json["logs"] as? [[String: Any]])?.first?["name"] as? String)
        try await ask("PATCH", "/session/logs/\(entry)", #"{"estimate": 1.5}"#, as: "/session/logs/{entry}")
        for at in ["", "?at=23:30", "?at=06:00"] { try await ask("GET", "/why\(at)", as: "/why") }
        try await ask("DELETE", "/session/logs/\(entry)", "{}", as: "/session/logs/{entry}")

        try await ask("POST", "/presets", #"{"name": "pale ale", "type": "beer", "oz": 16, "abv": 5.5}"#)
        let unchanged = try await server.patch("presets/pale%20ale", "{}")
        #expect(unchanged.code == "missingField", "a change of nothing: \(unchanged.body)")
        try await ask("PATCH", "/presets/pale%20ale", #"{"name": "ale", "estimate": 2}"#, as: "/presets/{preset}")
        let plain = try await ask("PATCH", "/presets/ale", #"{"oz": null, "abv": null}"#, as: "/presets/{preset}").json
        #expect(
            plain["sizeOz"] as? Double == nil && plain["abv"] as? Double == nil
                && plain["standardDrinkEstimate"] as? Double == 2, "\(plain)")
        try await ask("GET", "/presets")
        try await ask("DELETE", "/presets/ale", "{}", as: "/presets/{preset}")

        for values in [
            #"""
            {"hydration.units": "oz", "schedule.adaptive.start": 8, "bottle.amountWidth": "u8", "sync.token": \#
            "secret", "hydration.quickAddMl": [100, 200]}
            """#,
            #"""
            {"hydration.units": null, "schedule.interval.wake": "07:30", "day.zone": "Europe/Berlin", \#
            "ntfy.token": "secret"}
            """#,
        ] {
            try await ask("PATCH", "/settings", values)
            try await ask("GET", "/settings")
        }
        try await ask("GET", "/settings", headers: server.token(.read))
        try await ask("GET", "/settings/catalogue")
        for name in ["hydration.quickAddMl", "waterline.units", "sync.token"] {
            try await ask("GET", "/settings/\(name)", as: "/settings/{name}")
        }

        for path in ["/polls", "/bottles", "/journal", "/journal?limit=1"] {
            try await ask("GET", path, as: path.split(separator: "?").first.map(String.init))
        }
        try await ask("GET", "/bottles/A4:C1:38:00:00:01/settings", as: "/bottles/{bottle}/settings")
        try await ask(
            "PATCH", "/bottles/A4:C1:38:00:00:01/settings", #"{"bottle.light": true, "bottle.timeZone": "Asia/Tokyo"}"#,
            as: "/bottles/{bottle}/settings")
        for number in 1...3 { try await ask("GET", "/journal/r\(number)", as: "/journal/{record}") }
        try await ask("PATCH", "/journal/r3", #"{"at": "2026-06-15T11:30"}"#, as: "/journal/{record}")
        try await ask("POST", "/journal/resolve", "{}")
        try await ask("POST", "/poll", "{}")
        try await ask("POST", "/bottle/commands", #"{"command": "goal", "arguments": [2500]}"#)

        let file = ["Content-Type": "text/csv"]
        for path in ["/import", "/shortcuts/samples"] {
            try await ask("POST", path, "startDate,value_ml\n2026-06-15T09:00:00Z,150\n", headers: file)
        }
        let journal = try await server.get("journal/export").body
        try await ask(
            "POST", "/journal/import", journal, headers: file.merging(["Content-Type": "application/jsonl"]) { $1 })
        let keys = try await ask("GET", "/shortcuts/drinks").json["drinks"] as? [[String: Any]] ?? []
        try await ask("POST", "/shortcuts/done", "{\"keys\": [\"\(keys.first?["key"] as? String ?? "")\"]}")
        try await ask("POST", "/access-codes", "{}")
        let token = try await ask("POST", "/tokens", "{}")
        try await ask("DELETE", "/tokens/\(token.json["id"] as? String ?? "")", "{}", as: "/tokens/{token}")
        try await ask("GET", "/access")
        try await ask("POST", "/purge", #"{"confirm": "purge"}"#)
    }

    @Test func `the OpenAPI description has every setting and condition`() throws {
        let description = try APIDescription()
        #expect(description.members(of: "SomeSettings") == Set(Settings.catalogue.map(\.name)))
        #expect(description.words(of: "Guard") == Set(ReminderGuard.Name.allCases.map(\.rawValue)))
    }

    @Test(arguments: [
        (
            """
            {"id": "t", "label": "l", "scope": "log", "createdAt": "2026-06-15T12:00:00Z", \
            "expiresAt": "2026-09-13T12:00:00Z", "isRevoked": false}
            """, []
        ),
        (
            """
            {"id": 1, "label": "l", "scope": "all", "createdAt": "noon", "expiresAt": "2026-09-13T12:00:00Z", "more": 1}
            """,
            [
                "Token.isRevoked is missing", "Token.more is not described", "Token.createdAt is \"noon\"",
                "Token.id is 1.0", "Token.scope is \"all\"",
            ]
        ),
    ])
    func `the schema check detects deviations from the OpenAPI description`(token: String, faults: [String]) throws {
        let found = try APIDescription().faults(of: token, named: "Token")
        #expect(found.count == faults.count)
        for fault in faults { #expect(found.contains { $0.hasPrefix(fault) }, "\(fault) in \(found)") }
    }
}

@Suite struct DescriptionTests {
    @Test func `the OpenAPI description has every route and no other`() throws {
        let file = try #require(PageFile.named("openapi.json"))
        let description = try #require(
            try JSONSerialization.jsonObject(with: Data(file.bytes.readableBytesView)) as? [String: Any])
        let paths = try #require(description["paths"] as? [String: [String: Any]])
        let described = Set(paths.flatMap { path, methods in methods.keys.map { "\($0.uppercased()) \(path)" } })
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
