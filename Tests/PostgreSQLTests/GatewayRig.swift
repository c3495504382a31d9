import Foundation
import Store
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerService
import TrackerSupport

@testable import PostgreSQL

/// A database with the schema, for one test.
struct TestDatabase: Sendable {
    let server: PostgresServer
    let name: String

    init(on server: PostgresServer? = nil, hasSchema: Bool = true) async throws {
        if let server { self.server = server } else { self.server = try await PostgresServer.shared.value }
        name = Self.unusedName()
        try await self.server.run("CREATE DATABASE \(name)")
        if hasSchema { try await PostgresSchema.install(plan) }
    }

    /// Roles belong to the whole server.
    static func unusedName() -> String { "t\(UUID().uuidString.prefix(8).lowercased())" }

    var plan: PostgresPlan { get throws { try PostgresPlan(url: server.url(name)) } }

    @discardableResult
    func run(_ script: String) async throws -> [[String?]] { try await server.run(script, in: name) }

    func value(_ query: String) async throws -> String? { try await run(query).first?.first ?? nil }

    /// Creates a role for a viewer, and connects as it.
    func viewer() async throws -> PostgresConnection {
        let (name, connection) = (Self.unusedName(), PostgresConnection())
        let password = try await PostgresSchema.addViewer(name, plan)
        try await connection.open(PostgresPlan(url: server.url(self.name, role: name, password: password)))
        return connection
    }

    /// Creates a role for a gateway.
    func gateway(_ name: String = unusedName(), person: String? = nil) async throws -> PostgresPlan {
        let password = try await PostgresSchema.addGateway(name, person: person, plan)
        return try PostgresPlan(url: server.url(self.name, role: name, password: password))
    }
}

/// A store and its publisher.
final class GatewayRig: Sendable {
    let store: TrackerStore
    let role: String
    let publisher: PostgresPublisher
    let folder: TemporaryFolder
    let log = LogLines()
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// - Parameter store: a store that exists; `nil` creates one.
    init(_ plan: PostgresPlan, store: TrackerStore? = nil) throws {
        folder = try TemporaryFolder()
        let store = try store ?? TrackerStore(path: folder.file("w.sqlite"))
        self.store = store
        role = String(plan.url.split(separator: ":")[1].dropFirst(2))
        publisher = PostgresPublisher(
            plan, tracker: { TrackerAPI(store, .test(at: .current)) }, version: "test", watch: StoreWatch(store.path),
            log: log.logger,
            randomFraction: { 0 })
        publisher.prepare()
    }

    var tracker: TrackerAPI { TrackerAPI(store, .test(at: .current)) }

    /// Logs drinks on the days before today.
    @discardableResult
    func drink(_ count: Int, every hours: Double = 5) throws -> [String] {
        try (1...count).map { number in
            try tracker.logDrink(
                .ml(100 + number), at: Instant.current.advanced(seconds: -Double(number) * hours * 3600)
            )
            .drink.drink.key
        }
    }

    func start() { task.withLock { $0 = Task { await publisher.run() } } }

    func stop() async {
        let running = task.withLock { $0 }
        running?.cancel()
        await running?.value
    }

    /// The days of the store: date, sum and number of drinks.
    func days() throws -> [[String?]] {
        let range = (LocalDay(daysSince1970: -30_000), LocalDay(daysSince1970: 60_000))
        return try store.totals(from: range.0, through: range.1).map { ["\($0.day)", "\($0.totalMl)", "\($0.count)"] }
    }

    /// The same days of the database.
    func days(in database: TestDatabase) async throws -> [[String?]] {
        try await database.run(
            "SELECT day, ml, drinks FROM waterh.days WHERE person = '\(role)' AND drinks > 0 ORDER BY day")
    }

    /// Waits until the database has the days of the store.
    func isComplete(in database: TestDatabase) async throws -> Bool {
        try await eventually(within: 60) { (try? await self.days(in: database)) == (try self.days()) }
    }

    /// Waits for an error in the status of the store, and returns it.
    func problem() async throws -> String {
        try await event(within: 60) { try self.store.publisherErrors().first?.message } ?? "none"
    }
}
