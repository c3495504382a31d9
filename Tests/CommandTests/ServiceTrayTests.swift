import CommandKit
import DBusSupport
import Foundation
import Support
import Testing

/// The real service, or the agent for it, as an icon among the session's status items.
@Suite(.timeLimit(.minutes(4))) struct ServiceTrayTests {
    private struct Served {
        let folder: TemporaryFolder
        let bus: PrivateBus
        let store: String

        init() async throws { (folder, bus, store) = try await Self.parts() }

        private static func parts() async throws -> (TemporaryFolder, PrivateBus, String) {
            let folder = try TemporaryFolder()
            return (folder, try await PrivateBus(), folder.file("s.sqlite"))
        }

        private func environment(_ hasBus: Bool) -> [String: String] {
            [
                "XDG_RUNTIME_DIR": folder.path, "TMPDIR": folder.path, "HOME": folder.path,
                "DBUS_SESSION_BUS_ADDRESS": hasBus ? bus.address : "",
            ]
        }

        func service(hasDesktop: Bool) async throws -> RunningProgram {
            let service = try Program("waterh-gateway").start(
                [
                    "run", "--link", "unix:" + folder.file("b.sock"), "--store", store, "--listen", "127.0.0.1:0",
                    "--verbose",
                ], environment: environment(hasDesktop))
            #expect(
                await event(within: 60) { service.error.contains("The page is at unix:") ? true : nil } == true,
                "\(service.error)")
            return service
        }

        func agent(_ more: [String: String] = [:]) throws -> RunningProgram {
            try Program("waterh-tracker").start(
                ["agent", "--store", store], environment: environment(true).merging(more) { $1 })
        }

        /// How much the running session has.
        func entries() async throws -> Int? {
            let object =
                try JSONSerialization.jsonObject(with: Data(try await tracker("session show --json").utf8))
                as? [String: Any]
            return (object?["logs"] as? [Any])?.count
        }

        @discardableResult
        func tracker(_ line: String) async throws -> String {
            let result = try await Program("waterh-tracker").run(
                line.split(separator: " ").map(String.init) + ["--store", store], environment: environment(false))
            #expect(result.exitCode == 0, "\(line): \(result.error)")
            return result.output
        }
    }

    /// The service is started anew while somebody clicks: the click waits, and counts once, however often it is told.
    @Test func aClickWhileTheServiceIsAwayCountsOnceWhenItIsBack() async throws {
        let served = try await Served()
        let watcher = try await FakeStatusNotifierWatcher(served.bus)
        let server = try await FakeNotificationServer(served.bus)
        var service = try await served.service(hasDesktop: false)
        let agent = try served.agent()
        let name = try #require(
            await watcher.registered.wait(for: 1, limit: 60).first, "\(service.error) \(agent.error)")
        let cup = try #require(try await event(within: 60) { try await watcher.entry("Log a cup", of: name) })
        service.send(signal: SIGKILL)
        _ = try await service.finish()
        try await watcher.click(cup, of: name)
        #expect(
            await event(within: 30) {
                agent.error.contains("of the icon: ") && agent.error.contains("It is done when there is one")
                    ? true : nil
            } == true, "\(agent.error)")
        service = try await served.service(hasDesktop: false)
        #expect(
            try await event(within: 60) { try await served.tracker("status").contains("250 ml") ? true : nil } == true,
            "\(agent.error)")

        let names = try FileManager.default.contentsOfDirectory(atPath: served.folder.path)
        let socket = ServiceSocket(
            path: served.folder.file(try #require(names.first { $0.hasPrefix("waterh-") && $0.hasSuffix(".sock") })))
        // Which is on the same day at any time: at four in the morning a day begins that began at midnight here.
        try await served.tracker(
            "settings set day.boundaryHour \(Calendar.current.component(.hour, from: Date()) == 4 ? 0 : 4)")
        let anHourAgo = (Date() - 3600).ISO8601Format()
        for _ in 0..<2 {
            _ = try socket.post("/api/v1/agent/tray", ["action": "100", "key": "a tap", "at": .string(anHourAgo)])
        }
        // What was changed after somebody asked to take something back is not what they meant.
        let refusal = #expect(throws: CommandFailure.self) {
            _ = try socket.post("/api/v1/agent/tray", ["action": "undo", "key": "another", "at": .string(anHourAgo)])
        }
        #expect(refusal?.code == "changedSince", "\(String(describing: refusal))")
        #expect(try await served.tracker("status").contains("350 ml"))
        for program in [service, agent] {
            program.send(signal: SIGTERM)
            #expect(try await program.finish(limit: 30).exitCode == 0)
        }
        await server.stop()
    }

    /// The service is away while somebody clicks, and the agent is killed before it is back: the click counts, once.
    @Test func aClickOutlivesTheAgentThatHeardIt() async throws {
        let served = try await Served()
        let watcher = try await FakeStatusNotifierWatcher(served.bus)
        let server = try await FakeNotificationServer(served.bus)
        var service = try await served.service(hasDesktop: false)
        var agent = try served.agent()
        let name = try #require(
            await watcher.registered.wait(for: 1, limit: 60).first, "\(service.error) \(agent.error)")
        let cup = try #require(try await event(within: 60) { try await watcher.entry("Log a cup", of: name) })
        service.send(signal: SIGKILL)
        _ = try await service.finish()
        try await watcher.click(cup, of: name)
        #expect(
            await event(within: 30) { agent.error.contains("It is done when there is one") ? true : nil } == true,
            "\(agent.error)")
        agent.send(signal: SIGKILL)
        _ = try await agent.finish()
        service = try await served.service(hasDesktop: false)
        for _ in 0..<2 {
            agent = try served.agent()
            #expect(
                await event(within: 60) { agent.error.contains("Shows on this desktop") ? true : nil } == true,
                "\(agent.error)")
            #expect(
                try await event(within: 60) { try await served.tracker("status").contains("250 ml") ? true : nil }
                    == true, "\(agent.error)")
            agent.send(signal: SIGTERM)
            #expect(try await agent.finish(limit: 30).exitCode == 0)
        }
        service.send(signal: SIGTERM)
        #expect(try await service.finish(limit: 30).exitCode == 0)
        await server.stop()
    }

    /// The clock was more than a year slow when somebody clicked, and is put right before the service is back: the
    /// click is of a moment ago.
    @Test func aClickOfBeforeTheClockWasPutRightCountsToday() async throws {
        let served = try await Served()
        let shift = try await ClockShift(in: served.folder)
        let watcher = try await FakeStatusNotifierWatcher(served.bus)
        let server = try await FakeNotificationServer(served.bus)
        var service = try await served.service(hasDesktop: false)
        try shift.set(seconds: -400 * 86400)
        let agent = try served.agent(shift.environment)
        let name = try #require(
            await watcher.registered.wait(for: 1, limit: 60).first, "\(service.error) \(agent.error)")
        let cup = try #require(try await event(within: 60) { try await watcher.entry("Log a cup", of: name) })
        service.send(signal: SIGKILL)
        _ = try await service.finish()
        try await watcher.click(cup, of: name)
        #expect(
            await event(within: 30) { agent.error.contains("It is done when there is one") ? true : nil } == true,
            "\(agent.error)")
        try shift.set(seconds: 0)
        service = try await served.service(hasDesktop: false)
        #expect(
            try await event(within: 60) { try await served.tracker("status").contains("250 ml") ? true : nil } == true,
            "\(agent.error)")
        for program in [service, agent] {
            program.send(signal: SIGTERM)
            #expect(try await program.finish(limit: 30).exitCode == 0)
        }
        await server.stop()
    }

    /// A click logs, the icon follows what any other program writes, and the setting takes it away.
    @Test(arguments: [true, false]) func aClickLogsAndTheIconFollows(isService: Bool) async throws {
        let served = try await Served()
        let watcher = try await FakeStatusNotifierWatcher(served.bus)
        let server = try await FakeNotificationServer(served.bus)
        let service = try await served.service(hasDesktop: isService)
        let agent = isService ? nil : try served.agent()
        let name = try #require(
            await watcher.registered.wait(for: 1, limit: 60).first, "\(service.error) \(agent?.error ?? "")")
        try await watcher.click(try #require(try await watcher.entry("Log a cup", of: name)), of: name)
        func title() async throws -> String { try await watcher.properties(of: name)["Title"]?.text ?? "" }
        let cup = try #require(
            try await event(within: 60) { () async throws -> String? in
                let text = try await title()
                return text == "0.0L / 2.5L" ? nil : text
            })
        #expect(try await served.tracker("status").contains("250 ml"))
        try await served.tracker("log 550")
        #expect(try await event(within: 60) { try await title() == "0.8L / 2.5L" ? true : nil } == true)
        try await watcher.click(try #require(try await watcher.entry("Undo", of: name)), of: name)
        #expect(try await event(within: 60) { try await title() == cup ? true : nil } == true)
        try await served.tracker("session start")
        #expect(try await event(within: 60) { try await watcher.entry("Log Water", of: name) } != nil)
        try await watcher.click(try #require(try await watcher.entry("Log Water", of: name)), of: name)
        #expect(try await event(within: 60) { try await served.entries() == 1 ? true : nil } == true)
        try await served.tracker("settings set notify.tray false")
        #expect(await event(within: 60) { (try? await watcher.properties(of: name)) == nil ? true : nil } == true)
        for program in [service, agent].compactMap(\.self) {
            program.send(signal: SIGTERM)
            #expect(try await program.finish(limit: 30).exitCode == 0)
        }
        await server.stop()
    }
}
