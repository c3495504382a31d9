import Foundation
import Store
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerService

/// 15 June 2026 in a store of its own, with a clock that the test sets, as seen over HTTP.
final class CheckedDay: Sendable {
    let folder: TemporaryFolder
    private let clock: Mutex<Instant>

    init() throws {
        folder = try TemporaryFolder()
        clock = Mutex(ServedHousehold.noon)
    }

    var path: String { folder.file("waterh.sqlite") }
    var now: Instant { clock.withLock { $0 } }

    /// Sets the clock: `14:00` or `14:02:30`.
    func set(_ time: String) throws {
        let instant = try #require(Instant(iso: "2026-06-15T\(time.count == 5 ? time + ":00" : time)Z"), "\(time)")
        clock.withLock { $0 = instant }
    }

    /// Opens the store as another process does.
    func desk(_ store: TrackerStore? = nil) throws -> TrackerDesk {
        try TrackerDesk(
            store ?? TrackerStore(path: path), now: now, zone: ZoneChoice(named: "UTC", machine: .utc), source: "test")
    }

    /// Runs a service for the duration of the body.
    func served(_ body: (WebRequestContext) async throws -> Void) async throws {
        try await ServedHousehold.serve(TrackerStore(path: path), now: { self.now }) { house in
            try await body(WebRequestContext(house: house, day: self))
        }
    }

    /// A client of the service.
    struct WebRequestContext {
        let house: ServedHousehold
        let day: CheckedDay

        /// Logs drinks over HTTP, in valid amounts.
        @discardableResult
        func drink(_ ml: Int) async throws -> [String: Any] {
            var (rest, last) = (ml, [String: Any]())
            while rest > 0 {
                let reply = try await house.ask(
                    "POST", "/api/v1/drinks", #"{"ml": \#(min(rest, 2000))}"#, headers: house.page)
                try #require(reply.status == 201, "\(reply.body)")
                last = reply.json["state"] as? [String: Any] ?? [:]
                rest -= min(rest, 2000)
            }
            return last
        }

        func set(_ name: String, _ value: String) async throws {
            let reply = try await house.ask("PATCH", "/api/v1/settings", "{\"\(name)\": \(value)}", headers: house.page)
            try #require(reply.status == 200, "\(reply.body)")
        }

        func post(_ path: String, _ body: String = "{}") async throws -> [String: Any] {
            let reply = try await house.ask("POST", "/api/v1/\(path)", body, headers: house.page)
            try #require(reply.status < 300, "\(path): \(reply.body)")
            return reply.json
        }

        /// Two seconds, plus the response time of a simple request on a busy machine.
        func shortly() async throws -> Duration {
            let start = ContinuousClock.now
            _ = try await house.ask("GET", "/healthz")
            return .seconds(2) + (ContinuousClock.now - start) * 20
        }

        func state() async throws -> [String: Any] { try await house.ask("GET", "/api/v1/state").json }

        func text(_ key: String) async throws -> String? { try await state()[key] as? String }

        func picture(_ name: String) async throws -> String { try await house.ask("GET", "/widget/\(name)").body }

        /// Sends due notifications to the open pages and these channels.
        @discardableResult
        func tell(_ sinks: any NotificationSink...) async throws -> [TrackerNotification] {
            try await day.desk(house.store).tell(sinks + [house.screen]).notifications.map(\.notification)
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
            #expect(try house.store.append([entry]) == [.stored])
        }
    }
}
