import Foundation
import Support
import Testing

/// The hardware test session against the built emulator, with the user's part scripted. The sessions of a test run at
/// the same time, because they mostly wait.
@Suite struct BenchDayCommandTests {
    private static let twoDays = [
        "--capture", ReplayCommandTests.twoDays, "--restamp", "today",
    ]

    private static func line(_ pair: Pair) -> String {
        "bench-day --link \(pair.socket) --rehearse \(pair.control) --folder \(pair.folder.file("day"))"
    }

    private static func text(_ pair: Pair, _ name: String) throws -> String {
        try pair.folder.text("day/\(name)")
    }

    private static func rehearse(_ emulator: [String], _ more: String = "") async throws -> (
        pair: Pair, object: [String: Any], answers: [String: String]
    ) {
        let pair = try await Pair(emulator)
        let result = try await Program.gateway.run("\(line(pair)) --json \(more)", limit: 120)
        #expect(result.exitCode == 0, "\(result.error)")
        let object = try result.object()
        let findings = try #require(object["findings"] as? [[String: Any]])
        #expect(findings.allSatisfy { ($0["rule"] as? String)?.hasPrefix("P") == true })
        let answers = findings.compactMap { finding in
            (finding["point"] as? String).flatMap { point in (finding["answer"] as? String).map { (point, $0) } }
        }
        return (pair, object, Dictionary(answers, uniquingKeysWith: { first, _ in first }))
    }

    private static let isIn2026 = Calendar.current.component(.year, from: Date()) == 2026

    /// The answers of a bottle without faults. In 2026 the year and the strict dialect's constant are the same byte.
    private static let usual = [
        "byte-0": isIn2026 ? "unknown" : "yes", "replay": "yes", "acknowledge-without-dump": "no",
        "acknowledge-one": "yes",
        "response-reads": "no", "clock-drifts": "no", "amount": "yes", "bytes-10-11": "yes", "one-frame": "yes",
        "advertises-connected": "unknown",
    ]

    @Test func `a hardware session reports how a bottle differs from one without faults`() async throws {
        let bottles: [(emulator: [String], different: [String: String])] = [
            (
                ["--faults", "frame=8,counts,step=3600", "--dialect", "strict"] + Self.twoDays,
                [
                    "one-frame": "no", "acknowledge-without-dump": "yes", "clock-drifts": "yes",
                    "byte-0": Self.isIn2026 ? "unknown" : "no",
                ]
            ),
            (
                ["--faults", "forget=100,unasked=300,keep-alive"] + Self.twoDays,
                ["acknowledge-one": "no"]
            ), (["--faults", "split=20,twice=100"] + Self.twoDays, [:]),
            (
                ["--profile", "draft"] + Self.twoDays,
                ["response-reads": "yes", "one-frame": "unknown", "byte-0": Self.isIn2026 ? "unknown" : "no"]
            ), (["--model", "vita"], ["one-frame": "unknown"]),
        ]
        try await concurrently(bottles) { emulator, different in
            let (_, object, answers) = try await Self.rehearse(emulator)
            #expect(answers == Self.usual.merging(different) { $1 }, "\(object)")
        }
    }

