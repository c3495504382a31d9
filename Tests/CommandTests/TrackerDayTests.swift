import DBus
import DBusSupport
import Foundation
import Support
import Testing

@Suite struct TrackerDayTests {
    private let home: Home

    init() throws { home = try Home() }

    @Test func `a reminder that was not shown does not count as sent`() async throws {
        for minute in 10..<12 {
            let result = try await home.tracker("check", at: "12:\(minute)")
            result.expect(0, output: "", error: "--show")
        }
        var state = try await home.object("status", at: "12:30")
        #expect(state["remindersSent"] as? Int == 0 && state["notifications"] as? String == "disabled")
        let report = try await home.object("check", at: "12:30")
        let notifications = try #require(report["notifications"] as? [[String: Any]])
        #expect(notifications.count == 1 && notifications[0]["shown"] as? Bool == false)
        #expect((report["state"] as? [String: Any])?["notifications"] as? String == "disabled")

        let shown = try await home.tracker("check --show", at: "12:31")
        #expect(shown.output.hasPrefix("Hydration Reminder\n") && shown.error.isEmpty)
        state = try await home.object("status", at: "12:32")
        #expect(state["remindersSent"] as? Int == 1)
        #expect(try await home.tracker("check --show", at: "12:33").output.hasPrefix("No notification is due"))
        let history = try await home.object("history --notifications", at: "12:34")
        let lines = try #require(history["notifications"] as? [[String: Any]])
        #expect(
            lines.count == 1 && lines[0]["kind"] as? String == "hydration-reminder"
                && lines[0]["sinks"] as? [String] == ["output"])
        #expect(
            try await home.tracker("history --notifications", at: "12:34").output.hasSuffix(
                "12:31  hydration-reminder        output\n"))
    }

    @Test func `a missing notification server is reported`() async throws {
        let bus = try await PrivateBus()
        let desktop = home.with(["DBUS_SESSION_BUS_ADDRESS": bus.address])
        #expect(try await desktop.tracker("check", at: "12:00").error.contains("notification server"))
        #expect(
            try await desktop.tracker("check --doctor", at: "12:00").output.contains("no notification server responds"))
        #expect(try await home.tracker("check --doctor", at: "12:00").output.contains("no session bus"))
        let setup = try await desktop.tracker("setup --yes --notifications enable", at: "12:00")
        setup.expect(0, output: "Notifications disabled")
        let server = try await FakeNotificationServer(bus)
        #expect(
            try await desktop.tracker("setup --yes --notifications enable", at: "12:01").output.contains(
                "a test was sent"))
        #expect(server.notified.items.map(\.summary) == ["Waterline"])
    }

    /// TrackerCore's tests have all limits.
    @Test(arguments: [
        "log 100 --at 0000-01-01T19:00", "status --now=-0001-12-31T23:00:00Z", "history --now +10000-01-01T00:00:00Z",
    ])
    func `times out of range are rejected`(line: String) async throws {
        let result = try await home.tracker(line)
        result.expect(2, output: "", error: "1970-01-01")
        #expect(!result.error.contains("T19:0:"))
    }
}

@Suite(.timeLimit(.minutes(3))) struct StatusFollowTests {
    private let home: Home

    init() throws { home = try Home() }

    private func follow(_ line: String = "") throws -> RunningProgram {
        try Program.tracker.start("status --follow \(line)", environment: home.environment)
    }

    /// Waits until the program has written `count` lines.
    private func lines(_ program: RunningProgram, _ count: Int) async throws -> [String] {
        let found = await event(within: 30) {
            let lines = program.output.split(separator: "\n").map(String.init)
            return lines.count >= count ? lines : nil
        }
        return try #require(found, "\(program.output)\(program.error)")
    }

    @Test func `status --follow prints a line per change and ends`() async throws {
        try await home.tracker("settings set hydration.goalMl 2000")
        let bar = try follow()
        #expect(try await lines(bar, 1) == ["0.0L / 2.0L"])
        try await home.tracker("log 300")
        let committed = ContinuousClock.now
        #expect(try await lines(bar, 2).last == "0.3L / 2.0L")
        print("status --follow: a line \(ContinuousClock.now - committed) after the command that wrote had ended")
        // Another store replaces the file.
        let other = home.with(["WATERH_STORE": home.folder.file("other.sqlite")])
        try await other.tracker("settings set hydration.goalMl 3000")
        try await other.tracker("log 900")
        try await home.shell("rm waterh.sqlite*; mv other.sqlite waterh.sqlite")
        #expect(await eventually(within: 30) { bar.output.hasSuffix("0.9L / 3.0L\n") }, "\(bar.output)\(bar.error)")
        try await home.tracker("log 100")
        #expect(await eventually(within: 30) { bar.output.hasSuffix("1.0L / 3.0L\n") }, "\(bar.output)\(bar.error)")
        // An unreadable store keeps the last line, and one error is printed.
        try await home.shell("echo no store >new; mv new waterh.sqlite")
        await bar.says("warning")
        let end = try await bar.stop()
        #expect(
            end.output.hasSuffix("1.0L / 3.0L\n") && end.error.components(separatedBy: "warning").count <= 3,
            "\(end.error)")
    }

    /// With `| head -n 1` the program ends although no change follows.
    @Test func `status --follow ends when its reader is gone`() async throws {
        try await home.tracker("settings set hydration.goalMl 2000")
        let result = try await home.shell("{ waterh-tracker status --follow; echo ended $? >&2; } | head -n 1")
        #expect(result.output == "0.0L / 2.0L\n" && result.error.hasSuffix("ended 0\n"), "\(result.error)")
    }

    @Test func `status --follow prints a whole day in accelerated time`() async throws {
        try await home.tracker("settings set hydration.goalMl 2000 --now 2026-06-15T05:00")
        for (ml, hour) in [(600, "11"), (700, "14"), (800, "19")] {
            try await home.tracker("log \(ml) --now 2026-06-15T\(hour):00")
        }
        let bar = try follow("--format waybar --now 2026-06-15T05:00 --speed 7200")
        #expect(
            await eventually(within: 90) {
                bar.output.contains(#""text":"0.0L / 2.0L""#) && bar.output.contains("2.1L")
                    && bar.output.split(separator: "\n").last?.contains("0.0L") == true
            }, "\(bar.output)")
        let end = try await bar.stop()
        #expect(end.error.isEmpty, "\(end.error)")
        struct Line: Decodable, Equatable {
            var text: String
            var `class`: String
            var percentage: Int
        }
        let texts = end.output.split(separator: "\n").map(String.init)
        let lines = try texts.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
        #expect(zip(texts, texts.dropFirst()).allSatisfy { $0 != $1 }, "each line differs from the previous one")
        var totals: [String] = []
        for line in lines where totals.last != line.text { totals.append(line.text) }
        #expect(totals == ["0.0L / 2.0L", "0.6L / 2.0L", "1.3L / 2.0L", "2.1L / 2.0L", "0.0L / 2.0L"])
        #expect(Set(lines.map(\.class)) == ["onTrack", "attention", "overdue"])
        #expect(lines.contains { $0.percentage == 100 })
    }
}
