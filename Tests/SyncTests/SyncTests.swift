import Foundation
import TrackerService
import Store
import Support
import Testing
import TrackerCore
import TrackerSupport

/// A real HTTP server in another process.
struct SyncServer {
    let program: RunningProgram
    let base: URL

    static func start(port: Int = 0) async throws -> SyncServer {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("server.py")
            .path
        let python = try #require(
            Program(system: "python3"), "these tests need python3; apt-get install python3-minimal")
        let program = try python.start([script, String(port)])
        let line = try await program.line { $0.hasPrefix("port ") }
        let found = try #require(Int(line.dropFirst(5)))
        return SyncServer(program: program, base: try #require(URL(string: "http://127.0.0.1:\(found)/sync")))
    }

    func control(_ path: String, body: String = "") async throws -> Data {
        let url = try #require(URL(string: path, relativeTo: base)).absoluteString
        let isGet = path.hasPrefix("/control/log") || path.hasPrefix("/control/seen") || path.hasPrefix("/control/rows")
        let request = isGet ? OutgoingRequest("GET", url) : OutgoingRequest("POST", url, body: Array(body.utf8))
        return Data(try await OutgoingClient().send(request).body)
    }

    func log() async throws -> [[String]] {
        try JSONDecoder().decode([[String]].self, from: try await control("/control/log"))
    }
}

/// A write at a time in seconds since 1970.
func context(_ seconds: Int64) -> WriteContext {
    .test(at: Instant(seconds: seconds))
}

@Suite struct SyncTests {
    let store: TrackerStore

    init() throws { store = try TrackerStore(inMemory: nil) }

    private func pass(_ client: SyncClient, at seconds: Int64) async throws -> SyncClient.Pass {
        try await client.pass(store, now: { Instant(seconds: seconds) }, zone: .utc)
    }

    /// Three entries in a session, for an address without a server at first.
    private func threeLogs(_ url: URL) throws -> [String] {
        try store.changeSettings([("sync.url", url.absoluteString)], context(1000))
        _ = try store.startSession(context(1000))
        return try (1...3).map { try store.addLog(.drink(), context(1000 + Int64($0))).id }
    }

    @Test func `without a server the outbox stays empty`() throws {
        _ = try store.startSession(context(1000))
        _ = try store.addLog(.drink(), context(1001))
        #expect(try store.outbox().items.isEmpty)
        #expect(try store.syncReport().status == .idle)
        // A new address gets all earlier entries.
        try store.changeSettings([("sync.url", "http://127.0.0.1:9")], context(1002))
        #expect(try store.outbox().items.map(\.operation) == [.createUser, .upsertSession, .addLogEntry])
    }

