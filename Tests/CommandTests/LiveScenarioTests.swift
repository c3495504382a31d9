import Foundation
import Support
import Testing

/// A scenario that is played for real: the built gateway, the built emulator, a socket between them.
@Suite(.serialized) struct LiveScenarioTests {
    private static func emulator(_ folder: TemporaryFolder, _ more: [String] = []) async throws -> RunningProgram {
        let running = try Program("waterh-emulator").start(
            ["run", "--link", "unix:\(folder.file("b.sock"))", "--control", "unix:\(folder.file("c.sock"))"] + more)
        _ = try await running.line { $0.hasPrefix("ready") }
        return running
    }

    private static func play(_ text: String, _ folder: TemporaryFolder) async throws -> (
        code: Int32, object: [String: Any], said: String
    ) {
        try text.write(toFile: folder.file("day.toml"), atomically: true, encoding: .utf8)
        let words = [
            "scenario", "run", folder.file("day.toml"), "--link", "unix:\(folder.file("b.sock"))", "--control",
            "unix:\(folder.file("c.sock"))", "--pause", "0.1", "--json",
        ]
        let result = try await Program("waterh-gateway").run(words, limit: 120)
        let object = try? JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        return (result.exitCode, object ?? [:], result.output + result.error)
    }

    @Test func `sips, faults, two who ask: what is promised holds over a socket`() async throws {
        let folder = try TemporaryFolder()
        let bottle = try await Self.emulator(folder)
        let day = """
            title = "A day"
            steps = [
              { at = "8h", sip = 120 }, { at = "9h", sip = 80, times = 3, every = "10m" }, { at = "10h", poll = \
            "disconnect@40" },
              { at = "11h", sip = 200 }, { at = "12h", poll = "" }, { at = "13h", sip = 60 }, { at = "14h", poll = "", \
            by = "the phone", keep = true }, { at = "15h", drop = true },
            ]
            [promise]
            sips = 6
            ml = 620
            quarantined = 0
            """
        let (code, object, said) = try await Self.play(day, folder)
        #expect(code == 0, "\(said)")
        #expect(object["holds"] as? Bool == true)
        #expect(object["sips"] as? Int == 6)
        #expect(object["ml"] as? Int == 620)
        bottle.send(signal: SIGTERM)
    }

    @Test func `a broker that goes away is a real one, and is told of all that was drunk meanwhile when it is back`()
        async throws
    {
        let folder = try TemporaryFolder()
        let bottle = try await Self.emulator(folder)
        let day = """
            title = "The broker is away"
            steps = [
              { at = "8h", sip = 120 }, { at = "8h30m", poll = "" }, { at = "9h", broker-away = "4h" }, { at = "10h", \
            sip = 81 }, { at = "10h30m", poll = "" },
              { at = "11h", sip = 82 }, { at = "12h", poll = "" }, { at = "14h", sip = 200 }, { at = "15h", poll = "" },
            ]
            [promise]
            sips = 4
            heard = 4
            heard-in-order = true
            """
        let (code, object, said) = try await Self.play(day, folder)
        #expect(code == 0, "\(said)")
        #expect(object["heard"] as? Int == 4)
        let story = (object["story"] as? [[String: Any]] ?? []).compactMap { $0["line"] as? String }
        #expect(story.contains("the broker is away") && story.contains("the broker is back"), "\(story)")
        // It is away for what was drunk in between.
        let (away, back) = (
            story.firstIndex(of: "the broker is away") ?? 0, story.firstIndex(of: "the broker is back") ?? 0
        )
        #expect(
            story[away..<back].contains { $0.contains("81 ml") }
                && story[away..<back].contains { $0.contains("82 ml") }, "\(story)")
        bottle.send(signal: SIGTERM)
    }

    @Test func `what the broker was not told is found, also for real`() async throws {
        let folder = try TemporaryFolder()
        let bottle = try await Self.emulator(folder)
        let (code, object, said) = try await Self.play(
            "title = \"x\"\nsteps = [{ at = \"1h\", sip = 120 }]\n[promise]\nheard = 2\n", folder)
        #expect(code == 1, "\(said)")
        #expect(((object["broken"] as? [[String: Any]])?.first?["message"] as? String) == "heard: 2 promised, 1 found")
        bottle.send(signal: SIGTERM)
    }

    @Test func `a promise that does not hold is told, with what was found`() async throws {
        let folder = try TemporaryFolder()
        let bottle = try await Self.emulator(folder)
        let (code, object, said) = try await Self.play(
            "title = \"x\"\nsteps = [{ at = \"1h\", sip = 120 }]\n[promise]\nsips = 2\n", folder)
        #expect(code == 1, "\(said)")
        #expect(((object["broken"] as? [[String: Any]])?.first?["message"] as? String) == "sips: 2 promised, 1 found")
        bottle.send(signal: SIGTERM)
    }

    @Test func `what only a simulated world can do is refused before anything is done`() async throws {
        let folder = try TemporaryFolder()
        let bottle = try await Self.emulator(folder)
        let (code, _, said) = try await Self.play(
            "title = \"x\"\nsteps = [{ at = \"1h\", sip = 120 }, { at = \"2h\", disk = \"full\" }]\n", folder)
        #expect(code == 3)
        #expect(said.contains("cannot be played for real: it has a disk that is full"))
        let status = try await Program("waterh-emulator").run([
            "control", "--control", "unix:\(folder.file("c.sock"))", "status", "--json",
        ])
        #expect(status.output.contains("\"records\":0"))
        bottle.send(signal: SIGTERM)
    }

    /// An adversary's finding: of a folder with one file that is no scenario nothing was played, and there was no
    /// report.
    @Test func `a file that cannot be read is a test that failed, and the others are played`() async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.file("days"), withIntermediateDirectories: true)
        try Data("title = \"good\"\nsteps = [{ at = \"1h\", sip = 120 }]\n".utf8).write(
            to: folder.url("days/good.toml"))
        try Data("not toml [".utf8).write(to: folder.url("days/bad.toml"))
        let result = try await Program("waterh-gateway").run([
            "scenario", "run", folder.file("days"), "--junit", folder.file("r.xml"),
        ])
        #expect(
            result.exitCode == 4 && result.output.contains("1 played, all hold") && result.error.contains("bad.toml"),
            "\(result.output)\(result.error)")
        let report = try String(contentsOf: folder.url("r.xml"), encoding: .utf8)
        #expect(
            report.contains("tests=\"2\" failures=\"1\"") && report.contains("name=\"good\"")
                && report.contains("bad.toml"), "\(report)")
    }

    @Test func `a bottle that holds drinks already, and none at all`() async throws {
        let folder = try TemporaryFolder()
        let nobody = try await Self.play("title = \"x\"\nsteps = [{ at = \"1h\", sip = 120 }]\n", folder)
        #expect(nobody.code == 5, "\(nobody.said)")
        let bottle = try await Self.emulator(
            folder, ["--capture", "\(Program.repository)/captures/boost_two-days.btsnoop"])
        let full = try await Self.play("title = \"x\"\nsteps = [{ at = \"1h\", sip = 120 }]\n", folder)
        #expect(full.code == 3 && full.said.contains("holds 40 records"), "\(full.said)")
        bottle.send(signal: SIGTERM)
    }
}
