import Foundation
import HTTPAPI
import Store
import Testing
import TrackerCore
import TrackerDesk

/// Real answers are what the description says of them, to the last member.
@Suite struct DescribedAnswerTests {
    @Test func theStateIsAsDescribedOnEveryKindOfDay() async throws {
        let description = try APIDescription()
        let busy = ServiceDoor(
            status: {
                ServiceStatus(
                    version: "0", stage: "polling", lastPoll: ServedHousehold.noon, nextPoll: ServedHousehold.noon, pollSentence: "done", trying: "again", storedRecords: 3,
                    setupDone: false, speed: 720)
            }, pollNow: {}, recentPolls: { [] }, send: { _ in "" })
        let quiet = ServiceDoor(status: { ServiceStatus(version: "0") }, pollNow: {}, recentPolls: { [] }, send: { _ in "" })
        for (name, service) in [("no service", nil), ("an idle one", quiet), ("one that polls", busy)] {
            try await ServedHousehold.serve(service: service) { house async throws in
                func look(_ at: String, headers: [String: String] = [:]) async throws {
                    let state = try await house.ask("GET", "/api/v1/state", headers: headers)
                    #expect(try description.faults(of: state.body, to: "GET", "/state") == [], "\(name), \(at)")
                }
                try await look("an empty day")
                _ = try await house.ask("POST", "/api/v1/drinks", #"{"ml": 2000}"#, headers: house.page)
                try house.store.noteConnection(.bottleNotFound, at: ServedHousehold.noon)
                try await look("a day with a drink and a bottle that is not there")
                _ = try await house.ask("POST", "/api/v1/session", headers: house.page)
                for _ in 0..<3 { _ = try await house.ask("POST", "/api/v1/session/drink", "{}", headers: house.page) }
                try await look("a session with a warning")
                try await look("one whose business Waterline is not", headers: try house.token(.read).merging(["X-Forwarded-For": "203.0.113.9"]) { $1 })
                _ = try await house.ask("POST", "/api/v1/drinks", #"{"ml": 2000}"#, headers: house.page)
                try await look("the goal")
            }
        }
    }

    @Test func aStateWithABottleIsAsDescribed() throws {
        let store = try TrackerStore(inMemory: "Etc/UTC")
        let desk = try TrackerDesk(store, now: ServedHousehold.noon, zone: ZoneChoice(named: "UTC", machine: .utc), source: "test")
        var state = try desk.state()
        state.bottle = BottleStanding(name: "mine", advertisedName: "WaterH", model: "Boost", batteryPercent: 97, clockDriftSeconds: -2, lastPoll: ServedHousehold.noon)
        state.syncReport = SyncReport(waiting: 2, trouble: "away", refused: 1, refusals: ["a row"])
        #expect(try APIDescription().faults(of: TrackerDesk.json(state), named: "Day") == [])
    }

    @Test func whatIsWrittenAndReadIsAnsweredAsDescribed() async throws {
        let description = try APIDescription()
        try await ServedHousehold.serve { house async throws in
            @discardableResult
            func ask(_ method: String, _ path: String, _ body: String? = nil, as described: String? = nil) async throws -> RawHTTP.Reply {
                let answer = try await house.ask(method, "/api/v1\(path)", body, headers: house.page)
                #expect((200...201).contains(answer.status), "\(method) \(path): \(answer.body)")
                #expect(try description.faults(of: answer.body, to: method, described ?? path) == [], "\(method) \(path)")
                return answer
            }
            /// An edited drink has a new number.
            func number(_ answer: RawHTTP.Reply) throws -> Int { try #require((answer.json["drink"] as? [String: Any])?["number"] as? Int) }
            try await ask("POST", "/drinks", #"{"ml": 100}"#)
            try await ask("POST", "/undo", "{}")
            var drink = try await number(ask("POST", "/drinks", #"{"ml": 250}"#))
            drink = try await number(ask("PATCH", "/drinks/d\(drink)", #"{"ml": 300}"#, as: "/drinks/{drink}"))
            for query in ["", "?day=today", "?week=2026-06-15", "?month=2026-06"] { try await ask("GET", "/history\(query)", as: "/history") }
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

    @Test(arguments: [
        (#"{"id": "t", "label": "l", "scope": "log", "createdAt": "2026-06-15T12:00:00Z", "isRevoked": false}"#, []),
        (#"{"id": 1, "label": "l", "scope": "all", "createdAt": "noon", "more": 1}"#, ["Token.isRevoked is missing", "Token.more is not described", "Token.createdAt is \"noon\"", "Token.id is 1.0", "Token.scope is \"all\""]),
    ])
    func whatIsNotAsDescribedIsFound(token: String, faults: [String]) throws {
        let found = try APIDescription().faults(of: token, named: "Token")
        #expect(found.count == faults.count)
        for fault in faults { #expect(found.contains { $0.hasPrefix(fault) }, "\(fault) in \(found)") }
    }
}