    @Test func `a hardware session records every PDU and acknowledges only stored records`() async throws {
        let (pair, object, answers) = try await Self.rehearse(Self.twoDays)
        #expect(answers == Self.usual && object["complete"] as? Bool == true, "\(object)")
        let captures = try pair.folder.names("day/captures")
        #expect(captures.count == 5 && captures.first == "1-first-connection.btsnoop")
        for capture in captures {
            let commands = try await Program.replay.succeed(
                "commands \(pair.folder.file("day/captures/\(capture)")) --json")
            let acknowledges = commands.output.contains("\"hex\":\"52500004")
            #expect(acknowledges == capture.hasPrefix("5-acknow"), "\(capture)")
        }
        let export = try await Program.tracker.run("export --json --store \(pair.folder.file("day/waterh.sqlite"))")
        #expect((try export.object()["drinks"] as? [Any])?.count == 43)
        #expect(try Self.text(pair, "records.txt").split(separator: "\n").allSatisfy { $0.utf8.count == 26 })
        let steps = try JSONSerialization.jsonObject(with: Data(try Self.text(pair, "steps.json").utf8))
        #expect(
            (steps as? [[String: Any]])?.first { $0["step"] as? String == "log" }?["sent"] as? String == "4754000106")
        #expect(try pair.folder.mode("day") == 0o700)
        #expect(try pair.records() == 0)
    }

    @Test func `nothing is acknowledged when the log cannot be stored or the user does not agree`() async throws {
        async let unstored: Void = {
            let folder = try TemporaryFolder()
            let (pair, object, _) = try await Self.rehearse(Self.twoDays, "--store \(folder.path)")
            #expect("\(object["leftOut"] ?? "")".contains("could not be stored"))
            #expect(try pair.records() == 43)
        }()
        async let refused: Void = {
            let pair = try await Pair(Self.twoDays)
            let result = try await Program.gateway.run(
                "bench-day --link \(pair.socket) --folder \(pair.folder.file("day"))",
                input: Array("s\ns\ns\ns\nn\n".utf8), limit: 120)
            result.expect(0, output: "5-acknowledgements: skipped")
            #expect(try pair.records() == 40)
        }()
        async let disconnected: Void = {
            let (pair, object, _) = try await Self.rehearse(["--faults", "frame=4,hang-up=5"] + Self.twoDays)
            #expect(try !Self.text(pair, "records.txt").isEmpty)
            #expect("\(object["leftOut"] ?? "")".contains("1-first-connection: it was interrupted"))
            #expect(try pair.records() >= 40)
        }()
        _ = try await (unstored, refused, disconnected)
    }

    @Test func `an interrupted hardware session keeps its recording`() async throws {
        try await concurrently([SIGINT, SIGHUP, SIGTERM]) { signal in
            let pair = try await Pair(Self.twoDays)
            // Without --rehearse the session waits for an answer on standard input, which stays open.
            let pipe = pair.folder.file("answers")
            #expect(mkfifo(pipe, 0o600) == 0)
            let words = "bench-day --link \(pair.socket) --folder \(pair.folder.file("day"))"
            let day = try Program(path: "/bin/sh").start([
                "-c", "exec 0<>\(pipe); exec \(Program.gateway.path) \(words)",
            ])
            let records = pair.folder.file("day/records.txt")
            #expect(await eventually(within: 60) { FileManager.default.fileExists(atPath: records) })
            day.send(signal: signal)
            let result = try await day.finish()
            #expect(result.exitCode == 130, "\(result.error)")
            #expect(try Self.text(pair, "findings.json").contains("\"complete\":false"))
            let drinks = try await Program.replay.run(
                "drinks \(pair.folder.file("day/captures/1-first-connection.btsnoop")) --json")
            #expect(drinks.lines.count == 40)
            let poll = try await pair.poll()
            #expect((poll.object["received"] as? Int ?? 0) >= 40)
            let again = try await Program.gateway.run(Self.line(pair))
            again.expect(2, error: "not empty")
        }
    }

    @Test func `a hardware session without a bottle reports the contents of its folder`() async throws {
        let folder = try TemporaryFolder()
        let recording = try await Program.gateway.run(
            "bench-day --link capture:\(ReplayCommandTests.twoDays) --folder \(folder.file("a"))")
        #expect(recording.exitCode == 2)
        let none = "--link unix:\(folder.file("none.sock")) --rehearse unix:\(folder.file("c.sock"))"
        let absent = try await Program.gateway.run("bench-day \(none) --folder \(folder.file("b"))")
        absent.expect(5, error: "is in \(folder.file("b"))")
    }
}
