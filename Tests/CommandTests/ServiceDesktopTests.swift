import CommandSupport
import DBusSupport
import Foundation
import Support
import Testing

@Suite(.timeLimit(.minutes(3))) struct ServiceDesktopTests {
    private func serve() async throws -> (session: DesktopSession, service: RunningProgram) {
        let session = try await DesktopSession()
        let service = try session.service()
        await service.says("The page is at unix:", "The page is at http:", within: 60)
        return (session, service)
    }

    /// The store is locked when a button is pressed, and the notification is closed. The action runs when the lock is
    /// released, also in the next service.
    @Test func `a button pressed while the store is locked acts afterwards`() async throws {
        try await concurrently([false, true]) { isKilled in
            let (session, first) = try await serve()
            var service = first
            let server = try await FakeNotificationServer(session.bus)
            let reminder = try await session.drink(shownBy: server).reminder
            let lock = try await StoreLock(session.home.store)
            try await server.press(reminder.number, "log-water")
            await service.says("It is retried automatically.", within: 60)
            if isKilled { try await service.kill() }
            try await lock.release()
            if isKilled { service = try session.service() }
            #expect(try await eventually(within: 60) { try await session.logs().count == 2 }, "\(service.error)")
            try await service.stop()
            #expect(try await session.logs().count == 2)
        }
    }
}

/// A service without a desktop session, and agents in the session that show its notifications.
@Suite(.timeLimit(.minutes(5))) struct AgentTests {
    /// With `waterline.discreet`, a warning and a reminder have the same text and become one notification.
    private func makeSession() async throws -> DesktopSession {
        try await DesktopSession("waterline.timeReminders false waterline.discreet false")
    }

    @Test func `an agent shows a notification and its buttons act`() async throws {
        let session = try await makeSession()
        let server = try await FakeNotificationServer(session.bus)
        let service = try session.service(hasDesktop: false)
        let agent = try session.agent()
        await agent.says("on this desktop", within: 60)
        let (shown, reminder) = try await session.drink(shownBy: server)
        #expect(Set(shown.map(\.summary)) == ["Session running", "You've had 1 drink — time for water"])
        // The store might list more: the notification of a running session is sent again after each change.
        let ids = shown.compactMap(\.id)
        #expect(
            try await eventually(within: 100) { try Set(session.delivered()).isSuperset(of: ids) },
            "counted when it was shown")
        let state = try session.socket().get("/api/v1/state")
        #expect(String(decoding: state, as: UTF8.self).contains(#""notifications":"enabled""#))
        #expect(reminder.actions == ["log-water", "Log Water", "dismiss", "Dismiss"])
        try await server.press(reminder.number, "log-water")
        #expect(try await eventually(within: 30) { try await session.logs().count == 2 }, "\(agent.error)")
        // Queries the service on the session bus, through the agent.
        let bus = ["call", "org.waterh.Tracker", "/org/waterh/Tracker", "org.waterh.Tracker"]
        let drink = try await session.bus.run("busctl", bus + ["LogDrink", "s", ""])
        #expect(drink.output.contains("isActive"), "\(drink.error) \(agent.error)")
        // The source of an action that an agent forwards is the notification, not HTTP.
        #expect(try await session.logs().compactMap { $0["source"] as? String } == ["cli", "notification", "dbus"])
        #expect(try await session.bus.run("busctl", bus + ["GetState"]).output.contains("dailyTotalMl"))
        #expect(try await session.bus.run("busctl", bus + ["EndSession"]).exitCode == 0)
        #expect(
            await eventually(within: 30) { Set(server.closed.items).isSuperset(of: shown.map(\.number)) },
            "\(server.closed.items)")
        for program in [agent, service] { try await program.stop() }
    }

    @Test func `an error of an agent has its code on D-Bus`() async throws {
        let session = try await makeSession()
        let service = try session.service(hasDesktop: false)
        let agent = try session.agent()
        func call(_ words: String...) async throws -> String {
            try await session.bus.run(
                "dbus-send",
                ["--print-reply", "--dest=org.waterh.Tracker", "/org/waterh/Tracker", "org.waterh.Tracker." + words[0]]
                    + words.dropFirst()
            ).error
        }
        #expect(
            try await eventually(within: 60) {
                try await call("LogWater").contains("org.waterh.Error.noActiveSession: There is no active session")
            }, "\(agent.error) \(service.error)")
        let long = try await call("LogDrink", "string:" + String(repeating: "x", count: 50_000))
        #expect(long.contains("org.waterh.Error.") && long.utf8.count < 1000, "\(long.prefix(2000))")
        try await service.stop()
        let away = try await call("LogWater")
        #expect(
            away.contains("org.waterh.Error.noService: No service is running for this store")
                && !away.contains("waterh-gateway"), "\(away)")
        try await agent.stop()
    }

    /// Events between a button press and the restart of the service.
    private enum Absence: CaseIterable { case quiet, agentIsKilled, clockIsSet }

    @Test func `a button pressed while the service is down counts once`() async throws {
        try await concurrently(Absence.allCases) { absence in
            let session = try await makeSession()
            let server = try await FakeNotificationServer(session.bus)
            let shift = absence == .clockIsSet ? try await ClockShift(in: session.home.folder) : nil
            var service = try session.service(hasDesktop: false)
            try shift?.set(seconds: -400 * 86400)
            var agent = try session.agent(shift?.environment ?? [:])
            let reminder = try await session.drink(shownBy: server).reminder
            try await service.kill()
            try await server.press(reminder.number, "log-water")
            await agent.says("It is retried automatically")
            #expect(try await session.logs().count == 1)
            if absence == .agentIsKilled {
                try await agent.kill()
                agent = try session.agent()
            }
            try shift?.set(seconds: 0)
            service = try session.service(hasDesktop: false)
            #expect(try await eventually(within: 60) { try await session.logs().count == 2 }, "\(agent.error)")
            try await agent.stop()
            #expect(try await session.logs().count == 2)
            try await service.stop()
        }
    }
}
