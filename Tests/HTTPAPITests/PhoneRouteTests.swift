import Foundation
import Store
import Testing

@testable import WebServer

/// The automation of a phone: the drinks to add to its health records, and the ones that it found there.
@Suite(.serialized, .timeLimit(.minutes(2))) struct PhoneRouteTests {
    private struct Phone {
        let house: ServedHousehold
        let token: [String: String]

        func ask(_ method: String, _ path: String, _ body: String? = nil, type: String = "application/json")
            async throws -> RawHTTP.Reply
        {
            try await house.ask(method, "/api/v1/\(path)", body, headers: token.merging(["Content-Type": type]) { $1 })
        }

        /// The pending drinks as `start ml`.
        func given(_ more: String = "") async throws -> (drinks: [String], keys: [String], hasMore: Bool?) {
            let json = try await ask("GET", "shortcuts/drinks\(more)").json
            let drinks = json["drinks"] as? [[String: Any]] ?? []
            return (
                drinks.map { "\($0["start"] ?? "") \($0["ml"] ?? "")" }, drinks.compactMap { $0["key"] as? String },
                json["hasMore"] as? Bool
            )
        }

        func done(_ keys: [String]) async throws -> RawHTTP.Reply {
            try await ask(
                "POST", "shortcuts/done",
                String(decoding: try JSONSerialization.data(withJSONObject: ["keys": keys]), as: UTF8.self))
        }

        func samples(_ lines: [String]) async throws -> RawHTTP.Reply {
            try await ask(
                "POST", "shortcuts/samples", (["startDate,value_ml,source"] + lines).joined(separator: "\n") + "\n",
                type: "text/csv")
        }

        func total() async throws -> Int? { try await ask("GET", "state").json["dailyTotalMl"] as? Int }
    }

    /// Each drink goes to the phone once. Our drinks are recognised when the phone returns them, also without seconds.
    /// Drinks of other apps are added, also if they look the same.
    @Test func `phone and service have the same drinks`() async throws {
        try await ServedHousehold.serve { house async throws in
            let phone = Phone(house: house, token: try house.token(.log))
            for (ml, time) in [(250, "08:00:20"), (250, "08:00:40"), (330, "09:00:00")] {
                #expect(
                    try await phone.ask("POST", "drinks", "{\"ml\": \(ml), \"at\": \"2026-06-15T\(time)\"}").status
                        == 201)
            }
            let first = try await phone.given()
            #expect(
                first.drinks == [
                    "2026-06-15T08:00:20+00:00 250", "2026-06-15T08:00:40+00:00 250", "2026-06-15T09:00:00+00:00 330",
                ] && first.hasMore == false)
            // The first two are written, then the phone stops.
            #expect(try await phone.done(Array(first.keys.prefix(2))).json["noted"] as? Int == 2)
            #expect(try await phone.given().drinks == ["2026-06-15T09:00:00+00:00 330"])
            #expect(try await phone.done(Array(first.keys)).json["noted"] as? Int == 1)
            #expect(try await phone.given().drinks.isEmpty)
            // Our drinks without seconds, another app's drink of the same minute and amount, and one of the day before.
            let found = [
                "2026-06-15T08:00:00Z,250,Shortcuts", "2026-06-15T08:00:00Z,250,Water",
                "2026-06-15T08:00:00Z,250,Kurzbefehle", "2026-06-15T09:00:00Z,330,Shortcuts",
                "2026-06-14T20:00:00Z,200,Water",
            ]
            for added in [2, 0, 0] {
                let taken = try await phone.samples(found)
                #expect(
                    taken.status == 200 && taken.json["added"] as? Int == added
                        && taken.json["known"] as? Int == 5 - added, "\(taken.body)")
            }
            #expect(try await phone.total() == 250 * 3 + 330)
            // Drinks from the phone are not sent back.
            #expect(try await phone.given().drinks.isEmpty)
            // A drink that is deleted here stays deleted, although the phone still has it.
            #expect(try await phone.ask("POST", "reset-today").status == 200)
            #expect(try await phone.samples(found).json["added"] as? Int == 0)
            #expect(try await phone.total() == 0)
        }
    }

    @Test func `many drinks are returned in pages`() async throws {
        try await ServedHousehold.serve { house async throws in
            let phone = Phone(house: house, token: try house.token(.log))
            let lines = (0..<150).map {
                "2026-06-1\($0 % 3 + 2)T\(10 + $0 / 60):\($0 % 60 < 10 ? "0" : "")\($0 % 60):00Z,100,key-\($0)"
            }
            let file = (["startDate,value_ml,uuid"] + lines).joined(separator: "\n") + "\n"
            #expect(
                try await house.ask(
                    "POST", "/api/v1/import", file, headers: house.page.merging(["Content-Type": "text/csv"]) { $1 }
                ).json["added"] as? Int == 150)
            // They were imported from a file of ours, so they count as health records: only drinks that were logged
            // here go to the phone.
            #expect(try await phone.given().drinks.isEmpty)
            for number in 0..<120 {
                _ = try await house.ask(
                    "POST", "/api/v1/drinks", "{\"ml\": \(number + 1), \"at\": \"2026-06-15T10:00:00\"}",
                    headers: house.page)
            }
            let first = try await phone.given()
            #expect(first.drinks.count == 100 && first.hasMore == true)
            #expect(try await phone.done(first.keys).status == 200)
            #expect(try await phone.given().drinks.count == 20)
            #expect(try await phone.given("?days=1").drinks.count == 20)
        }
    }

    @Test func `phone routes need access and valid input`() async throws {
        try await ServedHousehold.serve { house async throws in
            let phone = Phone(house: house, token: try house.token(.read))
            #expect(try await phone.ask("GET", "shortcuts/drinks").status == 200)
            #expect(try await phone.done(["a"]).status == 403)
            #expect(try await phone.samples([]).status == 403)
            let writer = Phone(house: house, token: try house.token(.log))
            #expect(try await writer.done(["nobody's"]).json["noted"] as? Int == 0)
            for (body, code) in [
                ("{}", "keys"), (#"{"keys": []}"#, "keys"), (#"{"keys": [""]}"#, "keys"),
                (#"{"keys": "a"}"#, "wrongType"), (#"{"keys": ["a"], "b": 1}"#, "unknownField"),
            ] {
                let reply = try await writer.ask("POST", "shortcuts/done", body)
                #expect(reply.status == 422 && reply.code == code, "\(reply.body)")
            }
            for query in ["days=0", "days=x", "days=99999", "since=1", "days=1&days=2"] {
                #expect(try await writer.ask("GET", "shortcuts/drinks?\(query)").status == 422, "\(query)")
            }
            let cut = try await writer.ask(
                "POST", "shortcuts/samples", "startDate,value_ml\n2026-06-15T08:00:00Z,25", type: "text/csv")
            #expect(cut.status == 200)
            #expect(
                try await writer.ask(
                    "POST", "shortcuts/samples", "startDate,value_ml\nyesterday,25\n", type: "text/csv"
                ).status == 422)
        }
    }
}
