import Foundation
import Support
import Testing

/// What a service keeps of polls that went wrong.
@Suite("Polls that went wrong") struct FlightRecorderTests {
    @Test(
        """
        of a poll that fails the service keeps a capture and its story, for the owner alone, and the report tells \
        of it
        """,
        .timeLimit(.minutes(1)))
    func keepsFailedPoll() async throws {
        let pair = try await Pair(["--faults", "mtu=23"])
        try await pair.sip(120)
        let (folder, store) = (pair.folder, pair.store)
        // Of a clock that was ahead, and somebody's own: neither pushes out what is new, and the own one stays.
        let kept = store + "-polls"
        try FileManager.default.createDirectory(
            atPath: kept, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let ahead = (10...25).map { "202811\($0)T120000000" }
        for name in ahead + ["0-my-own"] {
            try Data("x".utf8).write(to: URL(fileURLWithPath: "\(kept)/\(name).btsnoop"))
        }
        let service = try Program("waterh-gateway").start([
            "run", "--link", pair.socket, "--store", store, "--listen", "off",
        ])
        func names() -> [String] { ((try? FileManager.default.contentsOfDirectory(atPath: kept)) ?? []).sorted() }
        // The story is written last.
        let isKept = await event(within: 40) { names().contains { $0.hasSuffix(".txt") } ? true : nil } == true
        service.send(signal: SIGTERM)
        let result = try await service.finish(limit: 20)
        try #require(isKept, "\(names()) \(result.error)")
        let captures = names().filter { $0.hasSuffix(".btsnoop") }
        let capture = try #require(captures.first { !$0.hasPrefix("2028") && !$0.hasPrefix("0-") })
        #expect(captures.count == 17 && captures.contains("0-my-own.btsnoop"), "\(captures)")
        for (path, mode) in [(kept, 0o700), (kept + "/" + capture, 0o600)] {
            #expect(
                try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == mode, "\(path)")
        }
        let att = try await Program("waterh-replay").run(["att", kept + "/" + capture])
        #expect(att.exitCode == 0 && att.output.contains("Notification"), "\(att.output)\(att.error)")
        let report = try await Program("waterh-gateway").run([
            "report", "--store", store, "-o", folder.file("r.tar.gz"),
        ])
        #expect(report.exitCode == 0, "\(report.error)")
        let tar = try #require(Program(system: "tar"))
        let told = try await tar.run(["-xzOf", folder.file("r.tar.gz"), "waterh-report/polls.txt"])
        #expect(told.output.contains("Unexpected bottle response") && told.output.contains(capture), "\(told.output)")
    }

