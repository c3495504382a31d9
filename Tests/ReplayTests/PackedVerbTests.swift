import Foundation
import Support
import Testing

/// `waterh-replay` with the built program on packed files: each subcommand prints the same as for the plain capture.
@Suite struct PackedVerbTests {
    let replay = Program("waterh-replay")
    static let sample = CaptureOpenerTests.sample.path

    @Test(arguments: [
        ["drinks", "--json"], ["commands", "--json"], ["att", "--json"], ["info", "--json"], ["drinks", "--raw"],
        ["att"],
    ])
    func `a compressed capture gives the same output as the plain one`(words: [String]) async throws {
        let folder = try TemporaryFolder()
        let file = try await CaptureOpenerTests.packed(try CaptureOpenerTests.bytes(), "gzip")
        let gzip = try folder.write("a.gz", file)
        let plain = try await replay.run(words + [Self.sample])
        try #require(plain.exitCode == 0)
        for (path, input) in [(gzip, []), ("-", file), ("-", try CaptureOpenerTests.bytes())] {
            let packed = try await replay.run(words + [path], input: input)
            #expect(
                packed.output.replacingOccurrences(of: #""file":"\#(path)""#, with: #""file":"\#(Self.sample)""#)
                    == plain.output)
            #expect(packed.error == plain.error)
            #expect(packed.exitCode == 0)
        }
    }

    @Test func `drinks and commands are listed directly from a bug report`() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("bugreport.zip", await CaptureOpenerTests.report())
        let plain = try await replay.run(["drinks", Self.sample])
        let report = try await replay.run(["drinks", path])
        #expect(report.exitCode == 0)
        // Frames are counted in each of its files.
        let frames = /frame \d+/
        #expect(report.output.replacing(frames, with: "frame") == plain.output.replacing(frames, with: "frame"))
        #expect(report.error.contains("captures in it: \(CaptureOpenerTests.logs)btsnoop_hci.log.last"))
        let info = try await replay.run(["info", path, "--json"])
        #expect(info.lines.count == 2)
        let commands = try await replay.run(["commands", Self.sample]).output.replacing(frames, with: "frame")
        #expect(try await replay.run(["commands", path]).output.replacing(frames, with: "frame") == commands)
        #expect(try await replay.run(["att", path]).exitCode == 0)
        #expect(try await replay.run(["diff", path, path]).exitCode == 0)
        let converted = try await replay.run(["convert", path, folder.file("whole.btsnoop")])
        #expect(converted.exitCode == 0, "\(converted.error)")
        let whole = try await replay.run(["drinks", folder.file("whole.btsnoop")])
        #expect(whole.output == plain.output)
        let play = try replay.start(["play", path, "--link", "unix:\(folder.file("b.sock"))", "--flush"])
        #expect(try await play.line { $0.hasPrefix("ready link=") }.contains("profile=retail"))
        play.send(signal: SIGINT)
        _ = try await play.finish()
    }

    @Test func `an expectation file can be for a compressed capture`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("a.xz", await CaptureOpenerTests.packed(CaptureOpenerTests.bytes(), "xz"))
        #expect(try await replay.run(["verify", folder.path, "--update"]).exitCode == 0)
        #expect(try await replay.run(["verify", folder.path]).output == "1 capture, all as expected\n")
        try folder.write("two.zip", await CaptureOpenerTests.report())
        #expect(try await replay.run(["verify", folder.path]).exitCode == 4)
    }

    @Test func `a truncated file is reported in one line with exit code 4`() async throws {
        let file = try await CaptureOpenerTests.packed(try CaptureOpenerTests.bytes(), "gzip")
        for verb in ["drinks", "commands", "att", "info"] {
            let cut = try await replay.run([verb, "-"], input: Array(file.prefix(file.count / 2)))
            #expect(cut.exitCode == 4, "\(verb)")
            #expect(cut.error.split(separator: "\n").count == 1, "\(verb): \(cut.error)")
            #expect(cut.error.contains("this gzip file is damaged or truncated: "), "\(verb): \(cut.error)")
            let bomb = try await replay.run([verb, "-"], input: [0x50, 0x4B, 5, 6] + [UInt8](repeating: 0, count: 18))
            #expect(
                bomb.error == "error: standard input: no capture in this zip file: it is empty\n")
            #expect(bomb.exitCode == 4)
        }
    }
}
