import Foundation
@testable import HTTPAPI
import Store
import Testing
import TrackerCore
import TrackerDesk

/// Several people behind one server: what opens one's day opens nobody else's.
@Suite struct PeopleTests {
    private static let away = ["X-Forwarded-For": "203.0.113.9"]

    private func drinks(_ reply: RawHTTP.Reply) -> Int { (reply.json["drinks"] as? [Any])?.count ?? -1 }

    @Test func `each person's day stands at the person's own address`() async throws {
        let ben = try TrackerStore(inMemory: "Etc/UTC")
        try await ServedHousehold.serve(others: [("ben", ben)]) { house async throws in
            #expect(
                try await house.ask("POST", "/api/v1/people/ben/drinks", #"{"ml": 250}"#, headers: house.page).status
                    == 201)
            #expect(try await house.ask("POST", "/api/v1/drinks", #"{"ml": 100}"#, headers: house.page).status == 201)
            for (path, total) in [
                ("/api/v1/state", 100), ("/api/v1/people/anna/state", 100), ("/api/v1/people/ben/state", 250),
            ] {
                #expect(try await house.ask("GET", path).json["dailyTotalMl"] as? Int == total, "\(path)")
            }
            #expect(try await house.ask("GET", "/api/v1/people/eve/state").status == 404)
            for path in ["/people/ben/", "/people/ben/history", "/people/ben/watch", "/people/ben/widget/circular.svg"]
            {
                #expect(try await house.ask("GET", path).status == 200, "\(path)")
            }
        }
    }

