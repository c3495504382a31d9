import Foundation
import Support
import Testing

/// The hardware test session against the built emulator, with the user's part scripted.
@Suite struct BenchDayCommandTests {
    private func rehearse(_ emulator: [String], _ more: [String] = []) async throws -> (
        pair: Pair, object: [String: Any], answers: [String: String], error: String
    ) {
        let pair = try await Pair(emulator)
        let result = try await Program("waterh-gateway").run(
            [
                "bench-day", "--link", pair.socket, "--rehearse", pair.control, "--folder", pair.folder.file("day"),
                "--json",
            ] + more, limit: 120)
        #expect(result.exitCode == 0, "\(result.error)")
        let object = try #require(try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any])
        let findings = try #require(object["findings"] as? [[String: Any]])
        #expect(findings.allSatisfy { ($0["rule"] as? String)?.hasPrefix("P") == true })
        let answers = findings.compactMap { finding in
            (finding["point"] as? String).flatMap { point in (finding["answer"] as? String).map { (point, $0) } }
        }
        return (pair, object, Dictionary(answers, uniquingKeysWith: { first, _ in first }), result.error)
    }

    private static let twoDays = [
        "--capture", Program.repository + "/captures/boost_two-days.btsnoop", "--restamp", "today",
    ]

    private static let isIn2026 = Calendar.current.component(.year, from: Date()) == 2026

    /// The answers of a bottle without faults. In 2026 the year and the constant of the strict dialect are the same byte.
    private static let usual = [
        "byte-0": isIn2026 ? "unknown" : "yes", "replay": "yes", "acknowledge-without-dump": "no",
        "acknowledge-one": "yes",
        "response-reads": "no", "clock-drifts": "no", "amount": "yes", "bytes-10-11": "yes", "one-frame": "yes",
        "advertises-connected": "unknown",
    ]

    @Test(
        arguments: [
            (
                ["--faults", "frame=8,counts,step=3600", "--dialect", "strict"] + twoDays,
                [
                    "one-frame": "no", "acknowledge-without-dump": "yes", "clock-drifts": "yes",
                    "byte-0": isIn2026 ? "unknown" : "no",
                ]
            ),
            (
                ["--faults", "forget=100,unasked=300,keep-alive"] + twoDays,
                ["acknowledge-one": "no"]
            ),
            (["--faults", "split=20,twice=100"] + twoDays, [:]),
            (
                ["--profile", "draft"] + twoDays,
                ["response-reads": "yes", "one-frame": "unknown", "byte-0": isIn2026 ? "unknown" : "no"]
            ),
            (["--model", "vita"], ["one-frame": "unknown"]),
        ] as [([String], [String: String])])
    func `the answers show differences from a bottle without faults`(
        emulator: [String], different: [String: String]
    ) async throws {
        let (_, object, answers, error) = try await rehearse(emulator)
        #expect(answers == Self.usual.merging(different) { $1 }, "\(object)\n\(error)")
    }

