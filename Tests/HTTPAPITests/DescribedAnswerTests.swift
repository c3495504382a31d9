import Foundation
import WebServer
import Store
import Testing
import TrackerCore
import TrackerService

@Suite struct DescribedAnswerTests {
    @Test func `the state matches the OpenAPI description on every kind of day`() async throws {
        let description = try APIDescription()
        let busy = ServiceClient(
            status: {
                ServiceStatus(
                    version: "0", stage: "polling", lastPoll: ServedHousehold.noon, nextPoll: ServedHousehold.noon,
                    pollSentence: "done", trying: "again", storedRecords: 3,
                    setupDone: false, speed: 720)
            }, pollNow: {}, recentPolls: { [] }, send: { _ in "" })
        let quiet = ServiceClient(
            status: { ServiceStatus(version: "0") }, pollNow: {}, recentPolls: { [] }, send: { _ in "" })
        for (name, service) in [("no service", nil), ("an idle one", quiet), ("one that polls", busy)] {
            try await ServedHousehold.serve(service: service) { house async throws in
                func look(_ at: String, headers: [String: String] = [:]) async throws {
                    let state = try await house.ask("GET", "/api/v1/state", headers: headers)
                    #expect(try description.faults(of: state.body, to: "GET", "/state") == [], "\(name), \(at)")
                }
                try await look("an empty day")
                _ = try await house.ask("POST", "/api/v1/drinks", #"{"ml": 2000}"#, headers: house.page)
                try house.store.noteConnection(ConnectionProblem(.notFound), at: ServedHousehold.noon)
                try await look("a day with a drink and a bottle that is not there")
                _ = try await house.ask("POST", "/api/v1/session", headers: house.page)
                for _ in 0..<3 { _ = try await house.ask("POST", "/api/v1/session/drink", "{}", headers: house.page) }
                try await look("a session with a warning")
                try await look(
                    "one whose business Waterline is not",
                    headers: try house.token(.read))
                _ = try await house.ask("POST", "/api/v1/drinks", #"{"ml": 2000}"#, headers: house.page)
                try await look("the goal")
            }
        }
    }

    @Test func `the state with a bottle matches the OpenAPI description`() throws {
        let store = try TrackerStore(inMemory: "Etc/UTC")
        let desk = try TrackerDesk(
            store, now: ServedHousehold.noon, zone: ZoneChoice(named: "UTC", machine: .utc), source: "test")
        var state = try desk.state()
        state.bottle = BottleCondition(
            name: "mine", advertisedName: "WaterH", model: "Boost", batteryPercent: 97, clockDriftSeconds: -2,
            lastPoll: ServedHousehold.noon)
        state.syncReport = SyncReport(waiting: 2, trouble: "away", refused: 1, refusals: ["a row"])
        #expect(try APIDescription().faults(of: TrackerDesk.json(state), named: "Day") == [])
    }

    @Test func `responses to reads and writes match the OpenAPI description`() async throws {
        let description = try APIDescription()
        try await ServedHousehold.serve { house async throws in
            @discardableResult
            func ask(_ method: String, _ path: String, _ body: String? = nil, as described: String? = nil) async throws
                -> RawHTTP.Reply
            {
                let answer = try await house.ask(method, "/api/v1\(path)", body, headers: house.page)
                #expect((200...201).contains(answer.status), "\(method) \(path): \(answer.body)")
                #expect(
                    try description.faults(of: answer.body, to: method, described ?? path) == [], "\(method) \(path)")
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
    }

    @Test func `responses about settings and bottles match the OpenAPI description`() async throws {
        let description = try APIDescription()
        let polls = [
            PollLine(
                at: ServedHousehold.noon, bottle: "A4:C1:38:00:00:01", result: "done", sentence: "1 new", received: 2,
                new: 1, duplicates: 1, suspect: 0, acknowledged: 2, seconds: 1.5),
            PollLine(
                at: ServedHousehold.noon, bottle: nil, result: "notFound", sentence: "Bottle not found", received: 0,
                new: 0, duplicates: 0, suspect: 0, acknowledged: 0, seconds: 10),
        ]
        let service = ServiceClient(
            status: { ServiceStatus(version: "0") }, pollNow: {}, recentPolls: { polls },
            send: { _ in "The goal is 2500 ml." })
        try await ServedHousehold.serve(service: service) { house async throws in
            @discardableResult
            func ask(
                _ method: String, _ path: String, _ body: String? = nil, as described: String? = nil,
                headers: [String: String]? = nil
            ) async throws -> RawHTTP.Reply {
                let answer = try await house.ask(method, "/api/v1\(path)", body, headers: headers ?? house.page)
                #expect((200...202).contains(answer.status), "\(method) \(path): \(answer.body)")
                #expect(
                    try description.faults(of: answer.body, to: method, described ?? path) == [], "\(method) \(path)")
                return answer
            }
            func seconds(_ later: Double) -> Instant { ServedHousehold.noon.advanced(seconds: later) }
            func record(_ second: Int, _ verdict: JournalEntry.Verdict) -> JournalEntry {
                let raw: [UInt8] = [0x1A, 6, 15, 11, 0, UInt8(second), 0, 100, 0, 0, 1, 0x61, 0]
                return JournalEntry(
                    bottle: "A4:C1:38:00:00:01", raw: raw,
                    wall: WallTime(year: 2026, month: 6, day: 15, hour: 11, minute: 0, second: second), amountMl: 100,
                    received: seconds(0), verdict: verdict)
            }
            // An empty store first, then a full one.
            for path in [
                "/why", "/journal", "/bottles", "/shortcuts/drinks", "/settings", "/presets", "/polls",
            ] { try await ask("GET", path) }
            try await ask("POST", "/setup", #"{"goal": 2000}"#)
            _ = try house.store.append([
                record(1, .drink(at: seconds(-3599), zone: "UTC")), record(2, .quarantined(reason: "hostClock")),
                record(3, .quarantined(reason: "implausibleTimestamp")),
            ])
            try house.store.quarantine(
                bottle: "A4:C1:38:00:00:01", bytes: [1, 2], reason: "short", received: seconds(0))
            try house.store.finishPoll(
                PollRecord(
                    bottle: "A4:C1:38:00:00:01", name: "WaterH", model: "boost", batteryPercent: 97,
                    clockDriftSeconds: -3, endedAt: seconds(0), complete: true))
            try await ask("POST", "/session", "{}")
            let session = try await ask("POST", "/session/drink", "{}")
            let entry = try #require((session.json["logs"] as? [[String: Any]])?.first?["name"] as? String)
            try await ask("PATCH", "/session/logs/\(entry)", #"{"estimate": 1.5}"#, as: "/session/logs/{entry}")
            for at in ["", "?at=23:30", "?at=06:00"] { try await ask("GET", "/why\(at)", as: "/why") }
            try await ask("DELETE", "/session/logs/\(entry)", "{}", as: "/session/logs/{entry}")

            try await ask("POST", "/presets", #"{"name": "pale ale", "type": "beer", "oz": 16, "abv": 5.5}"#)
            let unchanged = try await house.ask("PATCH", "/api/v1/presets/pale%20ale", "{}", headers: house.page)
            #expect(unchanged.code == "missingField", "a change of nothing: \(unchanged.body)")
            try await ask("PATCH", "/presets/pale%20ale", #"{"name": "ale", "estimate": 2}"#, as: "/presets/{preset}")
            let plain = try await ask("PATCH", "/presets/ale", #"{"oz": null, "abv": null}"#, as: "/presets/{preset}")
                .json
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
            try await ask(
                "GET", "/settings", headers: house.token(.read))
            try await ask("GET", "/settings/catalogue")
            for name in ["hydration.quickAddMl", "waterline.units", "sync.token"] {
                try await ask("GET", "/settings/\(name)", as: "/settings/{name}")
            }

            for path in ["/polls", "/bottles", "/journal", "/journal?limit=1"] {
                try await ask("GET", path, as: path.split(separator: "?").first.map(String.init))
            }
            try await ask("GET", "/bottles/A4:C1:38:00:00:01/settings", as: "/bottles/{bottle}/settings")
            try await ask(
                "PATCH", "/bottles/A4:C1:38:00:00:01/settings",
                #"{"bottle.light": true, "bottle.timeZone": "Asia/Tokyo"}"#, as: "/bottles/{bottle}/settings")
            for number in 1...3 { try await ask("GET", "/journal/r\(number)", as: "/journal/{record}") }
            try await ask("PATCH", "/journal/r3", #"{"at": "2026-06-15T11:30"}"#, as: "/journal/{record}")
            try await ask("POST", "/journal/resolve", "{}")
            try await ask("POST", "/poll", "{}")
            try await ask("POST", "/bottle/commands", #"{"command": "goal", "arguments": [2500]}"#)

            let file = house.page.merging(["Content-Type": "text/csv"]) { $1 }
            for path in ["/import", "/shortcuts/samples"] {
                try await ask("POST", path, "startDate,value_ml\n2026-06-15T09:00:00Z,150\n", headers: file)
            }
            let journal = try await house.ask("GET", "/api/v1/journal/export").body
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
    func `a deviation from the OpenAPI description is found`(token: String, faults: [String]) throws {
        let found = try APIDescription().faults(of: token, named: "Token")
        #expect(found.count == faults.count)
        for fault in faults { #expect(found.contains { $0.hasPrefix(fault) }, "\(fault) in \(found)") }
    }
}
