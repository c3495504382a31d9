import Foundation
import Support
import Testing

/// What a service keeps of polls that went wrong.
@Suite("Polls that went wrong") struct FlightRecorderTests {
    @Test("of a poll that fails the service keeps a capture and its story, for the owner alone, and the report tells of it", .timeLimit(.minutes(1)))
    func keepsFailedPoll() async throws {
        let pair = try await Pair(["--faults", "mtu=23"])
        try await pair.sip(120)
        let (folder, store) = (pair.folder, pair.store)
        let service = try Program("waterh-gateway").start(["run", "--link", pair.socket, "--store", store, "--listen", "off"])
        let kept = store + "-polls"
        func names() -> [String] { ((try? FileManager.default.contentsOfDirectory(atPath: kept)) ?? []).sorted() }
        // The story is written last.
        let isKept = await event(within: 40) { names().contains { $0.hasSuffix(".txt") } ? true : nil } == true
        service.send(signal: SIGTERM)
        let result = try await service.finish(limit: 20)
        try #require(isKept, "\(names()) \(result.error)")
        let capture = try #require(names().first { $0.hasSuffix(".btsnoop") })
        for (path, mode) in [(kept, 0o700), (kept + "/" + capture, 0o600)] {
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == mode, "\(path)")
        }
        let att = try await Program("waterh-replay").run(["att", kept + "/" + capture])
        #expect(att.exitCode == 0 && att.output.contains("Notification"), "\(att.output)\(att.error)")
        let report = try await Program("waterh-gateway").run(["report", "--store", store, "-o", folder.file("r.tar.gz")])
        #expect(report.exitCode == 0, "\(report.error)")
        let tar = try #require(Program(system: "tar"))
        let told = try await tar.run(["-xzOf", folder.file("r.tar.gz"), "waterh-report/polls.txt"])
        #expect(told.output.contains("Unexpected bottle response") && told.output.contains(capture), "\(told.output)")
    }
}
