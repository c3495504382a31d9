import Foundation
import Support
import Testing

/// `waterh-replay` with the built program: complete output and exit code.
@Suite struct ReplayCommandTests {
    let replay = Program.replay
    private let folder: TemporaryFolder
    /// The real captures are next to the repository on the test machines.
    static let real = ["/../shared/captures/real", "/../../shared/captures/real"].map { Program.repository + $0 }.first
    { FileManager.default.fileExists(atPath: $0) }
    static let captures = Program.repository + "/captures"
    static let twoDays = captures + "/boost_two-days.btsnoop"
    static let sample = """
        address: A4:C1:38:01:02:03
        2026-02-02T22:21:20.100Z > FFE9 47 54 00 01 06
        2026-02-02T22:21:20.200Z < FFE4 52 50 00 03 02 06 01
        2026-02-02T22:21:20.450Z < FFE4 50 54 00 0F 0E 06 1A 02 02 16 15 0F 00 10 00 00 01 61 00

        """
    static let sampleWithHandles = sample.replacing("FFE9", with: "handle:0015").replacing("FFE4", with: "handle:0019")
    static let sampleLine = #"""
        {"bottle":"A4:C1:38:01:02:03","at":"2026-02-02T22:21:15","amountMl":16,"flag":0,"suspect":false,\#
        "tdsPpm":null,"temperatureC":null,
        """# + #"""
            "batteryPercent":null,"raw":"1a020216150f00100000016100","frame":3,"capturedAt":"2026-02-02T22:21:20.450Z"}
            """# + "\n"

    init() throws { folder = try TemporaryFolder() }

    @Test func `drinks reads the verified sample from standard input`() async throws {
        for dialect in ["calendar", "strict"] {
            let result = try await replay.run(
                ["drinks", "-", "--json", "--dialect", dialect], input: Array(Self.sample.utf8))
            #expect(result.output == Self.sampleLine)
            #expect(result.error == "")
            #expect(result.exitCode == 0)
        }
        let words = try await replay.run("drinks -", input: Array(Self.sample.utf8))
        #expect(words.output == "2026-02-02 22:21:15    16 ml  A4:C1:38:01:02:03  frame 3\n1 drink, 16 ml\n")
    }

    /// Copies a shipped capture and its expected drinks.
    private func copyCapture(_ name: String) throws {
        for suffix in ["", ".expected.jsonl"] {
            try FileManager.default.copyItem(
                atPath: "\(Self.captures)/\(name)\(suffix)", toPath: folder.file(name + suffix))
        }
    }

    /// Golden files have the reports of the shipped captures and of a wrong one.
    @Test func `verify --update accepts a changed capture`() async throws {
        let name = "boost_one-record.hex"
        try copyCapture(name)
        try folder.write(folder.text(name).replacing("0F 00 10", with: "0F 00 11"), to: name)
        let changed = try await replay.run("verify \(folder.path)")
        changed.expect(4, output: "amountMl is 17, expected 16")
        try await replay.succeed("verify \(folder.path) --update")
        try await replay.succeed("verify \(folder.path)")
    }

    @Test func `verify writes TAP and JUnit reports`() async throws {
        let name = "boost_one-record.hex"
        try copyCapture(name)
        for odd in ["a <b> & \"c\".hex", "z # \\ \u{1B}[31m.hex"] { try folder.write("nothing", to: odd) }
        let result = try await replay.run("verify \(folder.path) --tap --junit \(folder.file("report.xml"))")
        #expect(result.exitCode == 4)
        #expect(
            result.lines.prefix(3) == ["TAP version 13", "1..3", "not ok 1 - a <b> & \"c\".hex"]
                && result.lines.contains("ok 2 - \(name)"), "\(result.output)")
        #expect(result.lines.contains("not ok 3 - z \\# \\\\ \u{FFFD}[31m.hex"), "\(result.output)")
        let judge = try #require(Program(system: "xmllint"), "xmllint is not installed: run hardware/bench setup")
        func count(_ path: String) async throws -> String {
            try await judge.run(["--xpath", "string(\(path))", folder.file("report.xml")]).output
                .trimmingCharacters(in: .newlines)
        }
        #expect(try await count("/testsuite/@tests") == "3")
        #expect(try await count("count(//failure)") == "2")
        #expect(try await count("//testcase[failure][1]/@name") == "a <b> & \"c\".hex")
        #expect(try await replay.run("verify \(folder.path) --update --tap").exitCode == 2)
        // The report in the directory is not a capture.
        #expect(try await replay.run("verify \(folder.path)").lines.last == "3 captures, 2 not as expected")
    }

    @Test(
        arguments: [
            ([], "is empty"), ([0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0], "gzip"), (Array("hello\n".utf8), "not a capture"),
            (
                [0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0, 3],
                "error: standard input: this is a gzip file, damaged or truncated at its start"
            ),
            (
                [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C, 0, 4],
                "error: standard input: this is a 7z file: unpack it first (7z x FILE)\n"
            ), ([0x7F, 0x45, 0x4C, 0x46, 1, 2, 3], "program"),
        ] as [([UInt8], String)])
    func `files that are not captures are rejected with a message`(bytes: [UInt8], word: String)
        async throws
    {
        let result = try await replay.run("info -", input: bytes)
        #expect(result.exitCode == 4)
        #expect(result.error.hasPrefix("error: standard input: "))
        #expect(result.error.contains(word), "\(result.error)")
        #expect(result.error.split(separator: "\n").count == 1 && result.output.isEmpty, "\(result)")
    }

    /// A notification of 27 bytes, of which btsnoop has 14, as Windows writes it.
    @Test(arguments: ["drinks", "commands"]) func `a truncated packet is noted`(subcommand: String) async throws {
        var bytes = Array("btsnoop\0".utf8) + [0, 0, 0, 1, 0, 0, 3, 0xEA]
        bytes += [0, 0, 0, 27, 0, 0, 0, 14, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0xE3, 0x0A, 0x5D, 0x1E, 0x5D, 0x80, 0]
        bytes += [0x02, 0x41, 0x20, 0x16, 0, 0x12, 0, 0x04, 0, 0x1B, 0x13, 0, 0x50, 0x54]
        let result = try await replay.run([subcommand, "-"], input: bytes)
        result.expect(0, output: "no \(subcommand)", error: "the capture has only a part of 1 packet")
    }

    @Test func `handles can be given in decimal and in hex`() async throws {
        let text = Self.sampleWithHandles
        for handles in [
            ["--command-handle", "21", "--response-handle", "25"],
            ["--command-handle", "0x15", "--response-handle", "0x19"],
        ] {
            #expect(
                try await replay.run(["drinks", "-", "--json"] + handles, input: Array(text.utf8)).output
                    == Self.sampleLine)
        }
        let guessed = try await replay.run("drinks - --json", input: Array(text.utf8))
        #expect(guessed.output == Self.sampleLine)
        #expect(guessed.error.contains("attribution: guessed"))
        #expect(try await replay.run("info -", input: Array(text.utf8)).output.contains("attribution: guessed"))
    }

    /// Golden files have the output for the shipped captures.
    @Test func `every real capture is described without a crash`() async throws {
        guard let folder = Self.real else { return print("the real captures are not on this machine") }
        for name in try FileManager.default.contentsOfDirectory(atPath: folder)
        where ![".jsonl", ".md", ".tsv"].contains(where: name.hasSuffix) {
            for verb in ["info", "drinks"] {
                let result = try await replay.run([verb, "\(folder)/\(name)"])
                #expect(!result.signalled && result.exitCode == 0, "\(name): \(result.error)")
                #expect(!result.output.isEmpty || !result.error.isEmpty, "\(name)")
            }
        }
    }

    @Test func `connections above the list's limit are counted once each`() async throws {
        let text = (0..<1500).map {
            """
            \($0) connected A4:C1:38:00:\(String($0 / 256 + 16, radix: 16)):\(String($0 % 240 + 16, radix: 16))\n\
            \($0) < 2A19 55\n
            """
        }.joined()
        let info = try await replay.run("info -", input: Array(text.utf8))
        #expect(info.output.contains("connections: 1500 in all; --json lists 1000\n"))
    }

    @Test func `diff and clone can select a part of a capture`() async throws {
        let source = Self.twoDays
        // The two days were transferred in two connections, a third of a second apart.
        try await replay.succeed(["convert", source, folder.file("first.btsnoop"), "--to", "+0.2"])
        let complete = try await replay.run(["diff", source, folder.file("first.btsnoop")])
        #expect(complete.exitCode == 4, "\(complete.output)")
        let part = try await replay.run(["diff", source, folder.file("first.btsnoop"), "--to", "+0.2"])
        #expect(part.exitCode == 0 && part.output.hasSuffix(", 2 commands\n"), "\(part.output) \(part.error)")
        let other = try await replay.run(["diff", source, source, "--device", "00:00:00:00:00:01"])
        #expect(other.output == "no difference: 0 deliveries, 0 commands\n", "\(other.output)")
        // Unreadable data differs from readable data.
        let bytes = try Data(contentsOf: URL(fileURLWithPath: source))
        try bytes.prefix(16 + 20).write(to: URL(fileURLWithPath: folder.file("cut.btsnoop")))
        let cut = try await replay.run("diff \(folder.file("cut.btsnoop")) \(folder.file("cut.btsnoop"))")
        #expect(
            cut.exitCode == 4 && cut.output.hasPrefix("no difference in the readable part: 0 deliveries"),
            "\(cut.output) \(cut.error)")
        #expect(
            try await replay.run(["diff", source, source, "--from", "2026-11-22", "--to", "2026-11-21"]).exitCode == 2)

        func profile(_ name: String, _ more: [String]) async throws -> (services: Int, bytes: Int) {
            try await replay.succeed(["clone", source, "-o", folder.file(name)] + more)
            let text = try folder.text(name)
            return ((text.jsonObject?["services"] as? [Any])?.count ?? 0, text.utf8.count)
        }
        let all = try await profile("all.json", []), first = try await profile("first.json", ["--to", "+0.2"])
        #expect(first.services == all.services && first.services > 0)
        #expect(first.bytes < all.bytes)
        #expect(try await replay.run(["clone", source, "-o", folder.file("x.json"), "--from", "soon"]).exitCode == 2)
    }

    @Test func `diff finds no difference after convert`() async throws {
        let source = "\(Self.captures)/vita_reports-inside-log.pcapng"
        let converted = try await replay.succeed([
            "convert", source, folder.file("air.pcap"), "--format", "pcap-ll-phdr",
        ])
        #expect(converted.output == "")
        let same = try await replay.run(["diff", source, folder.file("air.pcap")])
        #expect(same.output == "no difference: 26 deliveries, 4 commands\n")
        #expect(same.exitCode == 0)
        let other = try await replay.run(["diff", source, "\(Self.captures)/boost_one-record.hex"])
        #expect(other.exitCode == 4)
        #expect(try await replay.run(["convert", source, folder.file("x"), "--format", "flac"]).exitCode == 2)
        #expect(try await replay.run(["convert", source, folder.file("x.unknown")]).exitCode == 2)
        #expect(try await replay.run(["convert", source, source]).exitCode == 2)
    }

    @Test func `every subcommand reads a pipe only once`() async throws {
        // Without a discovery in the capture, the reader requires a second pass.
        let text = Self.sampleWithHandles
        let pipe = folder.file("pipe"), file = folder.file("file")
        try folder.write(text, to: "file")
        #expect(mkfifo(pipe, 0o600) == 0)
        let shell = Program(system: "sh")
        let verbs = [
            ["info"], ["drinks", "--json"], ["commands"], ["att"], ["convert", "--format", "pcap"], ["diff", file],
        ]
        for verb in verbs {
            let arguments = verb + [pipe] + (verb[0] == "convert" ? [folder.file("out.pcap")] : [])
            let feeder = try #require(shell).start(["-c", "cat \(file) > \(pipe)"])
            let result = try await replay.run(arguments, limit: 30)
            _ = try await feeder.finish()
            #expect(result.exitCode == 0, "\(arguments): \(result.error)")
            if verb[0] == "drinks" { #expect(result.output == Self.sampleLine) }
        }
        #expect(
            try await replay.run("drinks \(folder.file("out.pcap")) --json").output.contains(
                #""raw":"1a020216150f00100000016100""#))
        let standard = try await replay.run("diff \(file) -", input: Array(text.utf8))
        #expect(standard.output == "no difference: 1 delivery, 1 command\n")
        #expect(try await replay.run("diff - -").exitCode == 2)
        let converted = try await replay.run("convert - - --format hex", input: Array(text.utf8))
        #expect(converted.output.contains("<  handle:0019  50 54 00 0F"))
        #expect(converted.error.hasPrefix("standard input to standard output as hex"))
    }

    @Test func `the gateway polls a recording that play serves`() async throws {
        let file = Self.twoDays
        let player = try replay.start("play \(file) --link unix:\(folder.file("p.sock")) --flush")
        let ready = try await player.line { $0.hasPrefix("ready ") }
        #expect(
            ready == """
                ready link=unix:\(folder.file("p.sock")) profile=retail name=WaterH-Boost-24oz exchanges=6 \
                records=40
                """)
        let polled = try await Program.gateway.run(
            "poll --link unix:\(folder.file("p.sock")) --store \(folder.file("b.sqlite")) --json")
        #expect(polled.output.contains(#""new":40"#))
        try await player.stop()
    }

    @Test func `play in strict mode prints both requests and has exit code 3`() async throws {
        let file = folder.file("sample.hex")
        try folder.write(Self.sample, to: "sample.hex")
        let player = try replay.start("play \(file) --link unix:\(folder.file("p.sock")) --flush --mode strict")
        _ = try await player.line { $0.hasPrefix("ready ") }
        let polled = try await Program.gateway.run(
            "poll --link unix:\(folder.file("p.sock")) --store \(folder.file("s.sqlite"))")
        #expect(!polled.output.contains("log is empty"), "the gateway never requested the log")
        player.send(signal: SIGTERM)
        let result = try await player.finish()
        #expect(result.exitCode == 3)
        #expect(
            result.error.contains(
                """
                strict: the host wrote 47 54 00 01 FF (ask for a snapshot), which is not in the capture; the \
                recorded host wrote 47 54 00 01 06 (ask for the drink log) in frame 1
                """))
    }
}

/// `waterh-replay` writes its output completely or not at all, and only to the given path.
@Suite struct ReplayWritingTests {
    let replay = Program.replay
    private static let source = ReplayCommandTests.twoDays

    /// EveryFormatTests has all formats and more times.
    @Test func `a capture from before 1970 is converted and replaces an existing file`() async throws {
        let folder = try TemporaryFolder()
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: Self.source)))
        func number(_ at: Int, _ count: Int) -> Int64 { bytes[at..<(at + count)].reduce(0) { $0 << 8 | Int64($1) } }
        // A recorder without a clock: the times, in microseconds since the year 0, start at 0.
        let start = number(32, 8)
        var at = 16
        while at + 24 <= bytes.count {
            let time = number(at + 16, 8) - start
            for index in 0..<8 { bytes[at + 16 + index] = UInt8(truncatingIfNeeded: time >> (56 - 8 * Int64(index))) }
            at += 24 + Int(number(at + 4, 4))
        }
        try Data(bytes).write(to: folder.url("clock.btsnoop"))
        let made = folder.file("made")
        try FileManager.default.copyItem(atPath: Self.source, toPath: made)
        let result = try await replay.succeed(["convert", folder.file("clock.btsnoop"), made, "--format", "pcap"])
        #expect(result.error.contains("cannot store the times"), "\(result.error)")
        let expected = try await replay.run("drinks \(Self.source)").lines.count
        #expect(try await replay.run(["drinks", made]).lines.count == expected)
    }

    @Test func `a failed conversion leaves the output file unchanged`() async throws {
        let folder = try TemporaryFolder()
        let made = folder.file("made.log")
        try folder.write("precious", to: "made.log")
        let handles = "2026-02-02T22:21:20Z < handle:0006 50 54 00 0F 0E 06 1A 02 02 16 15 0F 00 10 00 00 01 61 00\n"
        // The log format of nRF Connect has no field for a handle.
        let result = try await replay.run(["convert", "-", made, "--format", "nrf"], input: Array(handles.utf8))
        #expect(result.exitCode == 4)
        #expect(try folder.text("made.log") == "precious")
        #expect(try folder.names() == ["made.log"], "no temporary file remains")
    }

    @Test func `info describes a damaged and a truncated capture`() async throws {
        let complete = [UInt8](try Data(contentsOf: URL(fileURLWithPath: Self.source)))
        let broken = try await replay.run("info -", input: complete + [UInt8](repeating: 0xFF, count: 64))
        #expect(broken.exitCode == 4)
        #expect(broken.output.contains(" in \(complete.count) bytes\n"), "\(broken.output)")
        let cut = try await replay.run("info -", input: Array(complete.prefix(100)))
        #expect(!cut.output.contains("everything before it") && cut.error.contains("everything before it"), "\(cut)")
    }
}
