import Foundation
import Support
import Testing

/// What becomes of a run of chaos that fails: a scenario that everybody can play.
@Suite("Chaos as a scenario") struct ChaosScenarioTests {
    /// A file made of what happened, and how it is played.
    private func write(_ happened: String, to path: String) async throws {
        let python = try #require(Program(system: "python3"))
        let script = """
            import sys; sys.path.insert(0, sys.argv[1])
            from chaos_scenario import ScenarioNotes
            notes = ScenarioNotes()
            \(happened)
            open(sys.argv[2], "w", encoding="utf-8").write(notes.text("hardware/bench chaos 2 --seed 9", "both", \
            "vita", 1795000000.5, True, 9))
            """
        let result = try await python.run(
            ["-c", script, Program.repository + "/Tests/System", path],
            environment: ["PYTHONDONTWRITEBYTECODE": "1", "PYTHONIOENCODING": "utf-8"])
        try #require(result.exitCode == 0, "\(result.error)")
    }

    private func played(_ path: String) async throws -> (code: Int32, object: [String: Any], said: String) {
        let result = try await Program("waterh-gateway").run(
            ["scenario", "run", path, "--json", "--story"], limit: 120)
        return (
            result.exitCode,
            (try? JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]) ?? [:],
            result.output + result.error
        )
    }

    @Test("everything that can happen is a step, and what cannot be said is a comment")
    func everything() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("day.toml")
        try await write(
            #"""
            notes.note(0.0, "bottle", "ring=300,lose@3,mtu=64,gap=5")
            for n in range(12): notes.note(1 + n * 1.2, "sip", 100 + n)
            notes.note(20.25, "poll")
            notes.note(20.3, "kill")
            notes.note(25.5, "clock", -20000 * 86400); notes.note(27, "clock", 400 * 86400); notes.note(28, "clock", 0)
            notes.note(29, "zone", "Asia/Kathmandu"); notes.note(29.5, "zone", "Europe/Berlin")
            notes.note(30, "disk", "full"); notes.note(31, "poll"); notes.note(40, "disk", "free")
            notes.note(41, "bottle-gone"); notes.note(43, "bottle", "twice=20,late@2:500ms")
            notes.note(45, "look"); notes.note(50, "drop"); notes.note(51, "power-loss"); notes.note(52.5, "sip", \#
            300); notes.note(55, "poll"); notes.note(120, "poll")
            notes.leave_out('a process beside: log\n[bottle] "'); notes.leave_out('a process beside: log\n[bottle] \#
            "'); notes.leave_out("SIGSTOP to \x00 poll")
            notes.fail(12.34, 'a sip is gone: "ml" # \x07 12\nsteps = []')
            """#.split(separator: "\n").joined(separator: "\n"), to: path)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(
            text.hasPrefix(
                """
                # hardware/bench chaos 2 --seed 9, which failed:\n# - 12.3 s: a sip is gone: \"ml\" # 12 steps = \
                []\n
                """),
            "\(text)")
        #expect(text.contains("# - 2 times: a process beside: log [bottle] \"\n"), "\(text)")
        #expect(text.contains("days off"), "\(text)")
        #expect(
            text.contains(#"{ at = "20.250s", poll = "lose@3,mtu=64" }"#)
                && text.contains(#"{ at = "41.000s", away = "2.000s" }"#)
                && text.contains(#"habits = "ring=300,gap=5""#), "\(text)")
        let (code, object, said) = try await played(path)
        #expect(code == 0, "\(said)")
        #expect(object["title"] as? String == "hardware/bench chaos 2 --seed 9")
        // The last one has no date that anybody knows: the bottle's clock had begun anew.
        #expect(object["sips"] as? Int == 12 && object["doubted"] as? Int == 1, "\(said)")
        let story = (object["story"] as? [[String: Any]] ?? []).compactMap { $0["line"] as? String }
        for line in [
            "The process that asked was killed.", "The disk is full.", "The host is in Asia/Kathmandu now.",
            "The bottle has other habits.", "The bottle is out of reach for 2s.",
        ] {
            #expect(story.contains(line), "\(line): \(story)")
        }
    }

    @Test("whatever a run draws, its file is a scenario", arguments: [1, 2, 3])
    func drawn(seed: Int) async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("day.toml")
        try await write(
            """
            import random
            from bottle import fault_plan
            from world import ZONES
            chance = random.Random(\(seed))
            for at in range(400):
                kind = chance.choice(["sip", "sip", "sip", "poll", "bottle", "bottle-gone", "look", "kill", "drop", \
            "power-loss", "clock", "zone", "disk"])
                value = {"sip": chance.randint(1, 900), "bottle": fault_plan(chance), "clock": chance.choice([-90, 0, \
            3600, -51 * 86400, 400 * 86400, -20000 * 86400]), "zone": chance.choice(ZONES), "disk": \
            chance.choice(["full", "free"])}.get(kind)
                notes.note(at * 1.7, kind, value)
            """, to: path)
        let (_, object, said) = try await played(path)
        #expect(object["title"] as? String == "hardware/bench chaos 2 --seed 9", "\(said)")
        #expect(object["polls"] as? Int ?? 0 > 5, "\(said)")
    }

    @Test("a run that is longer than a scenario keeps its end, and all that lasts")
    func long() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("day.toml")
        try await write(
            """
            notes.note(0, "bottle", ""); notes.note(0.5, "zone", "Asia/Kathmandu")
            for n in range(30000): notes.note(1 + n, "sip", 1 + n % 900)
            """, to: path)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(
            text.contains(#"zone = "Asia/Kathmandu""#) && text.contains(#"at = "30000.000s", sip = 300 }"#)
                && !text.contains(#"at = "1.000s""#))
        let listed = try await Program("waterh-gateway").run(["scenario", "list", path])
        #expect(listed.exitCode == 0, "\(listed.error)")
        #expect(listed.output.contains("9999 steps"), "\(listed.output)")
    }

    @Test("a day that breaks a promise is shrunk to what breaks it; one that holds is not")
    func shrink() async throws {
        let folder = try TemporaryFolder()
        let day = """
            title = "A day"
            steps = [
              { at = "1h", sip = 120, times = 30, every = "10m" }, { at = "7h", poll = "lose@3" }, { at = "8h", away = \
            "2h" },
              { at = "9h", poll = "" }, { at = "11h", sip = 70, times = 20, every = "1m" }, { at = "12h", poll = "" },
            ]
            [promise]
            told = []
            failed-polls = 0
            """
        try day.write(toFile: folder.file("day.toml"), atomically: true, encoding: .utf8)
        let shrunk = try await Program("waterh-gateway").run(
            ["scenario", "shrink", folder.file("day.toml"), "-o", folder.file("small.toml"), "--seconds", "60"],
            limit: 120)
        #expect(shrunk.exitCode == 0, "\(shrunk.error)")
        #expect(
            shrunk.error.contains("Shrunk from 54 steps to 2.")
                && shrunk.error.contains("failed-polls: 0 promised, 1 found"), "\(shrunk.error)")
        let again = try await Program("waterh-gateway").run(["scenario", "run", folder.file("small.toml")])
        #expect(again.exitCode == 1 && again.output.contains("failed-polls: 0 promised, 1 found"), "\(again.output)")
        // Without what breaks it there is nothing to shrink, and nothing is written.
        try day.replacing("{ at = \"9h\", poll = \"\" },", with: "").write(
            toFile: folder.file("good.toml"), atomically: true, encoding: .utf8)
        let good = try await Program("waterh-gateway").run([
            "scenario", "shrink", folder.file("good.toml"), "-o", folder.file("none.toml"),
        ])
        #expect(good.exitCode == 1 && good.error.contains("there is nothing to shrink"), "\(good.error)")
        #expect(!FileManager.default.fileExists(atPath: folder.file("none.toml")))
    }
}
