import Foundation
import WebServer
import Logging
import Store
import Synchronization
import TrackerCore
import TrackerService

/// A server over a real socket.
struct ServedHousehold {
    let port: Int
    let store: TrackerStore
    let person: Person
    /// The sink for the user's open pages.
    let screen: EventSink
    /// The cookie of an administrator's browser.
    let cookie: String

    /// - Parameters:
    ///   - store: the store; in memory by default.
    ///   - now: the machine's clock.
    ///   - uptime: the clock of access codes.
    static func serve(
        _ store: TrackerStore? = nil, service: ServiceClient? = nil,
        sharesWaterline: Bool = false, log: Logger = .silent,
        now: @escaping @Sendable () -> Instant = { noon }, uptime: @escaping @Sendable () -> Instant = { noon },
        _ body: (ServedHousehold) async throws -> Void
    ) async throws {
        let store = try store ?? TrackerStore(inMemory: "Etc/UTC")
        let person = Person(name: "anna", service: service, sharesWaterline: { sharesWaterline }) {
            try TrackerDesk(store, now: now(), zone: ZoneChoice(named: "UTC", machine: .utc), source: "http")
        }
        let screen = EventSink()
        screen.show(to: person)
        let server = HTTPServer(
            person, log: log, uptime: uptime,
            addresses: { PageAddresses(local: "http://127.0.0.1:8077/", others: ["http://192.0.2.1:8077/"]) })
        let (ready, tell) = AsyncStream.makeStream(of: Int.self)
        let serving = Task {
            try await server.run(on: .tcp(host: "127.0.0.1", port: 0)) { tell.yield($0 ?? 0) }
            tell.finish()
        }
        defer { serving.cancel() }
        var ports = ready.makeAsyncIterator()
        guard let port = await ports.next() else {
            try await serving.value
            throw RawHTTP.Failed(description: "the server did not begin")
        }
        let token = try person.desk().makeToken(label: "owner", scope: .admin).token
        try await body(
            ServedHousehold(port: port, store: store, person: person, screen: screen, cookie: "waterh=\(token)"))
        serving.cancel()
        _ = await serving.result
    }

    /// 2026-06-15, 12:00 UTC.
    static let noon = Instant(iso: "2026-06-15T12:00:00Z") ?? Instant(milliseconds: 0)

    func token(_ scope: Scope) throws -> [String: String] {
        let token = "wt_test_\(UUID().uuidString)"
        let context = WriteContext(now: Self.noon, zone: .utc, source: "test", makeID: { UUID().uuidString })
        _ = try store.addToken(token, label: "test", scope: scope.rawValue, context)
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

    /// Sends a request with these headers only.
    func askUnsigned(
        _ method: String, _ path: String, _ body: String? = nil, headers: [String: String] = [:], host: String? = nil
    ) async throws -> RawHTTP.Reply {
        try await RawHTTP.ask(port, method, path, body, headers: headers, host: host)
    }
}

extension Logger {
    static var silent: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}

final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }
    var logger: Logger { Logger(label: "test") { _ in Lines(to: self) } }

    private struct Lines: LogHandler {
        let to: LogLines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }
        func log(event: LogEvent) { to.lines.withLock { $0.append("\(event.message)") } }
    }
}
