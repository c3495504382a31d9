import DBusSupport
import Foundation
import Support
import Testing
import TrackerCore

@testable import Notifications

/// A real notification server: Debian's dunst on a virtual display. `hardware/bench desktop` installs both and runs
/// this.
@Suite(
    "Notifications as dunst shows them", .enabled(if: ProcessInfo.processInfo.environment["WATERH_DESKTOP"] != nil),
    .timeLimit(.minutes(2)))
struct DunstTests {
    /// dunst's history of shown notifications.
    private struct History: Decodable {
        struct Text: Decodable { var data: String }
        struct Number: Decodable { var data: Int }
        struct Notice: Decodable {
            var summary: Text
            var body: Text
            var id: Number
        }

        var data: [[Notice]]
    }

    let fixture: DesktopFixture
    let display: RunningProgram
    let dunst: RunningProgram
    let environment: [String: String]

    init() async throws {
        fixture = try await DesktopFixture()
        let screen = try #require(Program(system: "Xvfb"), "this test needs Xvfb: apt-get install xvfb")
        display = try screen.start(["-displayfd", "1", "-screen", "0", "640x480x24", "-nolisten", "tcp"])
        let number = try await display.line { Int($0) != nil }
        environment = [
            "DISPLAY": ":" + number, "DBUS_SESSION_BUS_ADDRESS": fixture.bus.address,
            "XDG_CONFIG_HOME": fixture.folder.path, "HOME": fixture.folder.path,
        ]
        dunst = try #require(Program(system: "dunst"), "this test needs dunst: apt-get install dunst").start(
            [], environment: environment)
    }

    private func control(_ arguments: String...) async throws -> Program.Result {
        try await #require(Program(system: "dunstctl")).run(arguments, environment: environment)
    }

    private func displayed() async throws -> String {
        try await control("count", "displayed").output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @Test func `dunst shows, replaces and closes notifications and performs actions`() async throws {
        let desktop = await fixture.desktop()
        #expect(await eventually { await desktop.canShow() }, "\(dunst.error)")
        #expect(try await desktop.deliver(.test(.pace, "Hydration Reminder", "1 < 2 & <b>3</b>", urgency: .critical)))
        #expect(
            try await desktop.deliver(.test(.pace, "Hydration Reminder", "Drink 500ml & go on.", urgency: .critical)))
        #expect(try await desktop.deliver(.test(.goal, "Goal Reached! 💧", "Good job!")))
        #expect(try await eventually { try await displayed() == "2" }, "\(dunst.error)")
        // The newest one's first button, as by a click.
        _ = try await control("action", "0")
        let press = try #require(await fixture.presses.wait(for: 1).first, "\(dunst.error)")
        #expect(press.action == .open)
        await desktop.close(id: NotificationKind.pace.id)
        await desktop.close(id: NotificationKind.goal.id)
        #expect(try await eventually { try await displayed() == "0" })
        let history = try await control("history").outputBytes
        let shown = try JSONDecoder().decode(History.self, from: Data(history)).data.flatMap(\.self)
        // With the `body-markup` capability the parsed text must be equal to the original.
        #expect(
            Set(shown.map { $0.body.data.replacing("&amp;", with: "&") }) == ["Drink 500ml & go on.", "Good job!"],
            "\(shown)")
        #expect(Set(shown.map(\.summary.data)) == ["Hydration Reminder", "Goal Reached! 💧"])
        await desktop.stop()
        dunst.send(signal: SIGTERM)
        display.send(signal: SIGTERM)
    }

    @Test func `notifications survive a restart of dunst`() async throws {
        let desktop = await fixture.desktop()
        #expect(await eventually { await desktop.canShow() }, "\(dunst.error)")
        #expect(try await desktop.deliver(.test(.goal)))
        dunst.send(signal: SIGKILL)
        #expect(await eventually { await !desktop.canShow() })
        let next = try #require(Program(system: "dunst")).start([], environment: environment)
        #expect(await fixture.appearances.wait(for: 1).count >= 1)
        #expect(await eventually { await desktop.canShow() })
        #expect(try await desktop.deliver(.test(.goal)))
        #expect(try await displayed() == "1", "\(next.error)")
        await desktop.stop()
        next.send(signal: SIGTERM)
        display.send(signal: SIGTERM)
    }
}