    @Test(arguments: Scope.allCases)
    func `a token opens its own person's day and nobody else's`(scope: Scope) async throws {
        let ben = try TrackerStore(inMemory: "Etc/UTC")
        try await ServedHousehold.serve(others: [("ben", ben)]) { house async throws in
            for beyond in [[:], Self.away] {
                let annas = try house.token(scope).merging(beyond) { $1 }
                let bens = try house.token(scope, of: ben).merging(beyond) { $1 }
                for (name, other) in [("anna", bens), ("ben", annas)] {
                    for what in ["state", "events", "tokens", "settings"] {
                        let refused = try await house.ask("GET", "/api/v1/people/\(name)/\(what)", headers: other)
                        #expect(refused.status == 403 && refused.code == "otherPerson", "\(refused)")
                    }
                    let write = try await house.ask(
                        "POST", "/api/v1/people/\(name)/drinks", #"{"ml": 250}"#, headers: other)
                    #expect(write.status == 403)
                }
                // Without a name the token says who is meant.
                let wrote = try await house.ask("POST", "/api/v1/drinks", #"{"ml": 30}"#, headers: bens)
                #expect(wrote.status == (scope == .read ? 403 : 201))
            }
            #expect(try house.store.lastDrink() == nil)
            #expect((try ben.lastDrink() == nil) == (scope == .read))
        }
    }

    @Test func `a code opens the day of whom it was shown for, and a browser may be let in to both`() async throws {
        let ben = try TrackerStore(inMemory: "Etc/UTC")
        try await ServedHousehold.serve(others: [("ben", ben)]) { house async throws in
            var cookies: [String] = []
            for name in ["ben", "anna"] {
                let made = try await house.ask("POST", "/api/v1/people/\(name)/pairings", "{}", headers: house.page)
                let code = try #require(made.json["code"] as? String)
                let paired = try await house.ask("POST", "/api/v1/pair", #"{"code": "\#(code)"}"#, headers: Self.away)
                #expect(
                    paired.json["person"] as? String == name && paired.json["page"] as? String == "/people/\(name)/")
                cookies.append(String(try #require(paired.headers["set-cookie"]).prefix { $0 != ";" }))
            }
            let bens = Self.away.merging(["Cookie": cookies[0]]) { $1 }
            #expect(
                try await house.ask("GET", "/api/v1/people/anna/state", headers: bens).code == "notLetIn",
                "The page asks to be let in.")
            #expect(try await house.ask("POST", "/api/v1/drinks", #"{"ml": 70}"#, headers: bens).status == 201)
            #expect(try ben.lastDrink() != nil && house.store.lastDrink() == nil)
            let both = Self.away.merging(["Cookie": cookies.joined(separator: "; ")]) { $1 }
            for name in ["anna", "ben"] {
                #expect(try await house.ask("GET", "/api/v1/people/\(name)/state", headers: both).status == 200)
            }
        }
    }

    /// An adversary's finding: a page that was open while its name was given to somebody else showed and changed that
    /// one's day.
    @Test func `who says whose day is meant reads and changes no other`() async throws {
        let ben = try TrackerStore(inMemory: "Etc/UTC")
        try await ServedHousehold.serve(others: [("ben", ben)]) { house async throws in
            let (anna, bens) = (house.people.people[0], house.people.people[1])
            _ = try house.store.profile(
                WriteContext(now: ServedHousehold.noon, zone: .utc, source: "test", makeID: { UUID().uuidString }))
            _ = try await house.ask("POST", "/api/v1/people/ben/drinks", #"{"ml": 70}"#, headers: house.page)
            let people = try #require(
                try await house.ask("GET", "/api/v1/people", headers: house.page).json["people"] as? [[String: Any]])
            let id = try #require(people.first { $0["name"] as? String == anna.name }?["id"] as? String)
            let meant = house.page.merging(["Waterh-Day": id]) { $1 }
            #expect(try await house.ask("GET", "/api/v1/people/\(anna.name)/state", headers: meant).status == 200)
            await house.people.change(to: [
                Person(name: "anne", desk: anna.desk), Person(name: anna.name, desk: bens.desk),
            ])
            for (method, path, body) in [
                ("GET", "state", ""), ("GET", "history", ""), ("POST", "drinks", #"{"ml": 250}"#),
                ("DELETE", "drinks/d1", ""),
            ] {
                let reply = try await house.ask(method, "/api/v1/people/\(anna.name)/\(path)", body, headers: meant)
                #expect(reply.status == 404 && reply.code == "notFound", "\(path): \(reply.status) \(reply.body)")
            }
            #expect(
                try await house.ask("GET", "/api/v1/people/\(anna.name)/events?whose=\(id)", headers: house.page).status
                    == 404)
            #expect(try ben.lastDrink()?.ml == 70 && house.store.lastDrink() == nil)
            #expect(try await house.ask("GET", "/api/v1/people/anne/state", headers: meant).status == 200)
        }
    }

    /// An adversary's finding: the phone of somebody who was given another name was locked out, although its token was
    /// good.
    @Test func `who is given another name stays let in, also where somebody else gets the old name`() async throws {
        let ben = try TrackerStore(inMemory: "Etc/UTC")
        try await ServedHousehold.serve(others: [("ben", ben)]) { house async throws in
            let anna = house.people.people[0]
            let made = try await house.ask("POST", "/api/v1/people/anna/pairings", "{}", headers: house.page)
            let paired = try await house.ask(
                "POST", "/api/v1/pair", "{\"code\": \"\(try #require(made.json["code"] as? String))\"}",
                headers: Self.away)
            let cookie = String(try #require(paired.headers["set-cookie"]).prefix { $0 != ";" })
            func listed(_ cookie: String) async throws -> [[String: Any]] {
                try await house.ask("GET", "/api/v1/people", headers: Self.away.merging(["Cookie": cookie]) { $1 })
                    .json["people"] as? [[String: Any]] ?? []
            }
            let id = try #require(try await listed(cookie).first?["id"] as? String)
            #expect(cookie.hasPrefix("waterh-\(id)="))
            // As a browser holds it that was let in before cookies were named by what stays.
            let older = "waterh-anna=\(cookie.split(separator: "=")[1])"
            let renamed = Person(name: "anne", desk: anna.desk)
            let other = Person(name: "anna", desk: house.people.people[1].desk)
            for others in [[house.people.people[1]], [other]] {
                await house.people.change(to: [renamed] + others)
                for shown in [cookie, older] {
                    let headers = Self.away.merging(["Cookie": shown]) { $1 }
                    #expect(try await house.ask("GET", "/api/v1/people/anne/state", headers: headers).status == 200)
                    #expect(
                        try await house.ask("GET", "/api/v1/people/anna/state", headers: headers).status
                            == (others[0].name == "anna" ? 401 : 404))
                    let all = try await listed(shown)
                    #expect(
                        all.count == 1 && all[0]["name"] as? String == "anne" && all[0]["id"] as? String == id, "\(all)"
                    )
                }
            }
        }
    }

    @Test func `a browser that was let in twice may do the most that it was given`() async throws {
        let ben = try TrackerStore(inMemory: "Etc/UTC")
        try await ServedHousehold.serve(others: [("ben", ben)]) { house async throws in
            // A loop, since the compiler (6.3.1) ends in its pass "SendNonSendable" over a closure that throws in here.
            var cookies: [String] = []
            for (name, scope) in [("waterh-anna", Scope.read), ("waterh", .admin), ("waterh-x", .log)] {
                let bearer = try #require(try house.token(scope)["Authorization"])
                cookies.append("\(name)=\(bearer.dropFirst("Bearer ".count))")
            }
            #expect(
                try await house.ask(
                    "GET", "/api/v1/tokens",
                    headers: Self.away.merging(["Cookie": cookies.joined(separator: "; ")]) { $1 }
                ).status == 200)
        }
    }

    @Test func `who lives here is told to whom it concerns`() async throws {
        let ben = try TrackerStore(inMemory: "Etc/UTC")
        func names(_ reply: RawHTTP.Reply) -> [String] {
            (reply.json["people"] as? [[String: Any]] ?? []).compactMap { $0["name"] as? String }
        }
        try await ServedHousehold.serve(others: [("ben", ben)]) { house async throws in
            let asked: [([String: String], [String], String)] = [
                ([:], ["anna", "ben"], "anna"), (try house.token(.admin), ["anna", "ben"], "anna"),
                (try house.token(.control), ["anna"], "anna"),
                (try house.token(.admin, of: ben), ["ben"], "ben"), (try house.token(.read, of: ben), ["ben"], "ben"),
            ]
            for (headers, known, meant) in asked {
                let reply = try await house.ask("GET", "/api/v1/people", headers: headers)
                #expect(names(reply) == known && reply.json["meant"] as? String == meant, "\(reply)")
                let metrics = try await house.ask("GET", "/metrics", headers: headers).body
                let told = ["anna", "ben"].filter { metrics.contains("person=\"\($0)\"") }
                #expect(told == known)
            }
            #expect(try await house.ask("GET", "/api/v1/people", headers: Self.away).status == 401)
        }
    }

    @Test func `who comes is shown, and who leaves is gone, with every page that was open`() async throws {
        let ben = try TrackerStore(inMemory: "Etc/UTC")
        try await ServedHousehold.serve(others: [("ben", ben)]) { house async throws in
            let all = house.people.people
            let token = try house.token(.log, of: ben)
            let (id, events) = try await all[1].feed.watch(
                after: nil, showsNotifications: false, seesWaterline: { true }, looks: false, hangUp: {})
            await house.people.change(to: [all[0]])
            // The stream ends by itself.
            for await _ in events {}
            await all[1].feed.leave(id)
            await #expect(throws: HTTPProblem.self) {
                try await all[1].feed.watch(
                    after: nil, showsNotifications: false, seesWaterline: { true }, looks: false, hangUp: {})
            }
            #expect(try await house.ask("GET", "/api/v1/people/ben/state").status == 404)
            #expect(try await house.ask("GET", "/api/v1/state", headers: token).status == 401)
            await house.people.change(to: all.reversed())
            #expect(try await house.ask("GET", "/api/v1/people", headers: [:]).json["meant"] as? String == "ben")
        }
    }
}
