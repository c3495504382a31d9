import Foundation
import Store
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerService
import TrackerSupport
import WebServer

/// Notifications and sessions in the event stream, and the state as a file.
@Suite struct NotificationEventTests {
    /// The first events of a stream. The state after one more drink marks their end, so the test waits for no missing
    /// event.
    private func beginning(of stream: EventStream, _ client: CheckedDay.DayClient, total: Int) async throws
        -> [EventStream.Event]
    {
        _ = try await stream.events { $0.kind == "state" }
        try await client.drink(10)
        return try await stream.events { $0.kind == "state" && $0.json["dailyTotalMl"] as? Int == total }.dropLast()
    }

    /// Tracker spec B7: a notification is sent on its channel once, and again only to a client that missed it.
    @Test func `a notification is one event and not part of the state`() async throws {
        let client = try await CheckedDay().serve()
        let page = try await EventStream.opened(client.server, "shows=notifications")
        try await client.deliver()
        try await client.deliver()
        try await client.drink(10)
        let events = try await page.events { $0.json["dailyTotalMl"] as? Int == 10 }
        let notices = events.filter { $0.kind == "notify" }
        #expect(notices.map { $0.json["id"] as? String } == ["hydration-reminder/2026-06-15/1"], "once")
        #expect(events.filter { $0.kind == "state" }.allSatisfy { $0.json["shouldNotify"] as? Bool == false })
        let id = try #require(notices.first?.id)

        // A new client gets the current state without notifications. So does a client that reconnects and missed
        // none.
        for (number, lastID) in [nil, id].enumerated() {
            let late = try EventStream(client.server, "shows=notifications", lastID: lastID)
            let first = try #require(try await late.events { _ in true }.first)
            #expect(
                first.kind == "state" && first.json["shouldNotify"] as? Bool == false
                    && first.json["notificationId"] is NSNull)
            try await client.drink(10)
            let total = 20 + number * 10
            #expect(
                try await !late.events { $0.json["dailyTotalMl"] as? Int == total }.contains { $0.kind == "notify" })
        }
        // A client that missed one gets that one only, after the state.
        let missed = try EventStream(client.server, "shows=notifications", lastID: String((UInt64(id) ?? 1) - 1))
        #expect(try await beginning(of: missed, client, total: 40).map(\.kind) == ["state", "notify"])
        #expect(try await client.state()["shouldNotify"] as? Bool == false)
    }

    @Test(arguments: ["-5", "abc", "99999", "9000000000000", "9223372036854775808"])
    func `an unknown Last-Event-ID causes a gap event`(id: String) async throws {
        let client = try await CheckedDay().serve()
        let events = try await EventStream(client.server, "shows=notifications", lastID: id).events { $0.kind == "gap" }
        #expect(events.map(\.kind) == ["state", "gap"] && events[0].id == "0", "\(events)")
        #expect(events.last?.json["reason"] as? String == "unknown")
    }

    /// Notifications were sent while no page was open, also before a restart of the service. The client gets all of
    /// them in order, once, with their times.
    @Test func `a reconnecting client receives missed notifications`() async throws {
        let day = try CheckedDay()
        func delivered() throws -> [String] {
            try TrackerStore(path: day.path).deliveries(after: 0).map(\.decision.notificationId)
        }
        var first = ""
        try day.set("08:00")
        do {
            let client = try await day.serve()
            let page = try EventStream(client.server, "shows=notifications")
            first = try #require(try await page.events { $0.kind == "state" }.first?.id, "the first event has an id")
            await client.server.stop()
        }
        // No page is open, and another program sends notifications.
        for wall in ["08:00", "11:00"] {
            try day.set(wall)
            try await day.tracker().deliver([MemorySink("desktop")])
        }
        try day.set("11:20")
        let client = try await day.serve()
        let page = try EventStream(client.server, "shows=notifications", lastID: first)
        let missed = try await beginning(of: page, client, total: 10).filter { $0.kind == "notify" }
        try #require(missed.count == 2)
        #expect(try missed.map { $0.json["id"] as? String } == delivered())
        #expect(
            missed.map { $0.json["historical"] as? Bool } == [true, true]
                && missed.map { $0.json["at"] as? Int } == [1_781_510_400, 1_781_521_200])
        // The same with a query parameter for clients that cannot send the header. Notifications that another
        // program sends in that time arrive once.
        let half = try EventStream(client.server, "shows=notifications&after=\(try #require(missed.first?.id))")
        #expect(try await half.notices(1).map { $0.json["id"] as? String } == [delivered()[1]])
        try await client.drink(3000)
        try await day.tracker().deliver([MemorySink("desktop")])
        #expect(try await page.notices(3).map { $0.json["id"] as? String } == delivered() && delivered().count == 3)
        let silent = try EventStream(client.server, "", lastID: missed.last?.id)
        #expect(try await silent.notices(1).map { $0.json["id"] as? String } == [delivered()[2]])
    }

    /// Notifications from a private time stay private after sessions are shared, and all are private when sharing ends.
    @Test func `notifications of a session are not replayed when it was not shared`() async throws {
        let day = try CheckedDay()
        let store = try TrackerStore(path: day.path)
        func session(_ walls: (drink: String, water: String)) async throws -> [String] {
            let before = try store.deliveries(after: 0).last?.position ?? 0
            try day.set(walls.drink)
            _ = try day.tracker().drink()
            try await day.tracker().deliver([MemorySink("desktop")])
            try day.set(walls.water)
            _ = try day.tracker().water()
            try await day.tracker().deliver([MemorySink("desktop")])
            return try store.deliveries(after: before).filter(\.decision.kind.isWaterline).map(
                \.decision.notificationId)
        }
        try store.recordSharing(false)
        try day.set("20:00")
        _ = try day.tracker().startSession()
        let secret = try await session(("20:10", "20:15"))
        try store.recordSharing(true)
        let open = try await session(("20:30", "20:35"))
        try store.recordSharing(false)
        let secretAgain = try await session(("20:50", "20:55"))
        try #require(!secret.isEmpty && !open.isEmpty && !secretAgain.isEmpty)
        func replayed(shares: Bool, away: Bool) async throws -> [String] {
            let server = try await TestServer(store, sharesWaterline: shares, now: { day.now })
            let headers = try away ? server.token(.read) : [:]
            let stream = try EventStream(server, "shows=notifications", lastID: "0", headers: headers)
            _ = try await stream.events { $0.kind == "state" }
            let total = try day.tracker().logDrink(.ml(10)).state.pace.dailyTotalMl
            let events = try await stream.events { $0.kind == "state" && $0.json["dailyTotalMl"] as? Int == total }
            await server.stop()
            return events.filter { $0.kind == "notify" }.compactMap { $0.json["id"] as? String }.filter {
                $0.hasPrefix("waterline")
            }
        }
        #expect(try await replayed(shares: false, away: true) == [])
        #expect(try await replayed(shares: true, away: true) == [], "notifications from before sharing are not sent")
        #expect(
            try await replayed(shares: false, away: false) == secret + open + secretAgain,
            "a client on this machine receives all")
        // Notifications from the shared time are replayed.
        try store.recordSharing(true)
        let later = try await session(("21:10", "21:15"))
        try #require(!later.isEmpty)
        #expect(try await replayed(shares: true, away: true) == later)
    }

    @Test func `a client that reconnects too late receives a gap event`() async throws {
        let day = try CheckedDay(at: "08:00")
        try await day.tracker().deliver([MemorySink("desktop")])
        let client = try await day.serve()
        try await sqlite(day.path, "INSERT INTO counter (name, value) VALUES ('notification.forgotten', 1781510400000)")
        let late = try EventStream(client.server, "shows=notifications", lastID: "5")
        let all = try await beginning(of: late, client, total: 10)
        try #require(all.map(\.kind) == ["state", "gap", "notify"])
        #expect(all[1].json["reason"] as? String == "tooFarBehind" && all[1].json["lastEventId"] as? Int == 5)
    }

    /// A remote page without Waterline showed nothing, so the reminder does not count as shown.
    @Test func `a page without Waterline does not count as a viewer of it`() async throws {
        let day = try CheckedDay(at: "20:00")
        let client = try await day.serve()
        let away = try EventStream(client.server, "shows=notifications", headers: try client.server.token(.read))
        _ = try await away.events { $0.kind == "state" }
        _ = try await client.post("session")
        try day.set("20:10")
        _ = try await client.post("session/drink")
        try await client.deliver()
        let waterline = { try client.server.store.notifications().filter { $0.kind.hasPrefix("waterline") } }
        #expect(try waterline().isEmpty)
        let here = try await EventStream.opened(client.server, "shows=notifications")
        try await client.deliver()
        _ = try await here.events { $0.kind == "notify" && ($0.json["id"] as? String)?.hasPrefix("waterline") == true }
        #expect(try !waterline().isEmpty)
    }

    /// US-032: also each of its entries.
    @Test func `the session is in the stream from start to end`() async throws {
        let day = try CheckedDay(at: "20:00")
        let client = try await day.serve()
        let page = try await EventStream.opened(client.server)
        let id = try #require((try await client.post("session")["session"] as? [String: Any])?["id"] as? String)
        let started = try await page.events { $0.kind == "session" }.last
        #expect(started?.json["id"] as? String == id && started?.json["isActive"] as? Bool == true)
        try day.set("20:10")
        _ = try await client.post("session/drink")
        let drunk = try await page.events { $0.kind == "session" && ($0.json["logs"] as? [Any])?.count == 1 }.last
        #expect(drunk?.json["value"] as? Double == 1 && drunk?.json["sinceWater"] as? Int == 1)
        try day.set("20:20")
        _ = try await client.post("session/water")
        let watered = try await page.events { $0.kind == "session" && ($0.json["logs"] as? [Any])?.count == 2 }.last
        #expect(watered?.json["value"] as? Double == 0 && watered?.json["sinceWater"] as? Int == 0)
        _ = try await client.post("session/end")
        let ended = try await page.events { $0.kind == "session" && $0.json["isActive"] as? Bool == false }.last
        #expect((ended?.json["summary"] as? [String: Any])?["drinks"] as? Int == 1)
    }

    /// US-029: pages, widgets, and other programs on the store.
    @Test func `the end of a session reaches every client within two seconds`() async throws {
        let day = try CheckedDay(at: "20:00")
        let client = try await day.serve()
        _ = try await client.post("session")
        let pages = try (0..<3).map { _ in try EventStream(client.server, "fields=waterline") }
        for page in pages { _ = try await page.events { $0.json["waterline"] is [String: Any] } }
        let start = ContinuousClock.now
        _ = try await client.post("session/end", #"{"at": "now"}"#)
        for page in pages { _ = try await page.events { $0.kind == "state" && $0.json["waterline"] is NSNull } }
        #expect(try await client.state()["waterline"] is NSNull)
        #expect(try await client.picture("small.svg").contains("No Session"))
        #expect(try day.tracker().state().waterline == nil)
        let took = ContinuousClock.now - start
        #expect(try await took < client.shortly())
    }

    /// Tracker spec section 10.7: the file next to the store is always complete, owner-only, up to date within seconds,
    /// and deleted by a purge.
    @Test func `the state file is written atomically`() async throws {
        let client = try await CheckedDay().serve()
        let file = try #require(client.server.store.stateFile)
        let keeping = Task { await client.server.app.updateStateFile { Issue.record("\($0)") } }
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
        let bytes = Array(try await client.server.get("state").body.utf8)
        let isRead50Times = await eventually(within: 60) {
            try? client.server.store.writeStateFile(bytes)
            return reads.withLock { $0 } > 50
        }
        #expect(isRead50Times)
        for _ in 0..<5 { try await client.drink(100) }
        let hasTotal = await eventually(within: 60) {
            (try? JSONSerialization.jsonObject(with: FileManager.default.contents(atPath: file) ?? Data())
                as? [String: Any])?["dailyTotalMl"] as? Int == 500
        }
        #expect(hasTotal)
        isRead.withLock { $0 = true }
        await reader.value
        #expect(broken.withLock { $0 } == [])
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
        keeping.cancel()
        await keeping.value
        _ = try await client.post("purge", #"{"confirm": "purge"}"#)
        #expect(!FileManager.default.fileExists(atPath: file))
    }
}

/// The state and the event stream (tracker spec section 10, checks 9 and 10 of B9).
@Suite struct StateAndEventsTests {
    private let server: TestServer

    init() async throws { server = try await TestServer() }

    @Test(arguments: [
        ("history?day=2026-02-01&day=2026-02-02", "repeatedParameter"),
        ("history?day=2026-02-01&month=2026-02", "severalParameters"),
        ("history?week=2026-02-01&month=2026-02", "severalParameters"), ("history?dya=2026-02-01", "unknownParameter"),
        ("events?shows=everything", "unknownValue"), ("events?looks=yes", "unknownValue"),
        ("events?looks=no&looks=no", "repeatedParameter"), ("why?at=%25zz", "notATime"),
    ])
    func `an ambiguous query is rejected`(path: String, code: String) async throws {
        let answer = try await server.get("\(path)")
        #expect(answer.status == 422 && answer.code == code, "\(answer.status) \(answer.body)")
        #expect(try await server.get("why?at=12%3A30").status == 200)
    }

    @Test func `a request for an unchanged state gets status 304`() async throws {
        let tag = try #require(try await server.get("state").headers["etag"])
        let again = try await server.get("state", headers: ["If-None-Match": tag])
        #expect(again.status == 304 && again.body.isEmpty)
        _ = try await server.post("drinks", #"{"ml": 250}"#)
        #expect(try await server.get("state", headers: ["If-None-Match": tag]).status == 200)
    }

    /// A browser stores the headers of this response: with `no-store` it would delete the page.
    @Test func `the response for an unchanged page has the same cache rule`() async throws {
        let page = try await server.ask("GET", "/app.js")
        let again = try await server.ask("GET", "/app.js", headers: ["If-None-Match": page.headers["etag"] ?? ""])
        #expect(again.status == 304 && again.headers["cache-control"] == page.headers["cache-control"])
    }

    /// Tracker spec section 10.4: the connection to the bottle ends a minute after the last viewer disconnects.
    @Test func `a disconnected client is no longer a viewer`() async throws {
        let isVisible = Mutex<[ServiceClient.ViewerEvent]>([])
        let status = ServiceStatus(version: "0", lastPoll: TestServer.noon)
        let server = try await TestServer(
            service: .stub(status: status, reportViewer: { event in isVisible.withLock { $0.append(event) } }))
        for query in ["", "?looks=no"] {
            let client = try RawHTTP(port: server.port)
            client.send("GET /api/v1/events\(query) HTTP/1.1\r\nHost: localhost\r\n\(server.signedIn)\r\n")
            _ = try await client.read { $0.contains("event: state") }
        }
        #expect(
            await eventually(within: 10) { isVisible.withLock { $0 } == [.begins, .ends] },
            "\(isVisible.withLock { $0 })")
    }

    @Test func `an event stream with selected fields sends only these and their changes`() async throws {
        let total = try EventStream(server, "fields=dailyTotalMl,percent")
        let sessions = try EventStream(server, "fields=dailyTotalMl,session")
        #expect(
            try await total.events { $0.kind == "state" }.map(\.data) == [#"{"dailyTotalMl":0,"percent":0}"#])
        _ = try await sessions.events { $0.kind == "state" }
        _ = try await server.post("session")
        #expect(try await sessions.events { $0.kind == "session" }.allSatisfy { $0.kind != "notify" })
        _ = try await server.post("drinks", #"{"ml": 250}"#)
        // A session changes the state but not the total, so no event precedes the drink.
        let events = try await total.events { $0.json["dailyTotalMl"] as? Int == 250 }
        #expect(events.map(\.kind) == ["state", "state"], "\(events)")
    }

    /// A remote client must get neither an unchanged state nor a new ETag when a session entry is added.
    @Test func `session events are not sent to remote clients`() async throws {
        let away = try server.token(.read)
        let (near, far) = (try EventStream(server), try EventStream(server, headers: away))
        _ = try await near.events { $0.kind == "state" }
        // Also the first state of the stream.
        _ = try await server.post("drinks", #"{"ml": 100}"#)
        for stream in [near, far] { _ = try await stream.events { $0.json["dailyTotalMl"] as? Int == 100 } }
        far.forget()
        let before = try await server.get("state", headers: away)
        for path in ["session", "session/drink", "session/drink"] {
            near.forget()
            #expect(try await server.post("\(path)", "{}").status < 300)
            _ = try await near.events { $0.kind == "session" }
        }
        let after = try await server.get(
            "state", headers: away.merging(["If-None-Match": before.headers["etag"] ?? ""]) { $1 })
        #expect(after.status == 304, "\(after.body)")
        _ = try await server.post("drinks", #"{"ml": 250}"#)
        let events = try await far.events { $0.json["dailyTotalMl"] as? Int == 350 }
        #expect(events.count == 1, "\(events)")
    }

    @Test func `a client that never reads is disconnected`() async throws {
        let lazy = try RawHTTP(port: server.port)
        lazy.send("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\(server.signedIn)\r\n")
        let eager = try RawHTTP(port: server.port)
        eager.send("GET /api/v1/events?fields=drinkCount HTTP/1.1\r\nHost: localhost\r\n\(server.signedIn)\r\n")
        let token = try server.token(.log)
        for count in 1...40 {
            _ = try await server.post("drinks", #"{"ml": 10}"#, headers: token)
            _ = try await eager.read { $0.contains("\"drinkCount\":\(count)}") }
            eager.forget()
        }
        #expect(try await server.ask("GET", "/healthz").body == "ok\n")
    }

    @Test func `metrics are in Prometheus format`() async throws {
        _ = try await server.get("nothing")
        let text = try await server.ask("GET", "/metrics").body
        #expect(text.contains("waterh_http_responses_total{code=\"404\"} 1"))
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            #expect(line.wholeMatch(of: /[a-z_]+(\{[a-z]+="[^"]*"\})? [-0-9.e+]+/) != nil, "\(line)")
        }
    }
}
