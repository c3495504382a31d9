import Foundation
import Support
import Testing

@Suite struct WhyCommandTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func tracker(_ line: String) async throws -> Program.Result {
        try await Program("waterh-tracker").run(
            line.split(separator: " ").map(String.init) + ["--store", folder.file("s.sqlite"), "--zone", "UTC"],
            environment: ["DBUS_SESSION_BUS_ADDRESS": ""])
    }

    /// The rules that decide about a kind, by name, and the sentences.
    private func decided(_ kind: String, _ line: String) async throws -> (isTold: Bool, by: [String], facts: String) {
        let result = try await tracker(line + " --json")
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any], "\(result.error)")
        let reminders = try #require(object["reminders"] as? [[String: Any]])
        let one = try #require(reminders.first { $0["kind"] as? String == kind })
        let conditions = try #require(one["conditions"] as? [[String: Any]])
        #expect(conditions.allSatisfy { $0["fact"] is String && $0["change"] is String && $0["holds"] is Bool })
        #expect(object["state"] is [String: Any] && object["at"] is String)
        return (
            try #require(one["told"] as? Bool), try #require(one["decidedBy"] as? [String]),
            conditions.filter { $0["holds"] as? Bool == false }.compactMap { $0["fact"] as? String }.joined(
                separator: " ")
        )
    }

    @Test func `why explains quiet hours, the daily limit and rounding`() async throws {
        #expect(try await tracker("setup --yes --goal 2500 --now 2026-06-15T06:00").exitCode == 0)
        let held = try await decided("pace", "why --now 2026-06-15T23:30")
        #expect(
            !held.isTold && held.by == ["activeHours"]
                && held.facts.contains("It is 23:30; reminders come from 07:00 to 22:00"), "\(held)")
        // It would be sent at noon, by --at or by --now.
        for line in ["why --now 2026-06-15T12:00", "why --now 2026-06-15T18:00 --at 12:00"] {
            let told = try await decided("pace", line)
            #expect(told.isTold && told.by.isEmpty, "\(told)")
        }
        // The deficit is below the reminder threshold: 833 ml are expected.
        #expect(try await tracker("log 810 --now 2026-06-15T11:59").exitCode == 0)
        let rounded = try await decided("pace", "why --now 2026-06-15T12:00")
        #expect(
            !rounded.isTold && rounded.by == ["deficitLargeEnough"]
                && rounded.facts.contains(
                    "23 ml behind, shown as 0 ml; reminders start at 50 ml"),
            "\(rounded)")
        // One per day: amber is sent at 14:00, and red is suppressed.
        #expect(try await tracker("settings set reminders.maxPerDay 1").exitCode == 0)
        #expect(try await tracker("check --show --now 2026-06-15T14:00").output.contains("Hydration"))
        let capped = try await decided("pace", "why --now 2026-06-15T18:00")
        #expect(!capped.isTold && capped.by == ["underDailyLimit"] && capped.facts.contains("1 of 1"), "\(capped)")
        // The query sent nothing and changed nothing.
        #expect(try await tracker("why --now 2026-06-15T14:00").exitCode == 0)
        #expect(try await decided("pace", "why --now 2026-06-15T18:00").by == ["underDailyLimit"])
    }

    /// The query is about a later time.
    @Test(arguments: [
        ("2026-06-15T18:00", "12:00", "2026-06-15 12:00"), ("2026-06-15T18:00", "23:30", "2026-06-15 23:30"),
        ("2026-06-15T18:00", "02:00", "2026-06-16 02:00"),
        ("2026-06-16T01:00", "23:00", "2026-06-15 23:00"), ("2026-06-16T01:00", "03:59", "2026-06-16 03:59"),
    ]) func `why --at uses the current day`(now: String, at: String, meant: String) async throws {
        #expect(try await tracker("why --now \(now) --at \(at)").output.hasPrefix("\(meant) UTC\n"))
    }

    @Test func `why explains in sentences`() async throws {
        // On pace, the text has no missing amount.
        let ahead = try await tracker("why --all --now 2026-06-15T06:00")
        #expect(
            ahead.output.contains(
                "  + While the day is on pace, the deficit is not checked (reminders.minDeficitMl).\n")
                && !ahead.output.contains("0 ml behind"), "\(ahead.output)")
        let silent = try await tracker("why --now 2026-06-15T23:30")
        #expect(
            silent.exitCode == 0 && silent.output.hasPrefix("2026-06-15 23:30 UTC\nBehind pace"), "\(silent.output)")
        #expect(
            silent.output.contains(
                """
                  - It is 23:30; reminders come from 07:00 to 22:00 (schedule.wake, schedule.sleep). What would \
                change it: Active hours, from 07:00 on.
                """
            ))
        #expect(!silent.output.contains("  + ") && silent.output.contains("Notifications cannot be shown from here"))
        let all = try await tracker("why --all --now 2026-06-15T12:00")
        #expect(
            all.output.contains("Behind pace              told\n  + Reminders are on (reminders.enabled).\n"),
            "\(all.output)")
        #expect(all.output.contains("0 ml were drunk, 833 ml were expected by now: 833 ml behind (red)."))
        #expect(try await tracker("why --at never").exitCode == 2)
        #expect(!FileManager.default.fileExists(atPath: folder.file("s.sqlite")))
    }
}
