import Foundation
import WebServer
import Store
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerService

/// Notifications and sessions in the event stream, and the state as a file.
@Suite struct ToldEventsTests {
    /// The first events of a stream. The state after one more drink marks their end, so the test waits for no missing
    /// event.
    private func beginning(of stream: EventStream, _ visit: CheckedDay.WebRequestContext, total: Int) async throws
        -> [EventStream
        .Event]
    {
        _ = try await stream.events { $0.kind == "state" }
        try await visit.drink(10)
        return try await stream.events { $0.kind == "state" && $0.json["dailyTotalMl"] as? Int == total }.dropLast()
    }

    /// Tracker spec B7: a notification is sent on its channel once, and again only to a client that missed it.
    @Test func `a notification is one event and not part of the state`() async throws {
        try await CheckedDay().served { visit async throws in
            let page = try EventStream(visit.house, "shows=notifications")
            _ = try await page.events { $0.kind == "state" }
            try await visit.tell()
            try await visit.tell()
            try await visit.drink(10)
            let events = try await page.events { $0.json["dailyTotalMl"] as? Int == 10 }
            let notices = events.filter { $0.kind == "notify" }
            #expect(notices.map { $0.json["id"] as? String } == ["hydration-reminder/2026-06-15/1"], "once")
            #expect(events.filter { $0.kind == "state" }.allSatisfy { $0.json["shouldNotify"] as? Bool == false })
            let id = try #require(notices.first?.id)

            // A new client gets the current state without notifications. So does a client that reconnects and missed
            // none.
            for (number, lastID) in [nil, id].enumerated() {
                let late = try EventStream(visit.house, "shows=notifications", lastID: lastID)
                let first = try #require(try await late.events { _ in true }.first)
                #expect(
                    first.kind == "state" && first.json["shouldNotify"] as? Bool == false
                        && first.json["notificationId"] is NSNull)
                try await visit.drink(10)
                let total = 20 + number * 10
                #expect(
                    try await !late.events { $0.json["dailyTotalMl"] as? Int == total }.contains { $0.kind == "notify" }
                )
            }
            // A client that missed one gets that one only, after the state.
            let missed = try EventStream(visit.house, "shows=notifications", lastID: String((UInt64(id) ?? 1) - 1))
            #expect(try await beginning(of: missed, visit, total: 40).map(\.kind) == ["state", "notify"])
            #expect(try await visit.state()["shouldNotify"] as? Bool == false)
        }
    }

    @Test(arguments: ["-5", "abc", "99999", "9223372036854775808"]) func `an unknown Last-Event-ID is a gap`(id: String)
        async throws
    {
        try await CheckedDay().served { visit async throws in
            let events = try await EventStream(visit.house, "shows=notifications", lastID: id).events {
                $0.kind == "gap"
            }
            #expect(events.map(\.kind) == ["state", "gap"] && events[0].id == "0", "\(events)")
            #expect(events.last?.json["reason"] as? String == "unknown")
        }
    }

    /// Notifications were sent while no page was open, also before a restart of the service. The client gets all of
    /// them in order, once, with their times.
    @Test func `a reconnecting client receives missed notifications`() async throws {
        let day = try CheckedDay()
        func told() throws -> [String] {
            try TrackerStore(path: day.path).told(after: 0).map(\.decision.notificationId)
        }
        var first = ""
        try day.set("08:00")
        try await day.served { visit async throws in
            let page = try EventStream(visit.house, "shows=notifications")
            first = try #require(try await page.events { $0.kind == "state" }.first?.id, "the beginning has an id, too")
        }
        // No page is open, and another program sends notifications.
        for wall in ["08:00", "11:00"] {
            try day.set(wall)
            try await day.desk().tell([NamedSink("desktop")])
        }
        try day.set("11:20")
        try await day.served { visit async throws in
            let page = try EventStream(visit.house, "shows=notifications", lastID: first)
            let missed = try await beginning(of: page, visit, total: 10).filter { $0.kind == "notify" }
            try #require(missed.count == 2)
            #expect(try missed.map { $0.json["id"] as? String } == told())
            #expect(
                missed.map { $0.json["historical"] as? Bool } == [true, true]
                    && missed.map { $0.json["at"] as? Int } == [1_781_510_400, 1_781_521_200])
            // The same with a query parameter for clients that cannot send the header. Notifications that another
            // program sends in that time arrive once.
            let half = try EventStream(visit.house, "shows=notifications&after=\(try #require(missed.first?.id))")
            #expect(try await half.notices(1).map { $0.json["id"] as? String } == [told()[1]])
            try await visit.drink(3000)
            try await day.desk().tell([NamedSink("desktop")])
            #expect(try await page.notices(3).map { $0.json["id"] as? String } == told() && told().count == 3)
            let nobody = try EventStream(visit.house, "", lastID: missed.last?.id)
            #expect(try await nobody.notices(1).map { $0.json["id"] as? String } == [told()[2]])
        }
    }

    /// Notifications from a private time stay private after sessions are shared, and all are private when sharing ends.
    @Test func `notifications of a private session are not replayed`() async throws {
        let day = try CheckedDay()
        let store = try TrackerStore(path: day.path)
        func session(_ walls: (drink: String, water: String)) async throws -> [String] {
            let before = try store.told(after: 0).last?.place ?? 0
            try day.set(walls.drink)
            _ = try day.desk().drink()
            try await day.desk().tell([NamedSink("desktop")])
            try day.set(walls.water)
            _ = try day.desk().water()
            try await day.desk().tell([NamedSink("desktop")])
            return try store.told(after: before).filter(\.decision.kind.isWaterline).map(\.decision.notificationId)
        }
        try store.noteSharing(false)
        try day.set("20:00")
        _ = try day.desk().startSession()
        let secret = try await session(("20:10", "20:15"))
        try store.noteSharing(true)
        let open = try await session(("20:30", "20:35"))
        try store.noteSharing(false)
        let secretAgain = try await session(("20:50", "20:55"))
        try #require(!secret.isEmpty && !open.isEmpty && !secretAgain.isEmpty)
        func replayed(shares: Bool, away: Bool) async throws -> [String] {
            var ids: [String] = []
            try await ServedHousehold.serve(store, sharesWaterline: shares, now: { day.now }) { house async throws in
                let headers = try away ? house.token(.read) : [:]
                let stream = try EventStream(house, "shows=notifications", lastID: "0", headers: headers)
                _ = try await stream.events { $0.kind == "state" }
                let total = try day.desk().logDrink(.ml(10)).state.pace.dailyTotalMl
                let events = try await stream.events { $0.kind == "state" && $0.json["dailyTotalMl"] as? Int == total }
                ids = events.filter { $0.kind == "notify" }.compactMap { $0.json["id"] as? String }.filter {
                    $0.hasPrefix("waterline")
                }
            }
            return ids
        }
        #expect(try await replayed(shares: false, away: true) == [])
        #expect(try await replayed(shares: true, away: true) == [], "shared since then, and not before")
        #expect(
            try await replayed(shares: false, away: false) == secret + open + secretAgain, "at this machine all of it")
        // Notifications from the shared time are replayed.
        try store.noteSharing(true)
        let later = try await session(("21:10", "21:15"))
        try #require(!later.isEmpty)
        #expect(try await replayed(shares: true, away: true) == later)
    }

    @Test func `a client that reconnects too late receives a gap event`() async throws {
        let day = try CheckedDay()
        try day.set("08:00")
        try await day.desk().tell([NamedSink("desktop")])
        try await day.served { visit async throws in
            let stranger = try EventStream(visit.house, "shows=notifications", lastID: "9000000000000")
            let events = try await stream(stranger)
            #expect(
                events.map(\.kind) == ["state", "gap"] && events.last?.json["reason"] as? String == "unknown"
                    && events.first?.id != "9000000000000")
            let tool = try #require(Program(system: "sqlite3"), "this test needs sqlite3: apt-get install sqlite3")
            _ = try await tool.run([
                day.path, "INSERT INTO counter (name, value) VALUES ('notification.forgotten', 1781510400000)",
            ])
            let late = try EventStream(visit.house, "shows=notifications", lastID: "5")
            let all = try await beginning(of: late, visit, total: 10)
            try #require(all.map(\.kind) == ["state", "gap", "notify"])
            #expect(all[1].json["reason"] as? String == "tooFarBehind" && all[1].json["lastEventId"] as? Int == 5)
        }
        func stream(_ stream: EventStream) async throws -> [EventStream.Event] {
            try await stream.events { $0.kind == "gap" }
        }
    }

    /// A remote page without Waterline showed nothing, so the reminder does not count as shown.
    @Test func `a page without Waterline does not count as a viewer of it`() async throws {
        let day = try CheckedDay()
        try day.set("20:00")
        try await day.served { visit async throws in
            let away = try EventStream(
                visit.house, "shows=notifications",
                headers: try visit.house.token(.read))
            _ = try await away.events { $0.kind == "state" }
            _ = try await visit.post("session")
            try day.set("20:10")
            _ = try await visit.post("session/drink")
            try await visit.tell()
            let waterline = { try visit.house.store.notifications().filter { $0.kind.hasPrefix("waterline") } }
            #expect(try waterline().isEmpty)
            let here = try EventStream(visit.house, "shows=notifications")
            _ = try await here.events { $0.kind == "state" }
            try await visit.tell()
            _ = try await here.events {
                $0.kind == "notify" && ($0.json["id"] as? String)?.hasPrefix("waterline") == true
            }
            #expect(try !waterline().isEmpty)
        }
    }

    /// US-032: also each of its entries.
    @Test func `the session is in the stream from start to end`() async throws {
        let day = try CheckedDay()
        try day.set("20:00")
        try await day.served { visit async throws in
            let page = try EventStream(visit.house)
            _ = try await page.events { $0.kind == "state" }
            let id = try #require((try await visit.post("session")["session"] as? [String: Any])?["id"] as? String)
            let started = try await page.events { $0.kind == "session" }.last
            #expect(started?.json["id"] as? String == id && started?.json["isActive"] as? Bool == true)
            try day.set("20:10")
            _ = try await visit.post("session/drink")
            let drunk = try await page.events { $0.kind == "session" && ($0.json["logs"] as? [Any])?.count == 1 }.last
            #expect(drunk?.json["value"] as? Double == 1 && drunk?.json["sinceWater"] as? Int == 1)
            try day.set("20:20")
            _ = try await visit.post("session/water")
            let watered = try await page.events { $0.kind == "session" && ($0.json["logs"] as? [Any])?.count == 2 }.last
            #expect(watered?.json["value"] as? Double == 0 && watered?.json["sinceWater"] as? Int == 0)
            _ = try await visit.post("session/end")
            let ended = try await page.events { $0.kind == "session" && $0.json["isActive"] as? Bool == false }.last
            #expect((ended?.json["summary"] as? [String: Any])?["drinks"] as? Int == 1)
        }
    }

    /// US-029: pages, widgets, and other programs on the store.
    @Test func `the end of a session reaches every client within two seconds`() async throws {
        let day = try CheckedDay()
        try day.set("20:00")
        try await day.served { visit async throws in
            _ = try await visit.post("session")
            let pages = try (0..<3).map { _ in try EventStream(visit.house, "fields=waterline") }
            for page in pages { _ = try await page.events { $0.json["waterline"] is [String: Any] } }
            let start = ContinuousClock.now
            _ = try await visit.post("session/end", #"{"at": "now"}"#)
            for page in pages { _ = try await page.events { $0.kind == "state" && $0.json["waterline"] is NSNull } }
            #expect(try await visit.state()["waterline"] is NSNull)
            #expect(try await visit.picture("small.svg").contains("No Session"))
            #expect(try day.desk().state().waterline == nil)
            let took = ContinuousClock.now - start
            #expect(try await took < visit.shortly())
        }
    }

    /// US-028.
    @Test func `a water entry sent three times counts once`() async throws {
        try await CheckedDay().served { visit async throws in
            _ = try await visit.post("session")
            for _ in 0..<3 {
                let headers = visit.house.page.merging(["Idempotency-Key": "nudge-1"]) { $1 }
                #expect(
                    try await visit.house.ask("POST", "/api/v1/session/water", "{}", headers: headers).status == 201)
            }
            #expect((try await visit.state()["waterline"] as? [String: Any])?["waters"] as? Int == 1)
        }
    }

    /// Tracker spec section 10.7: the file next to the store is always complete, owner-only, up to date within seconds,
    /// and deleted by a purge.
    @Test func `the state file is written atomically`() async throws {
        let day = try CheckedDay()
        try await day.served { visit async throws in
            let file = try #require(visit.house.store.stateFile)
            let keeping = Task { await visit.house.person.keepStateFile { Issue.record("\($0)") } }
            let isRead = Mutex(false)
            let reads = Mutex(0)
            let broken = Mutex<[String]>([])
            let reader = Task.detached {
                while !isRead.withLock({ $0 }) {
                    if let data = FileManager.default.contents(atPath: file) {
                        let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any]
                        if object?["schema"] as? Int == 1, object?["shouldNotify"] as? Bool == false {
                            reads.withLock { $0 += 1 }
                        } else {
                            broken.withLock { $0.append(String(decoding: data.prefix(80), as: UTF8.self)) }
                        }
                    }
                    await Task.yield()
                }
            }
            // The writer of the file alone, as fast as possible, and the service's own.
            let bytes = Array(try await visit.house.ask("GET", "/api/v1/state").body.utf8)
            let seen = await event(within: 60) {
                try? visit.house.store.writeStateFile(bytes)
                return reads.withLock { $0 } > 50 ? true : nil
            }
            #expect(seen == true)
            for _ in 0..<5 { try await visit.drink(100) }
            let total = await event(within: 60) {
                (try? JSONSerialization.jsonObject(with: FileManager.default.contents(atPath: file) ?? Data())
                    as? [String: Any])?["dailyTotalMl"] as? Int == 500 ? true : nil
            }
            #expect(total == true)
            isRead.withLock { $0 = true }
            await reader.value
            #expect(broken.withLock { $0 } == [])
            #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
            keeping.cancel()
            await keeping.value
            _ = try await visit.post("purge", #"{"confirm": "purge"}"#)
            #expect(!FileManager.default.fileExists(atPath: file))
        }
    }
}