    @Test("what somebody has put into the folder of kept polls is in no report", .timeLimit(.minutes(1)))
    func leavesOwnFilesAlone() async throws {
        let folder = try TemporaryFolder()
        let (store, kept) = (folder.file("me.sqlite"), folder.file("me.sqlite-polls"))
        #expect(try await Program("waterh-tracker").run(["log", "120", "--store", store]).exitCode == 0)
        try FileManager.default.createDirectory(
            atPath: kept, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for (name, text) in [
            ("my-notes", "what the doctor said"), ("20261123T180102003", "Unexpected bottle response."),
        ] {
            try Data("x".utf8).write(to: URL(fileURLWithPath: "\(kept)/\(name).btsnoop"))
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(kept)/\(name).txt"))
        }
        let report = try await Program("waterh-gateway").run([
            "report", "--store", store, "-o", folder.file("r.tar.gz"),
        ])
        #expect(report.exitCode == 0, "\(report.error)")
        let told = try await #require(Program(system: "tar")).run([
            "-xzOf", folder.file("r.tar.gz"), "waterh-report/polls.txt",
        ])
        #expect(
            told.output.contains("Unexpected bottle response") && !told.output.contains("doctor")
                && !told.output.contains("my-notes"), "\(told.output)")
    }

    /// Two people shared an adapter; Ben's poll failed, and Anna's, which had gone well, stood in Ben's capture under
    /// the address of his bottle.
    @Test(
        "what is kept beside a store is of that store's polls alone, is blurred in a report, and goes with a purge",
        .timeLimit(.minutes(2)))
    func keepsNobodyElses() async throws {
        let folder = try TemporaryFolder()
        let (link, control) = ("unix:" + folder.file("b.sock"), "unix:" + folder.file("c.sock"))
        func bottle(_ address: String, _ more: [String], sips: [Int]) async throws -> RunningProgram {
            let emulator = try Program("waterh-emulator").start(
                ["run", "--link", link, "--control", control, "--quiet", "--address", address] + more)
            _ = try await emulator.line { $0.hasPrefix("ready ") }
            for ml in sips {
                _ = try await Program("waterh-emulator").run(["control", "--control", control, "sip", "\(ml)"])
            }
            return emulator
        }
        let annas = try await bottle("A4:C1:38:01:02:03", [], sips: [111, 222])
        func store(_ name: String) -> String { folder.file(name + ".sqlite") }
        try Data(
            """
            link = "\(link)"
            [[person]]
            name = "anna"
            store = "\(store("anna"))"
            bottles = ["A4:C1:38:01:02:03"]
            [[person]]
            name = "ben"
            store = "\(store("ben"))"
            bottles = ["A4:C1:38:01:02:04"]
            """.utf8
        ).write(to: folder.url("w.toml"))
        let log = folder.url("service.log")
        let service = try Program("waterh-gateway").start(["run", "--config", folder.file("w.toml"), "--listen", "off"])
        func stories(_ name: String) -> [String] {
            ((try? FileManager.default.contentsOfDirectory(atPath: store(name) + "-polls")) ?? []).filter {
                $0.hasSuffix(".txt")
            }
        }
        func poll(_ name: String) async throws {
            _ = try await Program("waterh-gateway").run(["nudge", "--config", folder.file("w.toml"), "--person", name])
        }
        func status() async throws -> String {
            try await Program("waterh-emulator").run(["control", "--control", control, "status", "--json"]).output
        }
        var left = try await status()
        for _ in 0..<20 where !left.contains(#""records":0"#) {
            try await poll("anna")
            left = try await status()
        }
        try #require(left.contains(#""records":0"#), "\(left)")
        // Ben's takes its place, on the same link, and all that it says is cut.
        annas.send(signal: SIGTERM)
        _ = try await annas.finish(limit: 10)
        let bens = try await bottle(
            "A4:C1:38:01:02:04", ["--name", "WaterH Vita Kathrin H", "--faults", "cut=60", "--seed", "3"],
            sips: Array(31...35))
        defer { bens.send(signal: SIGKILL) }
        try await poll("ben")
        let isKept =
            await event(within: 60) {
                stories("ben").contains {
                    (try? String(contentsOfFile: store("ben") + "-polls/" + $0, encoding: .utf8))?.contains(
                        "A4:C1:38:01:02:04") == true
                } ? true : nil
            } == true
        service.send(signal: SIGTERM)
        let result = try await service.finish(limit: 20)
        try Data((result.output + result.error).utf8).write(to: log)
        try #require(isKept, "\(result.error)")
        for capture in try FileManager.default.contentsOfDirectory(atPath: store("ben") + "-polls")
        where capture.hasSuffix(".btsnoop") {
            let drinks = try await Program("waterh-replay").run(["drinks", store("ben") + "-polls/" + capture])
            #expect(!drinks.output.contains("111 ml") && !drinks.output.contains("222 ml"), "\(drinks.output)")
        }
        let report = try await Program("waterh-gateway").run([
            "report", "--config", folder.file("w.toml"), "--log", log.path, "-o", folder.file("r.tar.gz"),
        ])
        #expect(report.exitCode == 0, "\(report.error)")
        let told = try await #require(Program(system: "tar")).run(["-xzOf", folder.file("r.tar.gz")])
        #expect(!told.output.contains("Kathrin"), "\(told.output)")
        try Data("mine".utf8).write(to: folder.url("ben.sqlite-polls/notes.txt"))
        let purge = try await Program("waterh-tracker").run(["purge", "--yes", "--store", store("ben")])
        let rest = try FileManager.default.contentsOfDirectory(atPath: store("ben") + "-polls")
        #expect(purge.exitCode == 0 && rest == ["notes.txt"], "\(rest) \(purge.error)")
    }
}
