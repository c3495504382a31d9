import Foundation
import Support
import Testing

@Suite(.timeLimit(.minutes(3))) struct StatusFollowTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var environment: [String: String] {
        [
            "WATERH_ZONE": "Europe/Berlin", "HOME": folder.path, "XDG_STATE_HOME": folder.path,
            "XDG_CONFIG_HOME": folder.path,
        ]
    }

    @discardableResult
    private func tracker(_ line: String, store: String = "s.sqlite") async throws -> Program.Result {
        let result = try await Program("waterh-tracker").run(
            line.split(separator: " ").map(String.init) + ["--store", folder.file(store)], environment: environment)
        #expect(result.exitCode == 0, "\(line): \(result.error)")
        return result
    }

    private func follow(_ line: String = "") throws -> RunningProgram {
        try Program("waterh-tracker").start(
            ["status", "--follow", "--store", folder.file("s.sqlite")] + line.split(separator: " ").map(String.init),
            environment: environment)
    }

    /// Waits until the program has written `count` lines.
    private func lines(_ program: RunningProgram, _ count: Int) async throws -> [String] {
        let found = await event(within: 30) {
            let lines = program.output.split(separator: "\n").map(String.init)
            return lines.count >= count ? lines : nil
        }
        return try #require(found, "\(program.output)\(program.error)")
    }

    @Test(arguments: [
        (
            "waybar", "day",
            #"""
            {"alt":"alerting","class":"overdue","percentage":12,"text":"0.2L / 2.0L","tooltip":"400ml to \#
            catch up\nlast drink 4 h ago\nWater due now"}
            """#
        ),
        (
            "waybar", "session",
            #"""
            {"alt":"running","class":"running","percentage":58,"text":"1 · Water due now","tooltip":"1 drink, \#
            0 waters"}
            """#
        ),
        ("i3blocks", "day", ##"{"color":"#E53935","full_text":"0.2L / 2.0L","short_text":"12 %"}"##),
        ("polybar", "day", "%{F#E53935}0.2L / 2.0L%{F-}"),
        ("tmux", "session", "#[fg=#42A5F5]1 · Water due now#[default]"), ("plain", "day", "0.2L / 2.0L"),
    ])
    func `status has the format of each status bar`(format: String, item: String, line: String) async throws {
        try await tracker("settings set hydration.goalMl 2000 --now 2026-06-15T07:00")
        try await tracker("log 250 --now 2026-06-15T08:00")
        try await tracker("session start --now 2026-06-15T11:30")
        try await tracker("drink --now 2026-06-15T11:40")
        #expect(
            try await tracker("status --format \(format) --item \(item) --now 2026-06-15T12:00").output == line + "\n")
    }

    @Test func `status reports a missing session and rejects wrong use`() async throws {
        #expect(try await tracker("status --format plain --item session").output == "No Session\n")
        for line in ["--follow --format text", "--speed 2", "--follow --speed 0"] {
            let result = try await Program("waterh-tracker").run(
                ["status"] + line.split(separator: " ").map(String.init), environment: environment)
            #expect(result.exitCode == 2, "\(line)")
        }
    }

    @Test func `status --follow prints a line per change and ends`() async throws {
        try await tracker("settings set hydration.goalMl 2000")
        let bar = try follow()
        #expect(try await lines(bar, 1) == ["0.0L / 2.0L"])
        try await tracker("log 300")
        let committed = ContinuousClock.now
        #expect(try await lines(bar, 2).last == "0.3L / 2.0L")
        print("status --follow: a line \(ContinuousClock.now - committed) after the command that wrote had ended")
        // Another store replaces the file.
        try await tracker("settings set hydration.goalMl 3000", store: "other.sqlite")
        try await tracker("log 900", store: "other.sqlite")
        for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: folder.file("s.sqlite" + end)) }
        try FileManager.default.moveItem(atPath: folder.file("other.sqlite"), toPath: folder.file("s.sqlite"))
        #expect(
            await event(within: 30) { bar.output.hasSuffix("0.9L / 3.0L\n") ? true : nil } == true,
            "\(bar.output)\(bar.error)")
        try await tracker("log 100")
        #expect(
            await event(within: 30) { bar.output.hasSuffix("1.0L / 3.0L\n") ? true : nil } == true,
            "\(bar.output)\(bar.error)")
        // An unreadable store keeps the last line, and one error is printed.
        try Data("no store".utf8).write(to: folder.url("new"))
        _ = rename(folder.file("new"), folder.file("s.sqlite"))
        #expect(await event(within: 30) { bar.error.contains("warning") ? true : nil } == true)
        let end = try await bar.stop(limit: 60)
        #expect(
            end.exitCode == 0 && end.output.hasSuffix("1.0L / 3.0L\n")
                && end.error.components(separatedBy: "warning").count <= 3, "\(end.error)")
    }

    /// With `| head -n 1` the program ends although no change follows.
    @Test func `status --follow ends when its reader is gone`() async throws {
        try await tracker("settings set hydration.goalMl 2000")
        let shell = Program(path: "/bin/sh")
        let result = try await shell.run(
            [
                "-c",
                """
                { \(Program("waterh-tracker").path) status --follow --store \(folder.file("s.sqlite")); echo \
                \"ended $?\" >&2; } | head -n 1
                """,
            ], environment: environment)
        #expect(result.output == "0.0L / 2.0L\n" && result.error.hasSuffix("ended 0\n"), "\(result.error)")
    }

    @Test func `status --follow passes a whole day in fast time`() async throws {
        try await tracker("settings set hydration.goalMl 2000 --now 2026-06-15T05:00")
        for (ml, hour) in [(600, "11"), (700, "14"), (800, "19")] {
            try await tracker("log \(ml) --now 2026-06-15T\(hour):00")
        }
        let bar = try follow("--format waybar --now 2026-06-15T05:00 --speed 7200")
        #expect(
            await event(within: 90) {
                bar.output.contains(#""text":"0.0L / 2.0L""#) && bar.output.contains("2.1L")
                    && bar.output.split(separator: "\n").last?.contains("0.0L") == true ? true : nil
            } == true, "\(bar.output)")
        let end = try await bar.stop(limit: 60)
        #expect(end.exitCode == 0 && end.error.isEmpty, "\(end.error)")
        struct Line: Decodable, Equatable {
            var text: String
            var `class`: String
            var percentage: Int
        }
        let texts = end.output.split(separator: "\n").map(String.init)
        let lines = try texts.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
        #expect(zip(texts, texts.dropFirst()).allSatisfy { $0 != $1 }, "a line is a change")
        var totals: [String] = []
        for line in lines where totals.last != line.text { totals.append(line.text) }
        #expect(totals == ["0.0L / 2.0L", "0.6L / 2.0L", "1.3L / 2.0L", "2.1L / 2.0L", "0.0L / 2.0L"])
        #expect(Set(lines.map(\.class)) == ["onTrack", "attention", "overdue"])
        #expect(lines.contains { $0.percentage == 100 })
    }
}
