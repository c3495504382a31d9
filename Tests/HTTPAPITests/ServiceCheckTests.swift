import Foundation
import WebServer
import Store
import Support
import Testing
import TrackerCore
import TrackerService

/// The checks of tracker spec B9 in which the service takes part, over HTTP with a clock that the test sets. The
/// specification's page of checks lists the tests of the others.
@Suite struct ServiceCheckTests {
    /// B9-08.
    @Test func `the second screen has a page, and the state has its colour, litres, words and age`() async throws {
        let day = try CheckedDay()
        try day.set("13:00")
        let client = try await day.serve()
        try await client.drink(800)
        try day.set("14:00")
        let page = try await client.server.ask("GET", "/watch")
        #expect(page.status == 200 && page.headers["content-type"]?.hasPrefix("text/html") == true)
        let state = try await client.state()
        #expect(state["displayUrgency"] as? Int == 1 && state["litresText"] as? String == "0.8L / 2.5L")
        #expect(state["statusText"] as? String == "350ml to catch up" && state["lastDrinkAge"] as? String == "1 h ago")
    }

    /// B9-09.
    @Test func `a record that arrives is at a listening client within two seconds`() async throws {
        let day = try CheckedDay()
        let client = try await day.serve()
        let stream = try EventStream(client.server, "fields=dailyTotalMl")
        _ = try await stream.events { $0.kind == "state" }
        for (number, time) in ["10:00", "10:30", "11:00"].enumerated() {
            let start = ContinuousClock.now
            try client.bottleDrink(time, 250)
            _ = try await stream.events { $0.json["dailyTotalMl"] as? Int == 250 * (number + 1) }
            let took = ContinuousClock.now - start
            #expect(try await took < client.shortly())
        }
    }

    /// B9-10.
    @Test func `a new client gets the whole state first`() async throws {
        let client = try await CheckedDay().serve()
        try await client.drink(330)
        let first = try #require(try await EventStream(client.server).events { _ in true }.first)
        #expect(first.kind == "state" && first.json["dailyTotalMl"] as? Int == 330)
        #expect(try await Set(first.json.keys) == Set(client.state().keys))
    }

    /// B9-11.
    @Test func `two minutes without input raise the deficit by five or six, unasked`() async throws {
        let day = try CheckedDay()
        try day.set("14:00")
        let client = try await day.serve()
        let stream = try EventStream(client.server, "fields=deficitMl")
        _ = try await stream.events { $0.json["deficitMl"] as? Int == 1167 }
        for (time, deficit) in [("14:02", 1172), ("14:04", 1178), ("14:06", 1183), ("14:08", 1189)] {
            try day.set(time)
            let events = try await stream.events { $0.json["deficitMl"] as? Int == deficit }
            #expect(events.allSatisfy { $0.kind == "state" })
        }
    }
}
