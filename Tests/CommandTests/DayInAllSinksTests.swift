import DBusSupport
import Foundation
import Support
import Testing

/// A day and a night at speed, told to everybody at once: a notification server on a session bus, a broker, the event stream, a webhook. What each of them hears is
/// the same, in order and text, once each; and where all of it is killed at random, nobody hears anything in another order, in other words, or twice.
@Suite(.timeLimit(.minutes(8))) struct DayInAllSinksTests {
    /// One notification as somebody heard it.
    private struct Heard: Hashable, CustomStringConvertible {
        var id, title, body: String
        var description: String { "\(id): \(title) / \(body)" }
    }

    /// The hour of the day's begin, UTC. The host's clock is off by so much for the programs of ours (`Tests/System/clock_shift.c`).
    private static let begin = 1_781_506_800.0

    private final class Bench: @unchecked Sendable {
        let folder: TemporaryFolder
        let bus: PrivateBus
        let broker: Broker
        let hook: WebPeer
        let port: Int
        let store: String
        private let environment: [String: String]
        private let shift: String
        private(set) var now = DayInAllSinksTests.begin
        private var counter = 0
        /// Each desktop that there was, in their order.
        private(set) var desktops: [FakeNotificationServer] = []
        private(set) var streams: [RunningProgram] = []
        private(set) var service: RunningProgram?
        private(set) var agent: RunningProgram?
        let ear: RunningProgram
        /// The service has no desktop: an agent shows for it.
        let hasAgent: Bool

        init(hasAgent: Bool) async throws {
            self.hasAgent = hasAgent
            folder = try TemporaryFolder()
            (bus, broker, hook, port) = (try await PrivateBus(), try await Broker(), try await WebPeer(), try Broker.freePort())
            (store, shift) = (folder.file("s.sqlite"), folder.file("shift"))
            let library = folder.file("clock_shift.so")
            let gcc = try #require(Program(system: "gcc"), "this test needs gcc: apt-get install gcc libc6-dev")
            let built = try await gcc.run(["-shared", "-fPIC", "-O1", "-o", library, Program.repository + "/Tests/System/clock_shift.c", "-ldl"])
            #expect(built.exitCode == 0, "\(built.error)")
            environment = ["XDG_RUNTIME_DIR": folder.path, "TMPDIR": folder.path, "HOME": folder.path, "LD_PRELOAD": library, "CLOCK_SHIFT": shift, "SWIFT_BACKTRACE": "enable=no"]
            ear = try await broker.listen("hydration/notify", as: "ear")
            let config = """
                link = "unix:\(folder.file("none.sock"))"
                store = "\(store)"
                zone = "UTC"
                share-waterline = true
                [mqtt]
                url = "\(broker.url)"
                [webhook]
                url = "\(hook.url)/hook"
                """
            try Data(config.utf8).write(to: folder.url("waterh.toml"))
            try set(DayInAllSinksTests.begin)
            for line in ["settings set hydration.goalMl 2000 waterline.discreet false reminders.backOnTrack true", "token"] { try await tracker(line) }
        }

        /// The clock of our programs.
        private func set(_ time: Double) throws {
            now = time
            var seconds = Int64(time - Date().timeIntervalSince1970)
            let bytes = withUnsafeBytes(of: &seconds) { Data($0) }
            // In place: programs have it mapped.
            if FileManager.default.fileExists(atPath: shift) {
                let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: shift))
                try handle.write(contentsOf: bytes)
                try handle.close()
            } else {
                try bytes.write(to: URL(fileURLWithPath: shift))
            }
        }

        @discardableResult
        func tracker(_ line: String) async throws -> Program.Result {
            let result = try await Program("waterh-tracker").run(line.split(separator: " ").map(String.init) + ["--store", store, "--zone", "UTC"].prefix(line == "token" ? 2 : 4), environment: environment)
            #expect(result.exitCode == 0, "\(line): \(result.error)")
            return result
        }

        func startService() throws {
            service = try Program("waterh-gateway").start(
                ["run", "--config", folder.file("waterh.toml"), "--listen", "127.0.0.1:\(port)"], environment: environment.merging(["DBUS_SESSION_BUS_ADDRESS": hasAgent ? "" : bus.address]) { $1 })
        }

        func startAgent() throws {
            guard hasAgent else { return }
            agent = try Program("waterh-tracker").start(["agent", "--store", store], environment: environment.merging(["DBUS_SESSION_BUS_ADDRESS": bus.address]) { $1 })
        }

        func startDesktop() async throws { desktops.append(try await FakeNotificationServer(bus)) }

        /// One who looks: what comes again after a break is known by its number.
        func startStream() throws {
            let curl = try #require(Program(system: "curl"))
            streams.append(try curl.start(["-sN", "--noproxy", "*", "--retry", "1000", "--retry-delay", "1", "--retry-all-errors", "http://127.0.0.1:\(port)/api/v1/events?shows=notifications&looks=no"]))
        }

        func isReady() async throws {
            let limit = 60.0
            #expect(await event(within: limit) { service?.error.contains("MQTT: connected") == true && service?.error.contains("go to Webhook") == true ? true : nil } == true, "\(service?.error ?? "")")
            if hasAgent { #expect(await event(within: limit) { agent?.error.contains("Shows on this desktop") == true ? true : nil } == true, "\(agent?.error ?? "")") }
        }

        /// So many minutes pass, and whoever sleeps is woken: the store was written.
        func pass(minutes: Double) async throws {
            try set(now + minutes * 60)
            counter += 1
            _ = try await Program(path: "/usr/bin/sqlite3").run([store, "PRAGMA busy_timeout = 5000; INSERT OR REPLACE INTO counter (name, value) VALUES ('test', \(counter))"])
        }

        // MARK: - What was heard

        private func json(_ text: some StringProtocol) -> [String: Any] { (try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]) ?? [:] }

        /// The line of a running session changes all the time, and a surface may leave some of it out.
        private func isCounted(_ heard: Heard) -> Bool { !heard.id.hasPrefix("waterline-live") }

        func atDesktop() -> [Heard] {
            desktops.flatMap { $0.notified.items }.map { shown in
                let body = shown.body.replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&amp;", with: "&")
                return Heard(id: shown.hints["x-waterh-id"]?.text ?? "", title: shown.summary, body: body)
            }.filter(isCounted)
        }

        func atBroker() -> [Heard] {
            ear.payloads(at: "hydration/notify").map { json($0) }.map {
                Heard(id: $0["notificationId"] as? String ?? "", title: $0["title"] as? String ?? "", body: $0["body"] as? String ?? "")
            }.filter(isCounted)
        }

        func inStream() -> [Heard] {
            streams.flatMap { stream in
                stream.output.components(separatedBy: "\n\n").filter { $0.contains("event: notify") }.compactMap { block in
                    let data = json(block.split(separator: "\n").first { $0.hasPrefix("data:") }?.dropFirst(5) ?? "")
                    return Heard(id: data["notificationId"] as? String ?? data["id"] as? String ?? "", title: data["title"] as? String ?? "", body: data["body"] as? String ?? "")
                }
            }.filter(isCounted)
        }

        func atHook() async throws -> [Heard] {
            try await hook.seen().map { json($0.body)["data"] as? [String: Any] ?? [:] }.map {
                Heard(id: $0["id"] as? String ?? "", title: $0["title"] as? String ?? "", body: $0["body"] as? String ?? "")
            }.filter(isCounted)
        }

        func end() async throws {
            for stream in streams { stream.send(signal: SIGKILL) }
            agent?.send(signal: SIGTERM)
            service?.send(signal: SIGTERM)
            if let result = try await service?.finish(limit: 30) { #expect(result.exitCode == 0, "\(result.error)") }
            _ = try await agent?.finish(limit: 30)
        }

        enum Victim: CaseIterable { case desktop, service, agent, broker }

        /// Killed, and back at once or a few steps later.
        func kill(_ victim: Victim) async throws {
            switch victim {
            case .desktop:
                await desktops.last?.stop()
                try await startDesktop()
            case .service:
                service?.send(signal: SIGKILL)
                _ = try await service?.finish()
                streams.last?.send(signal: SIGKILL)
                try startService()
                try startStream()
            case .agent:
                agent?.send(signal: SIGKILL)
                _ = try await agent?.finish()
                try startAgent()
            case .broker:
                try await broker.stop()
                try await broker.start()
            }
        }
    }

    /// What is done at which minute after seven in the morning.
    private static let script: [Int: String] = [
        15: "log 150", 330: "log 300", 345: "log 500", 360: "log 400", 480: "log 250", 660: "log 400", 810: "session start", 815: "drink", 850: "drink", 900: "water", 960: "drink", 965: "drink",
        970: "drink", 1010: "water", 1050: "session end --yes",
    ]

    /// - Parameter pace: how long five minutes of that day are here.
    private func live(_ bench: Bench, pace: Duration, each step: (Int) async throws -> Void = { _ in }) async throws {
        for minute in stride(from: 0, through: 1080, by: 5) {
            if let line = Self.script[minute] { try await bench.tracker(line) }
            try await bench.pass(minutes: 5)
            try await step(minute)
            try await Task.sleep(for: pace)
        }
    }

    @Test func everySinkHearsTheSameDay() async throws {
        let bench = try await Bench(hasAgent: false)
        try await bench.startDesktop()
        try bench.startService()
        try bench.startStream()
        try await bench.isReady()
        let began = ContinuousClock.now
        try await live(bench, pace: .milliseconds(50))
        print("a day in \(ContinuousClock.now - began)")
        // Nothing more comes where all have the same.
        _ = try await event(within: 20) { try await Set([bench.atDesktop(), bench.atBroker(), bench.inStream(), bench.atHook()]).count == 1 ? true : nil }
        let told = bench.atDesktop()
        print(told.map { "  \($0)" }.joined(separator: "\n"))
        #expect(bench.atBroker() == told, "the broker")
        #expect(bench.inStream() == told, "the event stream")
        #expect(try await bench.atHook() == told, "the webhook")
        #expect(Set(told.map(\.id)).count == told.count, "once each")
        for kind in ["hydration-reminder", "hydration-back-on-track", "hydration-goal-reached", "waterline-per-drink", "waterline-time"] {
            #expect(told.contains { $0.id.hasPrefix(kind) }, "no \(kind)")
        }
        #expect(told.contains { $0.body.contains("falling behind") || $0.body.contains("catch up") }, "amber, red and catching up")
        try await bench.end()
    }

    /// A reminder is of the moment: who is away when it is told may miss it. Who hears it hears it as all others do. The webhook, for which it is noted before, misses none.
    @Test func underFireNobodyHearsAnotherDay() async throws {
        let seed = UInt64(ProcessInfo.processInfo.environment["DAY_SEED"] ?? "") ?? UInt64.random(in: 0...UInt64.max)
        print("DAY_SEED=\(seed)")
        var random = SeededGenerator(seed: seed)
        let bench = try await Bench(hasAgent: true)
        try await bench.startDesktop()
        try bench.startService()
        try bench.startStream()
        try bench.startAgent()
        try await bench.isReady()
        var killed: [String: Int] = [:]
        try await live(bench, pace: .milliseconds(250)) { _ in
            guard Int.random(in: 0..<10, using: &random) == 0, let victim = Bench.Victim.allCases.randomElement(using: &random) else { return }
            killed["\(victim)", default: 0] += 1
            try await bench.kill(victim)
        }
        try await bench.isReady()
        let tool = try #require(Program(system: "sqlite3"), "this test needs sqlite3: apt-get install sqlite3")
        func told() async throws -> [String] {
            try await tool.run([bench.store, "SELECT id FROM notification WHERE kind <> 'waterlineLive' AND id NOT LIKE 'waterline-live%' ORDER BY sentAt, rowid"]).lines.map(String.init)
        }
        let isThere: Bool? = try await event(within: 60) { try await Set(bench.atHook().map(\.id)).isSuperset(of: try await told()) ? true : nil }
        let (stored, hook) = (try await told(), unique(try await bench.atHook()))
        #expect(isThere == true, "the webhook missed \(Set(stored).subtracting(hook.map(\.id)).sorted()); \(killed)")
        print("under fire: \(hook.count) told, killed: \(killed)")
        for (name, heard) in [("desktop", bench.atDesktop()), ("broker", unique(bench.atBroker())), ("stream", unique(bench.inStream()))] {
            #expect(Set(heard).isSubset(of: hook), "\(name) heard what nobody told: \(heard.filter { !hook.contains($0) })")
            #expect(Set(heard.map(\.id)).count == heard.count, "\(name) heard twice: \(heard)")
            #expect(hook.filter(Set(heard).contains) == heard, "\(name) heard another order: \(heard)")
            #expect(!heard.isEmpty, "\(name)")
        }
        try await bench.end()
    }

    /// What is at least once: a repetition is known by its id.
    private func unique(_ heard: [Heard]) -> [Heard] {
        var seen: Set<String> = []
        return heard.filter { seen.insert($0.id).inserted }
    }
}
