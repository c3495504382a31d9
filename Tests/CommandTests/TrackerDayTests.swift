import DBusSupport
import Foundation
import Support
import Testing

@Suite struct TrackerDayTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func environment(_ more: [String: String] = [:]) -> [String: String] {
        [
            "WATERH_STORE": folder.file("w.sqlite"), "WATERH_ZONE": "Europe/Berlin", "HOME": folder.path,
            "DBUS_SESSION_BUS_ADDRESS": "",
            "XDG_CONFIG_HOME": folder.file("config"), "XDG_STATE_HOME": folder.file("state"),
        ].merging(more) { $1 }
    }

    @discardableResult
    private func tracker(_ line: String, at wall: String? = nil, _ more: [String: String] = [:]) async throws
        -> Program.Result
    {
        let now = wall.map { ["--now", $0.count == 5 ? "2026-06-15T\($0)" : $0] } ?? []
        return try await Program("waterh-tracker").run(
            line.split(separator: " ").map(String.init) + now, environment: environment(more))
    }

    private func object(_ line: String, at wall: String, _ more: [String: String] = [:]) async throws -> [String: Any] {
        let result = try await tracker(line + " --json", at: wall, more)
        return try #require(
            try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any], "\(result.error)")
    }

    /// B4-S3 with the largest valid goal: after each red drink exactly up to the expected amount. Eight reminders are
    /// sent, the ninth is blocked, and it is sent with the limit off.
    @Test func `scenario B4-S3 by commands`() async throws {
        try await tracker("settings set hydration.goalMl 5000", at: "05:00")
        var told: [String] = []
        func check(_ walls: String...) async throws {
            for wall in walls {
                let result = try await tracker("check --show", at: wall)
                if !result.output.hasPrefix("Nothing to tell") { told.append("\(wall) \(result.lines.last ?? "")") }
            }
        }
        for hour in [7, 10, 13, 16] {
            let (now, red) = ("\(hour < 10 ? "0" : "")\(hour)", "\(hour + 3)")
            try await check("\(now):08", "\(now):09", "\(now):10", "\(hour == 7 ? "0" : "")\(hour + 2):59", "\(red):00")
            try await tracker("log 1000", at: "\(red):00")
        }
        #expect(
            told.map { String($0.prefix(5)) } == [
                "07:09", "10:00", "10:09", "13:00", "13:09", "16:00", "16:09", "19:00",
            ])
        #expect(told[0].hasSuffix("You're 50ml behind pace.") && told[1].hasSuffix("Drink 1.0L to catch up."))
        try await check("19:09", "19:30")
        #expect(told.count == 8, "the ninth is blocked")
        try await tracker("settings set reminders.dailyLimit false", at: "19:31")
        try await check("19:31")
        #expect(told.count == 9)
        #expect(try await object("status", at: "19:32")["remindersSent"] as? Int == 9)
    }

    @Test func `a reminder that was not shown does not count`() async throws {
        for minute in 10..<22 {
            let result = try await tracker("check", at: "12:\(minute)")
            #expect(
                result.exitCode == 0 && result.output.isEmpty && result.error.contains("--show"),
                "\(result.output)\(result.error)")
        }
        var state = try await object("status", at: "12:30")
        #expect(state["remindersSent"] as? Int == 0 && state["notifications"] as? String == "disabled")
        let report = try await object("check", at: "12:30")
        let notifications = try #require(report["notifications"] as? [[String: Any]])
        #expect(notifications.count == 1 && notifications[0]["shown"] as? Bool == false)
        #expect((report["state"] as? [String: Any])?["notifications"] as? String == "disabled")

        let shown = try await tracker("check --show", at: "12:31")
        #expect(shown.output.hasPrefix("Hydration Reminder\n") && shown.error.isEmpty)
        state = try await object("status", at: "12:32")
        #expect(state["remindersSent"] as? Int == 1)
        #expect(try await tracker("check --show", at: "12:33").output.hasPrefix("Nothing to tell"))
        let told = try await object("history --notifications", at: "12:34")
        let lines = try #require(told["notifications"] as? [[String: Any]])
        #expect(
            lines.count == 1 && lines[0]["kind"] as? String == "hydration-reminder"
                && lines[0]["sinks"] as? [String] == ["output"])
        #expect(
            try await tracker("history --notifications", at: "12:34").output.hasSuffix(
                "12:31  hydration-reminder        output\n"))
    }

    /// Also `notify.sound`.
    @Test func `a reminder counts when the notification server accepts it`() async throws {
        let bus = try await PrivateBus()
        let server = try await FakeNotificationServer(bus, manner: .withAnError)
        let desktop = ["DBUS_SESSION_BUS_ADDRESS": bus.address, "XDG_RUNTIME_DIR": folder.path]
        var report = try await object("check", at: "12:00", desktop)
        #expect(
            (report["state"] as? [String: Any])?["notifications"] as? String == "disabled", "the server took nothing")
        server.manner = .rightly
        report = try await object("check", at: "12:01", desktop)
        #expect((report["notifications"] as? [[String: Any]])?.first?["shown"] as? Bool == true)
        let state = try await object("status", at: "12:02", desktop)
        #expect(state["remindersSent"] as? Int == 1 && state["notifications"] as? String == "enabled")
        try await tracker("settings set notify.sound false", at: "12:03", desktop)
        for ml in [1000, 1600] { try await tracker("log \(ml)", at: "12:04", desktop) }
        let last = try await tracker("check", at: "12:05", desktop)
        #expect(last.error == "Shown on the desktop: hydration-goal-reached (hydration-goal-reached/2026-06-15/1).\n")
        let shown = server.notified.items
        #expect(shown.map(\.summary) == ["Hydration Reminder", "Hydration Reminder", "Goal Reached! 💧"])
        #expect(shown[1].hints["sound-name"]?.text != nil && shown[2].hints["suppress-sound"]?.bool == true)
        #expect(shown.allSatisfy { $0.actions.isEmpty }, "nobody would hear of a button")
        // The goal closes the reminder. The reminders of the next days replace each other, though each is from another
        // process.
        #expect(server.closed.items == [shown[1].number])
        for day in 16...17 { try await tracker("check", at: "2026-06-\(day)T12:00", desktop) }
        #expect(server.notified.items.suffix(2).map(\.replaces) == [0, server.notified.items[3].number])
    }

    @Test func `a missing notification server is reported`() async throws {
        let bus = try await PrivateBus()
        let desktop = ["DBUS_SESSION_BUS_ADDRESS": bus.address, "XDG_RUNTIME_DIR": folder.path]
        #expect(try await tracker("check", at: "12:00", desktop).error.contains("notification server"))
        #expect(
            try await tracker("check --doctor", at: "12:00", desktop).output.contains("no notification server responds")
        )
        #expect(try await tracker("check --doctor", at: "12:00").output.contains("no session bus"))
        let setup = try await tracker("setup --yes --notifications enable", at: "12:00", desktop)
        #expect(setup.exitCode == 0 && setup.output.contains("Notifications disabled"), "\(setup.output)\(setup.error)")
        let server = try await FakeNotificationServer(bus)
        #expect(
            try await tracker("setup --yes --notifications enable", at: "12:01", desktop).output.contains(
                "a test was sent"))
        #expect(server.notified.items.map(\.summary) == ["Waterline"])
    }

    @Test func `two concurrent checks send one reminder`() async throws {
        try await tracker("settings set hydration.goalMl 2000", at: "05:00")
        for day in 10..<20 {
            async let first = tracker("check --show", at: "2026-07-\(day)T12:00")
            async let second = tracker("check --show", at: "2026-07-\(day)T12:00")
            let outputs = try await [first, second].map(\.output)
            #expect(outputs.count { $0.hasPrefix("Hydration Reminder") } == 1, "\(outputs)")
            #expect(try await object("status", at: "2026-07-\(day)T12:01")["remindersSent"] as? Int == 1)
        }
    }

    /// A check is killed between claim and delivery (its output blocks). After the lease expires, the same id is sent
    /// again.
    @Test func `a killed check leaves the reminder to the next one`() async throws {
        try await tracker("status", at: "11:00")
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { ends.forEach { close($0) } }
        // A full pipe: a writer blocks.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        let filler = [UInt8](repeating: 10, count: 4096)
        while write(ends[1], filler, filler.count) > 0 {}
        while write(ends[1], filler, 1) > 0 {}
        _ = fcntl(ends[1], F_SETFL, 0)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Program("waterh-tracker").path)
        process.arguments = ["check", "--show", "--now", "2026-06-15T12:00"]
        process.environment = ProcessInfo.processInfo.environment.merging(environment()) { $1 }
        process.standardOutput = FileHandle(fileDescriptor: ends[1], closeOnDealloc: false)
        try process.run()
        // The claim is held as soon as another check finds nothing to send.
        let isClaimed = try await event(within: 20) {
            try await tracker("check", at: "12:00").output.hasPrefix("Nothing to tell") ? true : nil
        }
        #expect(isClaimed == true)
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        #expect(
            try await tracker("check --show", at: "12:00").output.hasPrefix("Nothing to tell"),
            "the claim holds for its lease")
        let again = try await object("check --show", at: "12:02")
        let notifications = try #require(again["notifications"] as? [[String: Any]])
        #expect(notifications.map { $0["id"] as? String } == ["hydration-reminder/2026-06-15/1"])
        #expect(try await object("status", at: "12:03")["remindersSent"] as? Int == 1)
    }

    /// A change re-arms reminders at its commit: a drink that removes the deficit makes the amber reminder possible
    /// again.
    @Test func `the amber reminder comes again after a drink and a new deficit`() async throws {
        #expect(try await tracker("check --show", at: "07:18").output.contains("50ml behind pace"))
        try await tracker("log 50", at: "07:18")
        #expect(try await tracker("check --show", at: "07:35").output.hasPrefix("Nothing to tell"))
        #expect(try await tracker("check --show", at: "07:36").output.contains("50ml behind pace"))
    }

    @Test func `every subcommand has the same state with --now`() async throws {
        for (ml, wall) in [(250, "10:00"), (300, "14:00")] { try await tracker("log \(ml)", at: wall) }
        for (wall, totalMl, drinks, kind) in [
            ("09:00", 0, 0, "none"), ("12:00", 250, 1, "partial"), ("16:00", 550, 2, "partial"),
        ] {
            #expect(try await object("status", at: wall)["dailyTotalMl"] as? Int == totalMl)
            let day = try await object("history --day 2026-06-15", at: wall)
            #expect(
                (day["day"] as? [String: Any])?["totalMl"] as? Int == totalMl
                    && (day["drinks"] as? [Any])?.count == drinks, "\(wall): \(day)")
            #expect(try await object("history", at: wall)["totalMl"] as? Int == totalMl)
            #expect(try await object("streak", at: wall)["todayClass"] as? String == kind)
        }
    }

    @Test(arguments: [
        "log 100 --at 0000-01-01T19:00", "status --now 0000-01-01T00:00:00Z", "status --now -0001-12-31T23:00:00Z",
        "status --now 9999-12-31T23:59:59Z", "log 100 --at 1969-12-31T00:00:00Z", "log 100 --now 2110-01-01T00:00:00Z",
        "history --now +10000-01-01T00:00:00Z",
    ]) func `times out of range are rejected`(line: String) async throws {
        let arguments = line.split(separator: " ").map { $0.hasPrefix("-0001") ? "--now=\($0)" : String($0) }
        let result = try await Program("waterh-tracker").run(
            arguments.contains { $0.hasPrefix("--now=") } ? ["status", "--now=-0001-12-31T23:00:00Z"] : arguments,
            environment: environment())
        #expect(
            result.exitCode == 2 && result.output.isEmpty && result.error.contains("1970-01-01"),
            "\(result.exitCode) \(result.error)")
        #expect(!result.error.contains("T19:0:"))
    }

    @Test func `configured amounts can be logged by name`() async throws {
        try await tracker("settings set hydration.cupMl 330 hydration.quickAddMl 111,222", at: "10:00")
        for name in ["cup", "quick2"] { #expect(try await tracker("log \(name)", at: "10:01").exitCode == 0) }
        let state = try await object("status", at: "10:02")
        #expect(
            state["dailyTotalMl"] as? Int == 552 && state["cupMl"] as? Int == 330
                && state["quickAddMl"] as? [Int] == [111, 222])
        let refused = try await tracker("log quick3", at: "10:03")
        #expect(refused.exitCode == 3 && refused.error.contains("2 amounts"))
    }
}
