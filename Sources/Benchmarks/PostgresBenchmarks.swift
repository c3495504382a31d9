import Foundation
import Logging
import PostgreSQL
import Store
import TrackerCore
import TrackerService

/// The transfers of `hardware/bench benchmarks postgres`.
enum PostgresBenchmarks {
    /// With `fleet`, the name of each role replaces ROLE in the URL.
    static let usage = "usage: Benchmarks postgres send STORE URL | postgres fleet GATEWAYS DRINKS URL"

    /// Runs a part of the benchmark, and prints the number of seconds.
    static func run(_ words: [String]) async throws -> Bool {
        switch (words.first, words.count) {
        case ("send", 3): try await send(try TrackerStore(path: words[1]), words[2])
        case ("fleet", 4):
            guard let gateways = Int(words[1]), let drinks = Int(words[2]) else { return false }
            try await fleet(gateways, drinks, words[3])
        default: return false
        }
        return true
    }

    private static func tracker(_ store: TrackerStore) -> TrackerAPI {
        TrackerAPI(
            store,
            WriteContext(
                now: Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)), zone: .utc, source: "benchmark",
                makeID: { UUID().uuidString.lowercased() }))
    }

    private static func publisher(_ store: TrackerStore, _ url: String) throws -> PostgresPublisher {
        PostgresPublisher(
            try PostgresPlan(url: url), tracker: { tracker(store) }, version: "benchmark",
            log: Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() })
    }

    private static func send(_ store: TrackerStore, _ url: String) async throws {
        let publisher = try publisher(store, url)
        let time = try await ContinuousClock().measure { try await publisher.send() }
        print(time / .seconds(1))
    }

    /// Gateways that drain a backlog of drinks, 32 at a time. They are known to the database.
    private static func fleet(_ count: Int, _ drinks: Int, _ url: String) async throws {
        let publishers = try (1...count).map { number in
            let store = try TrackerStore(inMemory: "UTC")
            let publisher = try publisher(store, url.replacing("ROLE", with: "gateway\(number)"))
            return (store, publisher)
        }
        try await concurrently(publishers.map(\.1)) { try await $0.send() }
        for (store, _) in publishers { try importDrinks(drinks, to: store) }
        let time = try await ContinuousClock().measure {
            try await concurrently(publishers.map(\.1)) { try await $0.send() }
        }
        print(time / .seconds(1))
    }

    private static func importDrinks(_ count: Int, to store: TrackerStore) throws {
        let tracker = tracker(store)
        let rows = (1...count).map { number in
            let at = tracker.now.advanced(seconds: -Double(number) * 7 * 86_400 / Double(count)).description
            return "\(at),\(at),\(100 + number),\(UUID().uuidString)\n"
        }
        let text = "startDate,endDate,value_ml,uuid\n" + rows.joined()
        _ = try tracker.importDrinks { feed in try Array(text.utf8).withUnsafeBytes { try feed($0) } }
    }

    private static func concurrently<Element: Sendable>(
        _ elements: [Element], _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, element) in elements.enumerated() {
                if index >= 32 { try await group.next() }
                group.addTask { try await body(element) }
            }
            try await group.waitForAll()
        }
    }
}