    @Test func `a session records everything and acknowledges only stored records`() async throws {
        let (pair, object, answers, _) = try await rehearse(Self.twoDays)
        #expect(answers == Self.usual, "\(object)")
        #expect(object["complete"] as? Bool == true)
        let captures = try FileManager.default.contentsOfDirectory(atPath: pair.folder.file("day/captures")).sorted()
        #expect(captures.count == 5 && captures.first == "1-first-connection.btsnoop")
        for capture in captures {
            let commands = try await Program("waterh-replay").run([
                "commands", pair.folder.file("day/captures/\(capture)"), "--json",
            ])
            #expect(commands.exitCode == 0, "\(capture): \(commands.error)")
            let acknowledges = commands.output.contains("\"hex\":\"52500004")
            #expect(acknowledges == capture.hasPrefix("5-acknow"), "\(capture)")
        }
        let export = try await Program("waterh-tracker").run([
            "export", "--json", "--store", pair.folder.file("day/waterh.sqlite"),
        ])
        let drinks = try JSONSerialization.jsonObject(with: Data(export.outputBytes)) as? [String: Any]
        #expect((drinks?["drinks"] as? [Any])?.count == 43)
        #expect(
            try String(contentsOfFile: pair.folder.file("day/records.txt"), encoding: .utf8).split(separator: "\n")
                .allSatisfy { $0.utf8.count == 26 })
        let steps = try JSONSerialization.jsonObject(
            with: Data(contentsOf: pair.folder.url("day").appending(path: "steps.json")))
        #expect(
            (steps as? [[String: Any]])?.first { $0["step"] as? String == "log" }?["sent"] as? String == "4754000106")
        #expect(
            try FileManager.default.attributesOfItem(atPath: pair.folder.file("day"))[.posixPermissions] as? Int
                == 0o700)
        #expect(try await Self.records(pair) == 0)
    }

    @Test func `nothing is acknowledged when the log cannot be stored`() async throws {
        let folder = try TemporaryFolder()
        let (pair, object, _, _) = try await rehearse(Self.twoDays, ["--store", folder.path])
        #expect("\(object["leftOut"] ?? "")".contains("could not be stored"))
        #expect(try await Self.records(pair) == 43)
    }

    @Test func `nothing is acknowledged without consent or when the answers end`() async throws {
        let pair = try await Pair(Self.twoDays)
        let result = try await Program("waterh-gateway").run(
            ["bench-day", "--link", pair.socket, "--folder", pair.folder.file("day")],
            input: Array("s\ns\ns\ns\nn\n".utf8), limit: 120)
        #expect(
            result.exitCode == 0 && result.output.contains("5-acknowledgements: it was left out"), "\(result.error)")
        #expect(try await Self.records(pair) == 40)
    }

    @Test func `a bottle that disconnects in every log costs those parts and its records are written`() async throws {
        let (pair, object, _, _) = try await rehearse(["--faults", "frame=4,hang-up=5"] + Self.twoDays)
        let records = try String(contentsOfFile: pair.folder.file("day/records.txt"), encoding: .utf8)
        #expect(!records.isEmpty && "\(object["leftOut"] ?? "")".contains("1-first-connection: it broke off"))
        #expect(try await Self.records(pair) >= 40)
    }

    /// The number of records in the bottle.
    private static func records(_ pair: Pair) async throws -> Int {
        let result = try await Program("waterh-emulator").run([
            "control", "--control", pair.control, "status", "--json",
        ])
        let object = try #require(try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any])
        let status = object["status"] as? [String: Any] ?? object
        return try #require(status["records"] as? Int)
    }

    @Test(arguments: [SIGINT, SIGHUP, SIGTERM])
    func `an interrupted hardware session keeps its record`(_ signal: Int32) async throws {
        let pair = try await Pair(["--capture", Program.repository + "/captures/boost_two-days.btsnoop"])
        let arguments = [
            "bench-day", "--link", pair.socket, "--rehearse", pair.control, "--folder", pair.folder.file("day"),
        ]
        // Without --rehearse the session waits for an answer on standard input, which stays open.
        let (gateway, pipe) = (Program("waterh-gateway"), pair.folder.file("answers"))
        #expect(mkfifo(pipe, 0o600) == 0)
        let shell = try #require(Program(system: "sh"))
        let day = try shell.start([
            "-c",
            "exec 0<>\(pipe); exec \(gateway.path) bench-day --link \(pair.socket) --folder \(pair.folder.file("day"))",
        ])
        let isKept = await event(within: 60) {
            FileManager.default.fileExists(atPath: pair.folder.file("day/records.txt")) ? true : nil
        }
        #expect(isKept == true)
        day.send(signal: signal)
        let result = try await day.finish()
        #expect(result.exitCode == 130, "\(result.error)")
        #expect(
            try String(contentsOfFile: pair.folder.file("day/findings.json"), encoding: .utf8).contains(
                "\"complete\":false"))
        let drinks = try await Program("waterh-replay").run([
            "drinks", pair.folder.file("day/captures/1-first-connection.btsnoop"), "--json",
        ])
        #expect(drinks.lines.count == 40)
        let poll = try await pair.poll()
        #expect((poll.object["received"] as? Int ?? 0) >= 40)
        let again = try await Program("waterh-gateway").run(arguments)
        #expect(again.exitCode == 2 && again.error.contains("not empty"))
    }

    @Test
    func `a hardware session without a bottle reports the contents of its folder`() async throws {
        let folder = try TemporaryFolder()
        let recording = try await Program("waterh-gateway").run([
            "bench-day", "--link", "capture:" + Program.repository + "/captures/boost_two-days.btsnoop", "--folder",
            folder.file("a"),
        ])
        #expect(recording.exitCode == 2)
        let nobody = try await Program("waterh-gateway").run([
            "bench-day", "--link", "unix:" + folder.file("none.sock"), "--rehearse", "unix:" + folder.file("c.sock"),
            "--folder", folder.file("b"),
        ])
        #expect(nobody.exitCode == 5 && nobody.error.contains("is in \(folder.file("b"))"), "\(nobody.error)")
    }
}
