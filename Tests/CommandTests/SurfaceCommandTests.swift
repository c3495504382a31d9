import Foundation
import Support
import Testing
import TrackerCore

/// The acceptance list for the command line: first run, status bar, past sessions, and missing prerequisites.
@Suite struct SurfaceCommandTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Runs a line in a shell without a notification server.
    private func shell(_ line: String) async throws -> Program.Result {
        let path = Program.products + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")
        return try await Program(path: "/bin/bash").run(
            ["-c", line],
            environment: [
                "PATH": path, "WATERH_STORE": "waterh.sqlite", "WATERH_ZONE": "Europe/Berlin", "HOME": folder.path,
                "DBUS_SESSION_BUS_ADDRESS": "", "TERM": "dumb",
            ], directory: folder.path)
    }

    private func object(_ line: String) async throws -> [String: Any] {
        let result = try await shell("waterh-tracker \(line) --json")
        return try #require(
            try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any],
            "\(line): \(result.error)")
    }

    @Test func `status before setup shows the way to it`() async throws {
        let fresh = try await shell("waterh-tracker status --now 2026-06-15T14:00").output
        #expect(
            fresh.contains("Welcome. Your goal and your hours: waterh-tracker setup") && !fresh.contains("behind"),
            "\(fresh)")
        #expect(try await shell("waterh-tracker setup --yes --now 2026-06-15T13:00").exitCode == 0)
        let begun = try await shell("waterh-tracker status --now 2026-06-15T14:00").output
        #expect(begun.contains("1,150 ml behind target") && !begun.contains("Welcome."), "\(begun)")
    }

    /// US-005: both texts, once.
    @Test func `the setup runs once`() async throws {
        let texts = [Onboarding.welcome, Onboarding.guardrail]
        #expect(
            texts == [
                "Waterline helps you pace and drink less by adding water breaks.",
                "This is a pacing tool. It does not estimate intoxication or guarantee how you'll feel tomorrow.",
            ])
        let first = try await shell("waterh-tracker setup --yes").output
        #expect(texts.allSatisfy(first.contains) && first.contains("Set up:"))
        let again = try await shell("waterh-tracker setup --yes").output
        #expect(!texts.contains(where: again.contains) && again.contains("Already set up:"))
    }

    /// US-006: valid answers are stored. One invalid answer stores none of them.
    @Test(arguments: [
        ("--water-every 0", "waterline.waterEveryNDrinks"), ("--threshold 0", "waterline.warningThreshold"),
        ("--interval 25", "waterline.intervalMinutes"),
        ("--units cl", "waterline.units"), ("--goal 100", "hydration.goalMl"),
    ])
    func `setup keeps defaults and enforces minimum values`(wrong: String, name: String) async throws {
        let refused = try await shell("waterh-tracker setup --yes --water-every 2 \(wrong)")
        #expect(refused.exitCode == 3 && refused.error.contains(name), "\(refused.error)")
        #expect(try await shell("waterh-tracker preset list").output.contains("No presets"), "nothing is set up")
        let given = "--water-every 3 --time-reminders off --interval 45 --threshold 4 --units ml --goal 2200"
        #expect(try await shell("waterh-tracker setup --yes \(given)").exitCode == 0)
        let settings = try await object("settings get")
        #expect(
            settings["waterline.waterEveryNDrinks"] as? Int == 3
                && settings["waterline.timeReminders"] as? Bool == false)
        #expect(
            settings["waterline.intervalMinutes"] as? Int == 45 && settings["waterline.warningThreshold"] as? Int == 4)
        #expect(settings["waterline.units"] as? String == "ml" && settings["hydration.goalMl"] as? Int == 2200)
        #expect((try await object("preset list")["presets"] as? [Any])?.count == 5)
    }

    /// US-035: at a terminal, setup explains notifications before it asks. Skip is an answer. Without a server there is
    /// a hint.
    @Test func `setup explains notifications, which can be skipped`() async throws {
        let asked = try await shell(#"printf '\n\n\n\n\n\nS\n' | script -qec 'waterh-tracker setup' /dev/null"#)
        #expect(
            asked.output.contains(Onboarding.notifications) && asked.output.contains("Notifications: skipped."),
            "\(asked.output)")
        #expect(
            Onboarding.notifications
                == """
                Waterline sends gentle reminders to drink water during your session. Allow notifications to get \
                pacing nudges.
                """
        )
        let nobody = try await shell("waterh-tracker setup --yes --notifications enable")
        #expect(nobody.exitCode == 0 && nobody.output.contains("Notifications disabled: "), "\(nobody.output)")
        #expect(nobody.output.contains("dunst"), "it says what to start")
    }

    /// B9-07: the class determines the colour of the bar. The percentage is below 100 until the goal is reached.
    @Test(arguments: [
        (0, "07:00", "onTrack", 0, "On track ✓"), (476, "10:00", "onTrack", 19, "On track ✓"),
        (475, "10:00", "attention", 19, "50ml to catch up"),
        (800, "14:00", "attention", 32, "350ml to catch up"), (0, "14:00", "overdue", 0, "1.1L to catch up"),
        (2499, "21:00", "onTrack", 99, "On track ✓"),
        (2500, "12:00", "onTrack", 100, "Goal reached! 🎉"),
    ])
    func `the status bar follows the day`(total: Int, time: String, state: String, percent: Int, words: String)
        async throws
    {
        for ml in [min(total, 2000), total - min(total, 2000)] where ml > 0 {
            _ = try await shell("waterh-tracker log \(ml) --now 2026-06-15T06:30")
        }
        let line = try await shell("waterh-tracker status --format waybar --now 2026-06-15T\(time)").output
        let bar = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(bar["class"] as? String == state && bar["percentage"] as? Int == percent, "\(line)")
        #expect(
            (bar["tooltip"] as? String)?.hasPrefix(words) == true && line.split(separator: "\n").count == 1, "\(line)")
    }

    /// US-023: the newest five, and more on request.
    @Test func `the newest five sessions are listed`() async throws {
        for day in 1...6 {
            let started = try await shell(
                """
                waterh-tracker session start --now 2026-06-0\(day)T20:00 && waterh-tracker drink --now \
                2026-06-0\(day)T20:10 && waterh-tracker session end --yes --now 2026-06-0\(day)T21:00
                """
            )
            #expect(started.exitCode == 0, "\(started.error)")
        }
        let starts = try await object("session list")["sessions"] as? [[String: Any]]
        #expect(starts?.map { $0["startTime"] as? String } == (2...6).reversed().map { "2026-06-0\($0)T18:00:00Z" })
        #expect(try await shell("waterh-tracker session list").output.split(separator: "\n").count == 5)
        #expect((try await object("session list --limit 6")["sessions"] as? [Any])?.count == 6)
        // The start of the last session seals the one before.
        #expect(try await shell("waterh-tracker edit w1 --estimate 2").exitCode == 3)
    }

    @Test func `missing things are reported with an action`() async throws {
        _ = try await shell("waterh-tracker log 100")
        let findings = try #require(try await object("check --doctor")["findings"] as? [[String: Any]])
        #expect(
            Set(["store", "adapter", "system bus", "notifications"]).isSubset(
                of: findings.compactMap { $0["name"] as? String }))
        for finding in findings where finding["ok"] as? Bool == false {
            #expect((finding["advice"] as? String).map { $0.count > 10 } == true, "\(finding)")
        }
        let notifications = try #require(findings.first { $0["name"] as? String == "notifications" })
        #expect(
            notifications["ok"] as? Bool == false && (notifications["detail"] as? String)?.hasPrefix("disabled") == true
        )
    }
}
