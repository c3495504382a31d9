import Foundation
import Support
import Testing

@Suite struct FlightRecorderTests {
    @Test(.timeLimit(.minutes(1)))
    func `the trace of a failed poll is kept`() async throws {
        let pair = try await Pair(["--faults", "mtu=23"])
        try await pair.sip(120)
        let (folder, store) = (pair.folder, pair.store)
        // One trace of a clock that was ahead, and one file of the user. New traces remain, and the user's file
        // remains.
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
        // The text file of the trace is written last.
        let isKept = await event(within: 40) { names().contains { $0.hasSuffix(".txt") } ? true : nil } == true
        let result = try await service.stop()
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

    @Test(.timeLimit(.minutes(1)))
    func `files of the user in the trace folder are not in the report`() async throws {
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
}
