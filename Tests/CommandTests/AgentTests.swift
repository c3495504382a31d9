import CommandSupport
import DBusSupport
import Foundation
import Support
import Testing

/// A service without a desktop session, and agents in the session that show its notifications.
@Suite(.timeLimit(.minutes(5))) struct AgentTests {
    private final class Bench {
        let folder: TemporaryFolder
        let bus: PrivateBus
        let store: String
        private let environment: [String: String]

        init() async throws {
            folder = try TemporaryFolder()
            bus = try await PrivateBus()
            store = folder.file("s.sqlite")
            environment = ["XDG_RUNTIME_DIR": folder.path, "TMPDIR": folder.path, "HOME": folder.path]
            // The other reminders depend on the time of day.
            try await tracker("settings set reminders.enabled false")
            try await tracker("settings set waterline.timeReminders false")
            // With `waterline.discreet`, a warning and a reminder have the same text and become one notification.
            try await tracker("settings set waterline.discreet false")
        }

        @discardableResult
        func tracker(_ line: String) async throws -> Program.Result {
            let result = try await Program("waterh-tracker").run(
                line.split(separator: " ").map(String.init) + ["--store", store], environment: environment)
            #expect(result.exitCode == 0, "\(line): \(result.error)")
            return result
        }

        /// - Parameter hasDesktop: whether the service has access to the session bus.
        func service(hasDesktop: Bool) throws -> RunningProgram {
            try Program("waterh-gateway").start(
                ["run", "--link", "unix:" + folder.file("b.sock"), "--store", store, "--listen", "127.0.0.1:0"],
                environment: environment.merging(["DBUS_SESSION_BUS_ADDRESS": hasDesktop ? bus.address : ""]) { $1 })
        }

        func agent(_ more: [String: String] = [:]) throws -> RunningProgram {
            try Program("waterh-tracker").start(
                ["agent", "--store", store],
                environment: environment.merging(["DBUS_SESSION_BUS_ADDRESS": bus.address]) { $1 }.merging(more) { $1 })
        }

        /// Runs concurrent `check` commands, as timers in the session start them.
        func checks(_ count: Int) async throws {
            let running = try (0..<count).map { _ in
                try Program("waterh-tracker").start(
                    ["check", "--store", store],
                    environment: environment.merging(["DBUS_SESSION_BUS_ADDRESS": bus.address]) { $1 })
            }
            for check in running {
                let result = try await check.finish(limit: 60)
                #expect(result.exitCode == 0, "\(result.error)")
            }
        }

        func session() async throws -> [[String: Any]] {
            let result = try await tracker("session show --json")
            let object = try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any]
            return try #require(object?["logs"] as? [[String: Any]])
        }

        func socket() throws -> String {
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            return folder.file(try #require(names.first { $0.hasPrefix("waterh-") && $0.hasSuffix(".sock") }))
        }

        /// Whether the store lists all of these as delivered to the desktop. It might list more: the notification of a
        /// running session is sent again after each change.
        func hasTold(_ shown: [String]) async throws -> Bool { try await Set(told()).isSuperset(of: shown) }

        /// The notifications that the store lists as delivered to the desktop.
        func told() async throws -> [String] {
            let tool = try #require(Program(system: "sqlite3"), "this test needs sqlite3: apt-get install sqlite3")
            return try await tool.run([store, "SELECT id FROM notification WHERE sinks LIKE '%desktop%' ORDER BY id"])
                .lines.map(String.init)
        }
    }

    @Test func `service, agents and timers deliver each notification once`() async throws {
        let bench = try await Bench()
        let server = try await FakeNotificationServer(bench.bus)
        let service = try bench.service(hasDesktop: false)
        let agents = try [bench.agent(), bench.agent()]
        for agent in agents {
            #expect(
                await event(within: 60) { agent.error.contains("Shows on this desktop") ? true : nil } == true,
                "\(agent.error) \(service.error)")
        }
        try await bench.tracker("session start")
        for drink in 1...3 {
            try await bench.tracker("drink")
            try await bench.checks(3)
            let words =
                drink == 1 ? "You've had 1 drink — time for water" : "You've had \(drink) drinks — time for water"
            #expect(
                await event(within: 60) { server.notified.items.contains { $0.summary == words } ? true : nil } == true,
                "\(server.notified.items.map(\.summary))")
        }
        try await bench.checks(2)
        let reminders = server.notified.items.map(\.summary).filter { $0.hasPrefix("You've had") }
        #expect(reminders.sorted() == Array(Set(reminders)).sorted(), "\(reminders)")
        #expect(reminders.count == 3, "\(reminders)")
        #expect(server.notified.items.map(\.summary).filter { $0.hasPrefix("Your Waterline is high") }.count <= 1)
        for program in agents + [service] {
            program.send(signal: SIGTERM)
            _ = try await program.finish()
        }
    }

    @Test func `an agent shows a notification and its buttons act`() async throws {
        let bench = try await Bench()
        let server = try await FakeNotificationServer(bench.bus)
        let service = try bench.service(hasDesktop: false)
        let agent = try bench.agent()
        #expect(
            await event(within: 60) { agent.error.contains("Shows on this desktop") ? true : nil } == true,
            "\(agent.error) \(service.error)")
        try await bench.tracker("session start")
        try await bench.tracker("drink")
        let shown = await server.notified.wait(for: 2, limit: 60)
        #expect(
            Set(shown.map(\.summary)) == ["Session running", "You've had 1 drink — time for water"],
            "\(agent.error) \(service.error)")
        let ids = shown.compactMap { $0.hints["x-waterh-id"]?.text }
        #expect(
            try await event(within: 100) { try await bench.hasTold(ids) ? true : nil } == true,
            "counted when it was shown")
        let state = try ServiceSocket(path: bench.socket()).get("/api/v1/state")
        #expect(String(decoding: state, as: UTF8.self).contains(#""notifications":"enabled""#))
        let reminder = try #require(shown.first { $0.summary.hasPrefix("You've had") })
        #expect(reminder.actions == ["log-water", "Log Water", "dismiss", "Dismiss"])
        try await server.press(reminder.number, "log-water")
        #expect(
            try await event(within: 30) { try await bench.session().count == 2 ? true : nil } == true, "\(agent.error)")
        // Queries the service on the session bus, through the agent.
        let bus = ["call", "org.waterh.Tracker", "/org/waterh/Tracker", "org.waterh.Tracker"]
        let drink = try await bench.bus.run("busctl", bus + ["LogDrink", "s", ""])
        #expect(drink.output.contains("isActive"), "\(drink.error) \(agent.error)")
        // The source of an action that an agent forwards is the notification, not HTTP.
        #expect(try await bench.session().compactMap { $0["source"] as? String } == ["cli", "notification", "dbus"])
        #expect(try await bench.bus.run("busctl", bus + ["GetState"]).output.contains("dailyTotalMl"))
        try await bench.tracker("session end --yes")
        #expect(
            await event(within: 30) { Set(server.closed.items).isSuperset(of: shown.map(\.number)) ? true : nil }
                == true, "\(server.closed.items)")
        agent.send(signal: SIGTERM)
        #expect(try await agent.finish().exitCode == 0)
        service.send(signal: SIGTERM)
        #expect(try await service.finish().exitCode == 0)
    }

    @Test func `an error of an agent has its code on D-Bus`() async throws {
        let bench = try await Bench()
        let service = try bench.service(hasDesktop: false)
        let agent = try bench.agent()
        func call(_ words: String...) async throws -> String {
            try await bench.bus.run(
                "dbus-send",
                ["--print-reply", "--dest=org.waterh.Tracker", "/org/waterh/Tracker", "org.waterh.Tracker." + words[0]]
                    + words.dropFirst()
            ).error
        }
        #expect(
            try await event(within: 60) {
                try await call("LogWater").contains("org.waterh.Error.noActiveSession: There is no active session")
                    ? true : nil
            } == true, "\(agent.error) \(service.error)")
        let long = try await call("LogDrink", "string:" + String(repeating: "x", count: 50_000))
        #expect(long.contains("org.waterh.Error.") && long.utf8.count < 1000, "\(long.prefix(2000))")
        service.send(signal: SIGTERM)
        _ = try await service.finish()
        let away = try await call("LogWater")
        #expect(
            away.contains("org.waterh.Error.noService: No service is running for this store")
                && !away.contains("waterh-gateway"), "\(away)")
        agent.send(signal: SIGTERM)
        _ = try await agent.finish()
    }

    @Test func `a notification counts only after a desktop has shown it`() async throws {
        let bench = try await Bench()
        let service = try bench.service(hasDesktop: false)
        let agent = try bench.agent()
        try await bench.tracker("session start")
        try await bench.tracker("drink")
        #expect(try await bench.told().isEmpty)
        let server = try await FakeNotificationServer(bench.bus)
        let shown = await server.notified.wait(for: 2, limit: 60)
        #expect(shown.count == 2, "\(agent.error) \(service.error)")
        let ids = shown.compactMap { $0.hints["x-waterh-id"]?.text }
        #expect(try await event(within: 100) { try await bench.hasTold(ids) ? true : nil } == true)
        agent.send(signal: SIGTERM)
        service.send(signal: SIGTERM)
    }

    /// Events between a button press and the restart of the service.
    enum Absence: CaseIterable { case quiet, agentIsKilled, clockIsSet }

    @Test(arguments: Absence.allCases)
    func `a button pressed while the service is down counts once`(_ absence: Absence) async throws {
        let bench = try await Bench()
        let server = try await FakeNotificationServer(bench.bus)
        let shift = absence == .clockIsSet ? try await ClockShift(in: bench.folder) : nil
        var service = try bench.service(hasDesktop: false)
        try shift?.set(seconds: -400 * 86400)
        var agent = try bench.agent(shift?.environment ?? [:])
        try await bench.tracker("session start")
        try await bench.tracker("drink")
        let shown = await server.notified.wait(for: 2, limit: 60)
        let reminder = try #require(shown.first { $0.summary.hasPrefix("You've had") })
        service.send(signal: SIGKILL)
        _ = try await service.finish()
        try await server.press(reminder.number, "log-water")
        #expect(
            await event(within: 30) { agent.error.contains("It is retried automatically") ? true : nil } == true,
            "\(agent.error)")
        #expect(try await bench.session().count == 1)
        if absence == .agentIsKilled {
            agent.send(signal: SIGKILL)
            _ = try await agent.finish()
            agent = try bench.agent()
        }
        try shift?.set(seconds: 0)
        service = try bench.service(hasDesktop: false)
        #expect(
            try await event(within: 60) { try await bench.session().count == 2 ? true : nil } == true, "\(agent.error)")
        agent.send(signal: SIGTERM)
        _ = try await agent.finish()
        #expect(try await bench.session().count == 2)
        service.send(signal: SIGTERM)
    }

    /// Service, agent and a second agent are killed at random times. Only a process that is killed after it shows a
    /// notification and before it stores the delivery causes a second one.
    @Test(arguments: [false, true]) func `each notification is delivered once when processes are killed`(
        serviceHasDesktop: Bool
    ) async throws {
        let seed = UInt64.random(in: 0..<1 << 32)
        print("agents killed at random: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let bench = try await Bench()
        let server = try await FakeNotificationServer(bench.bus)
        var programs = [try bench.service(hasDesktop: serviceHasDesktop), try bench.agent(), try bench.agent()]
        try await bench.tracker("session start")
        for _ in 0..<8 {
            try await bench.tracker("drink")
            let victim = Int.random(in: 0..<3, using: &random)
            try await Task.sleep(for: .milliseconds(Int.random(in: 0..<300, using: &random)))
            programs[victim].send(signal: SIGKILL)
            programs[victim] = victim == 0 ? try bench.service(hasDesktop: serviceHasDesktop) : try bench.agent()
        }
        // The claim of a killed process must expire before another process sends the last notification.
        let drinks = try await bench.session().count
        #expect(drinks == 8)
        func shown() -> [String] { server.notified.items.compactMap { $0.hints["x-waterh-id"]?.text } }
        var before = -1
        let end = try await event(within: 150) { () -> Bool? in
            let (told, count) = (try await bench.told(), shown().count)
            defer { before = count }
            return Set(told) == Set(shown()) && count == before
                && told.contains { $0.hasPrefix("waterline-per-drink/") } ? true : nil
        }
        let (ids, told) = (shown(), try await bench.told())
        #expect(end == true, "seed \(seed): shown \(ids), told \(told), \(programs.map(\.error))")
        #expect(Set(told).count == told.count && ids.count - Set(ids).count <= 2, "seed \(seed): shown \(ids)")
        programs.forEach { $0.send(signal: SIGTERM) }
    }
}
