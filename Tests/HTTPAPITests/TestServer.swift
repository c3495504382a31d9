import Foundation
import Logging
import Store
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerService
import TrackerSupport
import WebServer

/// A server over a real socket. It ends with its owner.
final class TestServer: Sendable {
    let port: Int
    let store: TrackerStore
    let app: WebApp
    /// The sink for the user's open pages.
    let screen = PageSink()
    /// The cookie of an administrator's browser.
    let cookie: String
    private let serving: Task<Void, any Error>

    /// - Parameters:
    ///   - store: the store; in memory by default.
    ///   - now: the machine's clock.
    init(
        _ store: TrackerStore? = nil, service: ServiceClient? = nil, sharesWaterline: Bool = false,
        log: Logger = .silent, now: @escaping @Sendable () -> Instant = { noon }
    ) async throws {
        let store = try store ?? TrackerStore(inMemory: "Etc/UTC")
        let app = WebApp(name: "anna", service: service, sharesWaterline: { sharesWaterline }) {
            try TrackerAPI(store, now: now(), zone: ZoneChoice(named: "UTC", machine: .utc), source: "http")
        }
        screen.setApp(app)
        let server = HTTPServer(
            app, log: log, uptime: { Self.noon },
            addresses: { PageAddresses(local: "http://127.0.0.1:8077/", others: ["http://192.0.2.1:8077/"]) })
        let (ready, deliver) = AsyncStream.makeStream(of: Int.self)
        let serving = Task {
            defer { deliver.finish() }
            try await server.run(on: .tcp(host: "127.0.0.1", port: 0)) { deliver.yield($0 ?? 0) }
        }
        (self.store, self.app, self.serving) = (store, app, serving)
        var ports = ready.makeAsyncIterator()
        guard let port = await ports.next() else {
            try await serving.value
            throw RawHTTP.Failed(description: "the server did not begin")
        }
        self.port = port
        cookie = "waterh=\(try app.tracker().makeToken(label: "owner", scope: .admin).token)"
    }

    deinit { serving.cancel() }

    /// Ends the server, and waits for its end.
    func stop() async {
        serving.cancel()
        _ = await serving.result
    }

    /// 2026-06-15, 12:00 UTC.
    static let noon = Instant(iso: "2026-06-15T12:00:00Z") ?? Instant(milliseconds: 0)

    func token(_ scope: Scope) throws -> [String: String] {
        let token = "wt_test_\(UUID().uuidString)"
        _ = try store.addToken(token, label: "test", scope: scope.rawValue, .noon)
        return ["Authorization": "Bearer \(token)"]
    }

    /// The headers of the page in an administrator's browser.
    var page: [String: String] {
        ["Origin": "http://127.0.0.1:\(port)", "Sec-Fetch-Site": "same-origin", "Cookie": cookie]
    }

    /// The same cookie as a raw header line.
    var signedIn: String { "Cookie: \(cookie)\r\n" }

    /// Sends a request as the administrator, if the headers have no credential.
    func ask(
        _ method: String, _ path: String, _ body: String? = nil, headers: [String: String] = [:], host: String? = nil
    ) async throws -> RawHTTP.Reply {
        let hasOwn = headers["Authorization"]?.hasPrefix("Bearer") == true || headers["Cookie"] != nil
        return try await askUnsigned(
            method, path, body, headers: hasOwn ? headers : headers.merging(["Cookie": cookie]) { $1 }, host: host)
    }

    /// Requests to the API as the administrator, if the headers have no credential.
    func get(_ path: String, headers: [String: String] = [:]) async throws -> RawHTTP.Reply {
        try await ask("GET", "/api/v1/" + path, headers: headers)
    }

    func post(_ path: String, _ body: String? = nil, headers: [String: String] = [:]) async throws -> RawHTTP.Reply {
        try await ask("POST", "/api/v1/" + path, body, headers: headers)
    }

    func patch(_ path: String, _ body: String, headers: [String: String] = [:]) async throws -> RawHTTP.Reply {
        try await ask("PATCH", "/api/v1/" + path, body, headers: headers)
    }

    func delete(_ path: String, _ body: String? = nil, headers: [String: String] = [:]) async throws -> RawHTTP.Reply {
        try await ask("DELETE", "/api/v1/" + path, body, headers: headers)
    }

    /// Today's total as the administrator reads it.
    func total() async throws -> Int? { try await get("state").json["dailyTotalMl"] as? Int }

    /// Sends a request with these headers only.
    func askUnsigned(
        _ method: String, _ path: String, _ body: String? = nil, headers: [String: String] = [:], host: String? = nil
    ) async throws -> RawHTTP.Reply { try await RawHTTP.ask(port, method, path, body, headers: headers, host: host) }
}