    /// Tracker spec E8: the server is the user's Waterline account. It gets only Waterline data, and only while it is
    /// configured.
    @Test func `only Waterline is synced, and only with an account`() async throws {
        let server = try await SyncServer.start()
        _ = try store.logDrink(ml: 250, context(999))
        _ = try store.startSession(context(1000))
        for second in 1001...1003 { _ = try store.addLog(.drink(), context(Int64(second))) }
        #expect(try SyncClient(store.settings()) == nil)
        try store.changeSettings([("sync.url", server.base.absoluteString)], context(1010))
        _ = try store.logDrink(ml: 300, context(1011))
        let client = try #require(try SyncClient(store.settings()))
        let pass = try await client.pass(store, now: { Instant(seconds: 1012) }, zone: .utc)
        #expect(pass.sent == 5 && pass.problem == nil)
        let rows = String(decoding: try await server.control("/control/rows"), as: UTF8.self)
        #expect(
            try await Set(server.log().compactMap(\.first)).isSubset(of: ["createUser", "upsertSession", "addLogEntry"]
            ), "\(rows)")
        // Without an account pending and later changes stay here.
        _ = try store.addLog(.drink(), context(1020))
        #expect(try store.outbox().items.count == 1)
        try store.changeSettings([("sync.url", "")], context(1021))
        _ = try store.addLog(.drink(), context(1022))
        #expect(try store.outbox().items.isEmpty && SyncClient(store.settings()) == nil)
        #expect(try await server.log().count == 5)
    }

    /// The old server gets nothing after the change, and the new one everything.
    @Test func `a change of the server during a pass sends everything to the new server`() async throws {
        let (old, new) = (try await SyncServer.start(), try await SyncServer.start())
        _ = try threeLogs(old.base)
        _ = try await SyncClient(base: old.base).pass(
            store,
            now: { [store] in
                _ = try? store.changeSettings([("sync.url", new.base.absoluteString)], context(1010))
                return Instant(seconds: 1010)
            }, zone: .utc)
        #expect(try await old.log().count == 1)
        #expect(try await pass(SyncClient(base: new.base), at: 1012).sent == 5)
    }

    /// E8, offline: 3 entries with the server down are 3 pending; server up: 0 pending, 3 received in order.
    @Test func `E8: offline changes are sent later in order`() async throws {
        var server = try await SyncServer.start()
        let port = try #require(server.base.port)
        server.program.send(signal: SIGKILL)
        _ = try await server.program.finish()
        let ids = try threeLogs(server.base)
        let client = SyncClient(base: server.base, timeoutSeconds: 5)
        let down = try await pass(client, at: 1010)
        #expect(down.status == .offline && down.sent == 0 && down.problem != nil)
        #expect(try store.outbox().items.filter { $0.operation == .addLogEntry }.map(\.entity.id) == ids)
        #expect(try store.activeSession(at: Instant(seconds: 1010))?.state.drinks == 3)

        server = try await SyncServer.start(port: port)
        let up = try await pass(client, at: 1012)
        #expect(up.status == .idle && up.sent == 5)
        #expect(try store.outbox().items.isEmpty)
        let log = try await server.log()
        #expect(log.filter { $0[0] == "addLogEntry" }.map { $0[1] } == ids)
        #expect(log.map { $0[0] }.prefix(2) == ["createUser", "upsertSession"])
    }

    /// E8: the server returns 500 once: retried, no duplicate.
    @Test func `E8: a failed change is retried`() async throws {
        let server = try await SyncServer.start()
        let ids = try threeLogs(server.base)
        let client = SyncClient(base: server.base)
        _ = try await server.control("/control/fail?status=500&times=1")
        #expect(try await pass(client, at: 1010).status == .offline)
        #expect(try await pass(client, at: 1011).status == .idle)
        #expect(try await server.log().filter { $0[0] == "addLogEntry" }.map { $0[1] } == ids)
        #expect(try await pass(client, at: 1012).sent == 0)
    }

    /// E8, US-003: each operation reaches the server, and each query gives another device of the user its data.
    @Test func `every operation survives a round trip`() async throws {
        let server = try await SyncServer.start()
        let client = SyncClient(base: server.base)
        #expect(try store.finishOnboarding(context(999)))
        let ids = try threeLogs(server.base)
        _ = try store.addLog(.water(oz: 12), context(1005))
        let stout = try store.addPreset(
            name: "Stout", drinkType: .beer, sizeOz: 16, abv: 6, estimate: 1.6, context(1006))
        _ = try await pass(client, at: 1010)
        try store.deleteLog(ids[1], context(1011))
        #expect(try await pass(client, at: 1012).status == .idle)
        let operations = try await server.log().map { $0[0] }
        #expect(
            Set(operations) == ["createUser", "upsertSession", "addLogEntry", "deleteLogEntry", "upsertDrinkPreset"])
        #expect(operations.count { $0 == "upsertDrinkPreset" } == 6 && operations.count { $0 == "addLogEntry" } == 4)

        let other = try TrackerStore(inMemory: nil)
        #expect(try other.finishOnboarding(context(1013)))
        try other.changeSettings([("sync.url", server.base.absoluteString)], context(1013))
        #expect(try await client.pass(other, now: { Instant(seconds: 1014) }, zone: .utc).merged.rejected == 0)
        let (here, there) = (
            try #require(try store.activeSession(at: Instant(seconds: 1015))),
            try #require(try other.activeSession(at: Instant(seconds: 1015)))
        )
        #expect(there.session.id == here.session.id && there.session.startTime == here.session.startTime)
        #expect(there.logs.map(\.id) == here.logs.map(\.id) && !there.logs.contains { $0.id == ids[1] })
        #expect(there.state == here.state && there.state.drinks == 2 && there.state.waters == 1)
        #expect(try Set(other.presets().map(\.id)).isSuperset(of: store.presets().map(\.id)))
        #expect(try other.preset(named: "stout")?.standardDrinkEstimate == stout.standardDrinkEstimate)
    }

    @Test func `a rejected change is sent again after its entity changes`() async throws {
        let server = try await SyncServer.start()
        _ = try threeLogs(server.base)
        let client = SyncClient(base: server.base)
        _ = try await server.control("/control/fail?status=422&times=2")
        let first = try await pass(client, at: 1010)
        #expect(first.rejected == 2 && first.sent == 3 && first.status == .error)
        #expect(try await pass(client, at: 2000).sent == 0)
        _ = try store.endSession(context(1020))
        #expect(try await pass(client, at: 2001).sent == 1, "the changed session is sent; the user stays rejected")
        try store.changeSettings([("sync.url", server.base.absoluteString)], context(2002))
        #expect(try await pass(client, at: 2002).status == .idle)
    }

    /// Another device's entry arrives; then the E8 vectors of the last write.
    @Test func `changes of other devices are merged by last write`() async throws {
        let server = try await SyncServer.start()
        let ids = try threeLogs(server.base)
        let client = SyncClient(base: server.base)
        _ = try await pass(client, at: 1010)
        let session = try #require(try store.activeSession(at: Instant(seconds: 1010))).session
        let row = """
            ["logEntry", {"id": "other", "sessionId": "\(session.id)", "timestamp": 1005000, "type": "water", \
            "amountOz": 8,
              "source": "phone", "deleted": 0, "updatedAt": 1005000, "deviceId": "phone"}]
            """
        _ = try await server.control("/control/put", body: row)
        #expect(try await pass(client, at: 1011).merged.applied == 1)
        let view = try #require(try store.activeSession(at: Instant(seconds: 1011)))
        #expect(view.state.waters == 1 && view.logs.contains { $0.source.rawValue == "phone" })
        #expect(try await pass(client, at: 1012).merged.applied == 0)

        func write(_ at: Int, _ device: String, _ estimate: Double, deleted: Bool) throws -> Bool {
            let json = """
                [{"id": "\(ids[0])", "sessionId": "\(session.id)", "timestamp": 1001000, "type": "alcohol", "source": \
                "cli",
                  "standardDrinkEstimate": \(estimate), "deleted": \(deleted), "updatedAt": \(at), "deviceId": \
                "\(device)"}]
                """
            return try store.merge(.logEntry, json: json, context(1013)).applied == 1
        }
        func estimate() throws -> Double? {
            try store.activeSession(at: Instant(seconds: 1013))?.logs.first { $0.id == ids[0] }?.standardDrinkEstimate
        }
        let base = 2_000_000
        #expect(try write(base + 12, "a", 2, deleted: false))
        #expect(try !write(base + 10, "b", 3, deleted: false))
        #expect(try estimate() == 2, "edits at t = 10 and 12 in either order: t = 12")
        #expect(try !write(base + 11, "b", 3, deleted: true), "delete t = 11 with edit t = 12: present")
        #expect(try write(base + 20, "b", 3, deleted: true))
        #expect(try !write(base + 19, "z", 4, deleted: false), "delete t = 20 with edit t = 19: deleted")
        #expect(try estimate() == nil)
        #expect(try write(base + 30, "a", 4, deleted: false) && write(base + 30, "b", 5, deleted: false))
        #expect(try !write(base + 30, "a", 6, deleted: false))
        #expect(try estimate() == 5, "equal t: the greater device id")
    }

    @Test(arguments: [
        "{}", "[1]", "not json", "[{\"id\": 5}]", "[{\"id\": \"x\", \"updatedAt\": 1, \"deviceId\": \"d\"}]",
    ])
    func `invalid responses change nothing`(json: String) throws {
        _ = try store.startSession(context(1000))
        for entity in RemoteEntity.allCases {
            if let outcome = try? store.merge(entity, json: json, context(1001)) { #expect(outcome.applied == 0) }
        }
        #expect(try store.presets().isEmpty)
    }

    @Test func `deleteUser sends the request to the sync server`() async throws {
        let server = try await SyncServer.start()
        _ = try threeLogs(server.base)
        let client = SyncClient(base: server.base)
        _ = try await pass(client, at: 1010)
        try await client.deleteUser(try #require(try store.profile()).userID)
        #expect(try await server.log().last?.first == "deleteUser")
    }
}
