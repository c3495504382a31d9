import Foundation
import Support
import Testing

/// `waterh-replay` writes its output completely or not at all, and only to the given path.
@Suite struct ReplayWritingTests {
    let replay = Program("waterh-replay")
    static let source = ReplayCommandTests.captures + "/boost_two-days.btsnoop"

    /// A capture of a recorder without a clock: its first record has this time, in microseconds since the year 0.
    private static func withClock(_ first: Int64, in folder: TemporaryFolder) throws -> String {
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: source)))
        var at = 16
        func number(_ at: Int, _ count: Int) -> Int64 { bytes[at..<(at + count)].reduce(0) { $0 << 8 | Int64($1) } }
        let start = number(40 - 8, 8)
        while at + 24 <= bytes.count {
            let time = number(at + 16, 8) - start + first
            for index in 0..<8 { bytes[at + 16 + index] = UInt8(truncatingIfNeeded: time >> (56 - 8 * Int64(index))) }
            at += 24 + Int(number(at + 4, 4))
        }
        let path = folder.file("clock.btsnoop")
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    @Test(arguments: ["pcap", "pklg", "pcapng", "pcap-ll-phdr", "btsnoop", "hex", "nrf"])
    func `a source before 1970 is converted, and over an existing file`(format: String) async throws {
        let folder = try TemporaryFolder()
        let expected = try await replay.run(["drinks", Self.source]).lines.count
        // Midnight of the year 0, and a day before 1970.
        for first: Int64 in [0, 0x00DC_DDB3_0F2F_8000 - 86_400_000_000] {
            let source = try Self.withClock(first, in: folder)
            let made = folder.file("made")
            let isText = ["hex", "nrf"].contains(format)
            let old = isText ? Data("old".utf8) : try Data(contentsOf: folder.url("clock.btsnoop"))
            try old.write(to: URL(fileURLWithPath: made))
            let result = try await replay.run(["convert", source, made, "--format", format])
            #expect(result.exitCode == 0, "\(result.error)")
            if format == "pcap" || format == "pklg" {
                #expect(result.error.contains("no time before 1970"), "\(result.error)")
            }
            #expect(try await replay.run(["drinks", made]).lines.count == expected)
        }
    }

    @Test func `a failed conversion leaves the output file unchanged`() async throws {
        let folder = try TemporaryFolder()
        let made = folder.file("made.log")
        try Data("precious".utf8).write(to: URL(fileURLWithPath: made))
        let handles = "2026-02-02T22:21:20Z < handle:0006 50 54 00 0F 0E 06 1A 02 02 16 15 0F 00 10 00 00 01 61 00\n"
        // The log format of nRF Connect has no field for a handle.
        let result = try await replay.run(["convert", "-", made, "--format", "nrf"], input: Array(handles.utf8))
        #expect(result.exitCode == 4)
        #expect(try String(contentsOfFile: made, encoding: .utf8) == "precious")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["made.log"],
            "nothing is left beside it")
    }

    @Test func `mode, link and pipe of the destination are kept`() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("file.pcap"), link = folder.file("link.pcap"), dangling = folder.file("dangling.pcap")
        try Data(contentsOf: URL(fileURLWithPath: Self.source)).write(to: URL(fileURLWithPath: file))
        #expect(chmod(file, 0o600) == 0)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "file.pcap")
        try FileManager.default.createSymbolicLink(atPath: dangling, withDestinationPath: "new.pcap")
        for path in [link, dangling] { #expect(try await replay.run(["convert", Self.source, path]).exitCode == 0) }
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "file.pcap")
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
        #expect(try Data(contentsOf: folder.url("file.pcap")) == Data(contentsOf: folder.url("new.pcap")))
        #expect(try Data(contentsOf: folder.url("file.pcap")).count > 1000)

        let pipe = folder.file("pipe.pcap"), through = folder.file("through.pcap")
        #expect(mkfifo(pipe, 0o600) == 0)
        let shell = try #require(Program(system: "sh"))
        let reader = try shell.start(["-c", "cat \(pipe) > \(through)"])
        #expect(try await replay.run(["convert", Self.source, pipe]).exitCode == 0)
        _ = try await reader.finish()
        #expect(try Data(contentsOf: URL(fileURLWithPath: through)) == Data(contentsOf: folder.url("file.pcap")))
        var status = stat()
        #expect(stat(pipe, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
        #expect(try await replay.run(["convert", Self.source, "/dev/null", "--format", "pcap"]).exitCode == 0)
        #expect(stat("/dev/null", &status) == 0 && status.st_mode & S_IFMT == S_IFCHR)
        #expect(try await replay.run(["convert", Self.source, "/dev/full", "--format", "pcap"]).exitCode == 1)
    }

    @Test func `info describes a damaged and a compressed capture`() async throws {
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: Self.source)))
        let broken = try await replay.run(["info", "-"], input: whole + [UInt8](repeating: 0xFF, count: 64))
        #expect(broken.exitCode == 4)
        #expect(broken.output.contains(" in \(whole.count) bytes\n"), "\(broken.output)")
        let packed = try await replay.run(["info", "-"], input: [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C, 0, 4])
        #expect(packed.output == "standard input: this is a 7z file: unpack it first (7z x FILE)\n")
        let hollow = try await replay.run(["info", "-"], input: [0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0, 3])
        #expect(hollow.exitCode == 4)
        #expect(
            hollow.error.hasPrefix("error: standard input: this is a gzip file, damaged or truncated at its start"),
            "\(hollow.error)")
        let cut = try await replay.run(["info", "-"], input: Array(whole.prefix(100)))
        #expect(!cut.output.contains("can be read"))
    }

    @Test func `a log given in parts counts each drink once`() async throws {
        let folder = try TemporaryFolder()
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: Self.source)))
        var at = 16, records = 0
        while records < 30 {
            at += 24 + whole[(at + 4)..<(at + 8)].reduce(0) { $0 << 8 | Int($1) }
            records += 1
        }
        try Data(whole[..<at]).write(to: folder.url("a.log"))
        try Data(whole[..<16] + whole[at...]).write(to: folder.url("b.log"))
        for order in [["a.log", "b.log"], ["b.log", "a.log"], ["a.log", "b.log", "b.log"]] {
            let result = try await replay.run(["drinks", "--json"] + order.map { folder.file($0) })
            #expect(result.exitCode == 0)
            #expect(result.lines.count == 40, "\(order)")
        }
    }
}
