import Foundation
import WebServer
import Logging
import Store
import TrackerCore
import TrackerService

/// A server over a real socket for as long as a test needs it.
struct ServedHousehold {
    let port: Int
    let store: TrackerStore
    let person: Person
    /// Anna's open pages, as her service's sink.
    let screen: EventSink

    /// - Parameters:
    ///   - store: where the day is kept; in memory where none is given.
    ///   - now: the machine's clock.
    ///   - passing: time as it passes, by which pairing codes are good.
    static func serve(
        _ store: TrackerStore? = nil, service: ServiceDoor? = nil,
        sharesWaterline: Bool = false, names: [String] = [], isBehindProxy: Bool = false,
        now: @escaping @Sendable () -> Instant = { noon }, passing: @escaping @Sendable () -> Instant = { noon },
        _ body: (ServedHousehold) async throws -> Void
    ) async throws {
        let store = try store ?? TrackerStore(inMemory: "Etc/UTC")
        let person = Person(name: "anna", service: service, sharesWaterline: { sharesWaterline }) {
            try TrackerDesk(store, now: now(), zone: ZoneChoice(named: "UTC", machine: .utc), source: "http")
        }
        let screen = EventSink()
        screen.show(to: person)
        var log = Logger(label: "test")
        log.logLevel = .critical
        let server = HTTPServer(
            person, names: { names }, isBehindProxy: isBehindProxy, log: log,
            random: { UInt32.random(in: 0...UInt32.max) }, passing: passing, addresses: { ["http://192.0.2.1:8077/"] })
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
        try await body(ServedHousehold(port: port, store: store, person: person, screen: screen))
        serving.cancel()
        _ = await serving.result
    }

    /// 2026-06-15, 12:00 UTC.
    static let noon = Instant(iso: "2026-06-15T12:00:00Z") ?? Instant(milliseconds: 0)

    /// A token with this scope.
    func token(_ scope: Scope) throws -> [String: String] {
        let token = "wt_test_\(UUID().uuidString)"
        let context = WriteContext(now: Self.noon, zone: .utc, source: "test", makeID: { UUID().uuidString })
        _ = try store.addToken(token, label: "test", scope: scope.rawValue, context)
        return ["Authorization": "Bearer \(token)"]
    }

    /// As a page of this machine asks.
    var page: [String: String] { ["Origin": "http://127.0.0.1:\(port)", "Sec-Fetch-Site": "same-origin"] }

    func ask(
        _ method: String, _ path: String, _ body: String? = nil, headers: [String: String] = [:], host: String? = nil
    ) async throws -> RawHTTP.Reply {
        try await RawHTTP.ask(port, method, path, body, headers: headers, host: host)
    }
}
