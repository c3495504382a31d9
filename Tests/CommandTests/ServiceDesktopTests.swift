import CommandSupport
import DBusSupport
import Foundation
import Support
import Testing

@Suite(.timeLimit(.minutes(3))) struct ServiceDesktopTests {
    /// A service without a bottle, on a session bus of its own, queried over its socket.
    private struct Served {
        let folder: TemporaryFolder
        let bus: PrivateBus
        let environment: [String: String]
        let store: String

        init() async throws {
            folder = try TemporaryFolder()
            bus = try await PrivateBus()
            store = folder.file("s.sqlite")
            environment = [
                "XDG_RUNTIME_DIR": folder.path, "TMPDIR": folder.path, "HOME": folder.path,
                "DBUS_SESSION_BUS_ADDRESS": bus.address,
            ]
            // The other reminders depend on the time of day.
            _ = try await Program("waterh-tracker").run(
                ["settings", "set", "reminders.enabled", "false", "--store", store], environment: environment)
        }

        func start() async throws -> RunningProgram {
            let service = try Program("waterh-gateway").start(
                [
                    "run", "--link", "unix:" + folder.file("b.sock"), "--store", store, "--listen", "127.0.0.1:0",
                    "--verbose",
                ], environment: environment)
            let isThere = await event(within: 60) {
                service.error.contains("The page is at unix:") && service.error.contains("The page is at http:")
                    ? true : nil
            }
            #expect(isThere == true, "\(service.error)")
            return service
        }

        func post(_ target: String, _ body: JSONValue = [:]) async throws {
            let socket = try #require(
                FileManager.default.contentsOfDirectory(atPath: folder.path).first {
                    $0.hasPrefix("waterh-") && $0.hasSuffix(".sock")
                })
            _ = try ServiceSocket(path: folder.file(socket)).post("/api/v1/" + target, body)
        }

        func session() async throws -> [String: Any] {
            let result = try await Program("waterh-tracker").run(
                ["session", "show", "--store", store, "--json"], environment: environment)
            return try #require(
                try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any], "\(result.error)")
        }
    }

    @Test func `a notification button acts once`() async throws {
        let served = try await Served()
        let server = try await FakeNotificationServer(served.bus)
        let service = try await served.start()
        try await served.post("session")
        try await served.post("session/drink")
        let shown = await server.notified.wait(for: 3)
        #expect(Set(shown.map(\.summary)) == ["Session running", "Time for a break"], "\(shown) \(service.error)")
        let reminder = try #require(shown.first { $0.actions.contains("log-water") && $0.actions.contains("dismiss") })
        #expect(service.error.contains("Shown on the desktop: waterline-per-drink (waterline-per-drink/"))
        try await server.press(reminder.number, "log-water")
        #expect(
            try await event { try await served.session()["logs"].flatMap { $0 as? [Any] }?.count == 2 ? true : nil }
                == true, "\(service.error)")
        #expect(
            try await served.session()["logs"].flatMap { $0 as? [[String: Any]] }?.last?["source"] as? String
                == "notification")
        #expect(
            service.error.contains("Pressed on the desktop: log-water of waterline-per-drink (waterline-per-drink/"))
        // The end of the session closes its notifications.
        try await served.post("session/end", ["at": "now"])
        let numbers = Set(shown.map(\.number))
        #expect(
            await event { Set(server.closed.items).isSuperset(of: numbers) ? true : nil } == true,
            "\(server.closed.items) of \(numbers)")
        #expect(try await service.stop(limit: 60).exitCode == 0)
    }

    /// The store is locked when a button is pressed, and the notification is closed. The action runs when the lock is
    /// released, also in the next service.
    @Test(arguments: [false, true]) func `a button pressed while the store is locked acts afterwards`(isKilled: Bool)
        async throws
    {
        let served = try await Served()
        let server = try await FakeNotificationServer(served.bus)
        var service = try await served.start()
        try await served.post("session")
        try await served.post("session/drink")
        let shown = await server.notified.wait(for: 2, limit: 60)
        let reminder = try #require(
            shown.first { $0.actions.contains("log-water") && $0.actions.contains("dismiss") },
            "\(shown) \(service.error)")
        let hold =
            """
            import signal, sqlite3, sys; c = sqlite3.connect(sys.argv[1], 30, isolation_level=None); \
            c.execute('BEGIN IMMEDIATE'); print('held', flush=True); signal.pause()
            """
        let holder = try #require(Program(system: "python3")).start(["-c", hold, served.store])
        _ = try await holder.line { $0 == "held" }
        try await server.press(reminder.number, "log-water")
        #expect(
            await event(within: 60) { service.error.contains("It is retried automatically.") ? true : nil } == true,
            "\(service.error)")
        if isKilled {
            try await service.stop(SIGKILL, limit: 60)
        }
        try await holder.stop(SIGKILL, limit: 60)
        if isKilled { service = try await served.start() }
        #expect(
            try await event(within: 60) {
                try await served.session()["logs"].flatMap { $0 as? [Any] }?.count == 2 ? true : nil
            } == true, "\(service.error)")
        #expect(try await service.stop(limit: 60).exitCode == 0)
        #expect(try await served.session()["logs"].flatMap { $0 as? [Any] }?.count == 2)
    }

    @Test func `a notification server that starts later receives notifications`() async throws {
        let served = try await Served()
        let service = try await served.start()
        defer { service.send(signal: SIGTERM) }
        try await served.post("session")
        try await served.post("session/drink")
        let server = try await FakeNotificationServer(served.bus)
        let shown = await server.notified.wait(for: 2)
        #expect(Set(shown.map(\.summary)) == ["Session running", "Time for a break"], "\(service.error)")
    }
}