extension ServiceClient {
    /// A service that only does what a test gives it.
    static func stub(
        status: ServiceStatus = ServiceStatus(version: "test"), pollNow: @escaping @Sendable () -> Void = {},
        recentPolls: [PollLine] = [], send: @escaping @Sendable ([String]) async throws -> String = { _ in "" },
        reportViewer: @escaping @Sendable (ViewerEvent) -> Void = { _ in }
    ) -> ServiceClient {
        ServiceClient(
            status: { status }, pollNow: pollNow, recentPolls: { recentPolls }, send: send, reportViewer: reportViewer)
    }
}

extension WriteContext {
    /// The context of a write at noon.
    static var noon: WriteContext {
        WriteContext(now: TestServer.noon, zone: .utc, source: "test", makeID: { UUID().uuidString })
    }
}

/// 15 June 2026 in a store of its own, with a clock that the test sets, as seen over HTTP.
final class CheckedDay: Sendable {
    let folder: TemporaryFolder
    private let clock: Mutex<Instant>

    init(at time: String = "12:00") throws {
        folder = try TemporaryFolder()
        clock = Mutex(TestServer.noon)
        try set(time)
    }

    var path: String { folder.file("waterh.sqlite") }
    var now: Instant { clock.withLock { $0 } }

    /// Sets the clock: `14:00` or `14:02:30`.
    func set(_ time: String) throws {
        let instant = try #require(Instant(iso: "2026-06-15T\(time.count == 5 ? time + ":00" : time)Z"), "\(time)")
        clock.withLock { $0 = instant }
    }

    /// Opens the store as another process does.
    func tracker(_ store: TrackerStore? = nil) throws -> TrackerAPI {
        try TrackerAPI(
            store ?? TrackerStore(path: path), now: now, zone: ZoneChoice(named: "UTC", machine: .utc), source: "test")
    }

    /// Starts a service, which ends with the returned context.
    func serve() async throws -> DayClient {
        DayClient(server: try await TestServer(TrackerStore(path: path), now: { self.now }), day: self)
    }

    /// A client of the service.
    struct DayClient {
        let server: TestServer
        let day: CheckedDay

        /// Logs drinks over HTTP, in valid amounts.
        @discardableResult
        func drink(_ ml: Int) async throws -> [String: Any] {
            var (rest, last) = (ml, [String: Any]())
            while rest > 0 {
                let reply = try await server.ask(
                    "POST", "/api/v1/drinks", #"{"ml": \#(min(rest, 2000))}"#, headers: server.page)
                try #require(reply.status == 201, "\(reply.body)")
                last = reply.json["state"] as? [String: Any] ?? [:]
                rest -= min(rest, 2000)
            }
            return last
        }

        func post(_ path: String, _ body: String = "{}") async throws -> [String: Any] {
            let reply = try await server.post(path, body)
            try #require(reply.status < 300, "\(path): \(reply.body)")
            return reply.json
        }

        /// Two seconds, plus the response time of a simple request on a busy machine.
        func shortly() async throws -> Duration {
            let start = ContinuousClock.now
            _ = try await server.ask("GET", "/healthz")
            return .seconds(2) + (ContinuousClock.now - start) * 20
        }

        func state() async throws -> [String: Any] { try await server.get("state").json }

        func picture(_ name: String) async throws -> String { try await server.ask("GET", "/widget/\(name)").body }

        /// Sends due notifications to the open pages and these channels.
        @discardableResult
        func deliver(_ sinks: any NotificationSink...) async throws -> [TrackerNotification] {
            try await day.tracker(server.store).deliver(sinks + [server.screen]).notifications.map(\.notification)
        }

        /// Adds a drink from a poll, with the bottle's time.
        func bottleDrink(_ time: String, _ ml: Int) throws {
            let (wall, at) = (
                try #require(WallTime("2026-06-15T\(time):00")), try #require(Instant(iso: "2026-06-15T\(time):00Z"))
            )
            let raw: [UInt8] = [
                0x1A, 6, 15, UInt8(wall.hour), UInt8(wall.minute), 0, UInt8(ml >> 8), UInt8(ml & 255), 0, 0, 1, 0x61, 0,
            ]
            let entry = JournalEntry(
                bottle: "b1", raw: raw, wall: wall, amountMl: ml, received: day.now,
                verdict: .drink(at: at, zone: "UTC"))
            #expect(try server.store.append([entry]) == [.stored])
        }
    }
}
