import Foundation
import Support
import Testing

/// `waterh-replay` with the built program: complete output and exit code.
@Suite struct ReplayCommandTests {
    let replay = Program("waterh-replay")
    /// The real captures are next to the repository on the test machines.
    static let real = ["/../shared/captures/real", "/../../shared/captures/real"].map { Program.repository + $0 }
        .first { FileManager.default.fileExists(atPath: $0) }
    static let captures = Program.repository + "/captures"
    static let sample = """
        address: A4:C1:38:01:02:03
        2026-02-02T22:21:20.100Z > FFE9 47 54 00 01 06
        2026-02-02T22:21:20.200Z < FFE4 52 50 00 03 02 06 01
        2026-02-02T22:21:20.450Z < FFE4 50 54 00 0F 0E 06 1A 02 02 16 15 0F 00 10 00 00 01 61 00

        """
    static let sampleLine =
        #"""
        {"bottle":"A4:C1:38:01:02:03","at":"2026-02-02T22:21:15","amountMl":16,"flag":0,"suspect":false,\#
        "tdsPpm":null,"temperatureC":null,
        """#
            + #"""
            "batteryPercent":null,"raw":"1a020216150f00100000016100","frame":3,"capturedAt":"2026-02-02T22:21:20.450Z"}
            """#
        + "\n"

    @Test func `the verified sample through standard input`() async throws {
        for dialect in ["calendar", "strict"] {
            let result = try await replay.run(
                ["drinks", "-", "--json", "--dialect", dialect], input: Array(Self.sample.utf8))
            #expect(result.output == Self.sampleLine)
            #expect(result.error == "")
            #expect(result.exitCode == 0)
        }
        let words = try await replay.run(["drinks", "-"], input: Array(Self.sample.utf8))
        #expect(words.output == "2026-02-02 22:21:15    16 ml  A4:C1:38:01:02:03  frame 3\n1 drink, 16 ml\n")
    }

    @Test func `a 1B record is 2027 in calendar and refused with a reason in strict`() async throws {
        let text = Self.sample.replacingOccurrences(of: "06 1A 02", with: "06 1B 02")
        let calendar = try await replay.run(["drinks", "-", "--json"], input: Array(text.utf8))
        #expect(calendar.output.contains(#""at":"2027-02-02T22:21:15""#))
        let strict = try await replay.run(["drinks", "-", "--json", "--dialect", "strict"], input: Array(text.utf8))
        #expect(strict.output == "")
        #expect(strict.error.contains("1B 02 02 16 15 0F 00 10 00 00 01 61 00 of A4:C1:38:01:02:03 is rejected"))
        #expect(strict.exitCode == 0)
    }

    @Test func `info prints its whole text`() async throws {
        let text = Self.sample.replacingOccurrences(
            of: "address: A4:C1:38:01:02:03", with: "name: WaterH-Boost-24oz\u{1B}[31m")
        let info = try await replay.run(["info", "-"], input: Array(text.utf8))
        #expect(
            info.output == """
                standard input: hex text, characteristic values
                records: 3 in \(text.utf8.count) bytes
                time: 2026-02-02T22:21:20.100Z to 2026-02-02T22:21:20.450Z (350 ms)
                bottle: WaterH-Boost-24oz[31m (no address), Boost, retail profile; attribution: discovered (the text \
                names the characteristics)
                  1 drink, 16 ml, at 2026-02-02 22:21:15 by the bottle's clock; 1 command from the host
                drinks: 1, 16 ml, in 1 log transfer
                connection 1: no address in the capture, 3 ATT PDUs from frame 1
                characteristics that the text names of WaterH-Boost-24oz[31m (no address): FFE9 FFE4
                ATT: 3 PDUs: 2 × Handle Value Notification, 1 × Write Command

                """)
        #expect(info.exitCode == 0)
        let none = try await replay.run(["commands", "\(Self.captures)/boost_one-record.hex"])
        #expect(none.output == "no commands\n")
    }

    @Test func `commands and att of the sample`() async throws {
        let commands = try await replay.run(["commands", "-", "--json"], input: Array(Self.sample.utf8))
        #expect(
            commands.output
                == #"""
                {"frame":1,"capturedAt":"2026-02-02T22:21:20.100Z","bottle":"A4:C1:38:01:02:03",\#
                "hex":"4754000106","meaning":"ask \#
                for the drink log"}
                """#
                + "\n")
        let att = try await replay.run(["att", "-", "--json"], input: Array(Self.sample.utf8))
        #expect(att.lines.count == 3)
        #expect(
            att.lines.first.map(String.init)
                == #"""
                {"frame":1,"time":"1770070880.100000000","adapter":0,"connection":1,"direction":"sent",\#
                "peer":"A4:C1:38:01:02:03","pdu":"5204804754000106","name":"Write \#
                Command","uuid":"FFE9"}
                """#
        )
    }

    @Test func `raw lists every delivery`() async throws {
        let twice =
            Self.sample
                + """
                2026-02-02T22:22:20Z > FFE9 4754000106\n2026-02-02T22:22:21Z < FFE4 \
                5054000F0E061A020216150F00100000016100\n
                """
        let raw = try await replay.run(["drinks", "-", "--json", "--raw"], input: Array(twice.utf8))
        #expect(raw.lines.map { $0.hasSuffix(#""duplicate":true}"#) } == [false, true])
    }

    @Test func `the shipped captures match and a changed byte is reported`() async throws {
        let result = try await replay.run(["verify", Self.captures])
        #expect(result.output == "5 captures, all as expected\n")
        #expect(result.exitCode == 0)

        let folder = try TemporaryFolder()
        let name = "boost_two-days.btsnoop"
        for suffix in ["", ".expected.jsonl"] {
            try FileManager.default.copyItem(
                atPath: "\(Self.captures)/\(name)\(suffix)", toPath: folder.file(name + suffix))
        }
        var bytes = [UInt8](try Data(contentsOf: folder.url(name)))
        let record: [UInt8] = [0x1A, 0x0B, 0x14, 0x07, 0x00, 0x00, 0x00]  // 2026-11-20 07:00:00
        let at = try #require(bytes.indices.first { bytes[$0...].starts(with: record) })
        bytes[at + 7] += 1
        try Data(bytes).write(to: folder.url(name))
        let changed = try await replay.run(["verify", folder.path])
        #expect(changed.exitCode == 4)
        #expect(changed.output.contains("\(name): drink 21 (2026-11-20T07:00:00, 90 ml"))
        #expect(changed.output.contains("amountMl is 91, expected 90"))
        let renewed = try await replay.run(["verify", folder.path, "--update"])
        #expect(renewed.exitCode == 0)
        #expect(try await replay.run(["verify", folder.path]).exitCode == 0)
    }

    @Test func `verify writes TAP and JUnit reports`() async throws {
        let folder = try TemporaryFolder()
        let name = "boost_one-record.hex"
        for suffix in ["", ".expected.jsonl"] {
            try FileManager.default.copyItem(
                atPath: "\(Self.captures)/\(name)\(suffix)", toPath: folder.file(name + suffix))
        }
        for odd in ["a <b> & \"c\".hex", "z # \\ \u{1B}[31m.hex"] {
            try Data("nothing".utf8).write(to: folder.url(odd))
        }
        let result = try await replay.run(["verify", folder.path, "--tap", "--junit", folder.file("report.xml.tsv")])
        #expect(result.exitCode == 4)
        #expect(
            result.lines.prefix(3) == ["TAP version 13", "1..3", "not ok 1 - a <b> & \"c\".hex"]
                && result.lines.contains("ok 2 - \(name)"), "\(result.output)")
        #expect(result.lines.contains("not ok 3 - z \\# \\\\ \u{FFFD}[31m.hex"), "\(result.output)")
        let judge = try #require(Program(system: "xmllint"), "xmllint is not installed: run hardware/bench setup")
        func count(_ path: String) async throws -> String {
            try await judge.run(["--xpath", "string(\(path))", folder.file("report.xml.tsv")]).output
                .trimmingCharacters(in: .newlines)
        }
        #expect(try await count("/testsuite/@tests") == "3")
        #expect(try await count("count(//failure)") == "2")
        #expect(try await count("//testcase[failure][1]/@name") == "a <b> & \"c\".hex")
        #expect(try await replay.run(["verify", folder.path, "--update", "--tap"]).exitCode == 2)
    }

    @Test func `any changed byte of a capture is noticed`() async throws {
        let folder = try TemporaryFolder()
        let name = "boost_one-record.hex"
        for suffix in ["", ".expected.jsonl"] {
            try FileManager.default.copyItem(
                atPath: "\(Self.captures)/\(name)\(suffix)", toPath: folder.file(name + suffix))
        }
        var bytes = [UInt8](try Data(contentsOf: folder.url(name)))
        bytes[4] ^= 0x20  // in a comment
        try Data(bytes).write(to: folder.url(name))
        let result = try await replay.run(["verify", folder.path])
        #expect(result.exitCode == 4)
        #expect(result.output.contains("digest is fnv1a:"))
    }

    @Test func `a truncated capture yields its valid part, one error and exit code 4`() async throws {
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(Self.captures)/boost_two-days.btsnoop")))
        let drinks = try await replay.run(["drinks", "-", "--json"], input: whole).lines
        let cut = Array(whole.prefix(whole.count - 5))
        let result = try await replay.run(["drinks", "-", "--json"], input: cut)
        #expect(result.lines == drinks)
        #expect(result.exitCode == 4)
        #expect(result.error.split(separator: "\n").count == 1)
        #expect(result.error.contains("\(cut.count)"))
    }

    @Test(
        arguments: [
            ([], "is empty"), ([0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0], "gzip"), (Array("hello\n".utf8), "not a capture"),
            ([0x7F, 0x45, 0x4C, 0x46, 1, 2, 3], "program"),
        ] as [([UInt8], String)])
    func `foreign files are refused in a sentence`(bytes: [UInt8], word: String) async throws {
        for verb in ["info", "drinks", "commands", "att"] {
            let result = try await replay.run([verb, "-"], input: bytes)
            #expect(result.exitCode == 4)
            #expect(result.error.hasPrefix("error: standard input: "))
            #expect(result.error.contains(word), "\(result.error)")
            #expect(result.error.split(separator: "\n").count == 1, "\(result.error)")
        }
    }

    @Test func `a folder, a missing file and wrong use`() async throws {
        #expect(try await replay.run(["drinks", "/"]).exitCode == 4)
        let missing = try await replay.run(["drinks", "/nonexistent/capture"])
        #expect(missing.exitCode == 1)
        #expect(missing.error == "error: /nonexistent/capture: cannot be read: No such file or directory\n")
        for arguments in [
            ["drinks"], ["drinks", "x", "--dialect", "lax"], ["drinks", "x", "--response-handle", "0x10000"],
            ["nonsense"],
        ] {
            #expect(try await replay.run(arguments).exitCode == 2, "\(arguments)")
        }
    }

    @Test func `handles by hand, decimal and hex`() async throws {
        let text = Self.sample.replacingOccurrences(of: "FFE9", with: "handle:0015").replacingOccurrences(
            of: "FFE4", with: "handle:0019")
        for handles in [
            ["--command-handle", "21", "--response-handle", "25"],
            ["--command-handle", "0x15", "--response-handle", "0x19"],
        ] {
            #expect(
                try await replay.run(["drinks", "-", "--json"] + handles, input: Array(text.utf8)).output
                    == Self.sampleLine)
        }
        let guessed = try await replay.run(["drinks", "-", "--json"], input: Array(text.utf8))
        #expect(guessed.output == Self.sampleLine)
        #expect(guessed.error.contains("attribution: guessed"))
        #expect(try await replay.run(["info", "-"], input: Array(text.utf8)).output.contains("attribution: guessed"))
    }

    @Test(arguments: ["info", "drinks", "commands", "att"])
    func `every capture at hand gives words and no trap`(verb: String) async throws {
        if Self.real == nil { print("the real captures are not on this machine: only the shipped ones are read") }
        for folder in [Self.captures, Self.real].compactMap({ $0 }) {
            for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            where !name.hasSuffix(".jsonl") && !name.hasSuffix(".md") && !name.hasSuffix(".tsv") {
                let result = try await replay.run([verb, "\(folder)/\(name)"])
                #expect(!result.signalled)
                #expect(result.exitCode == 0, "\(name): \(result.error)")
                #expect(!result.output.isEmpty || !result.error.isEmpty, "\(name)")
                if verb == "info" {
                    #expect(try await replay.run(["info", "--json", "\(folder)/\(name)"]).lines.count == 1)
                }
            }
        }
    }

    @Test func `more connections than are listed are counted once each`() async throws {
        let text = (0..<1500).map {
            """
            \($0) connected A4:C1:38:00:\(String($0 / 256 + 16, radix: 16)):\(String($0 % 240 + 16, radix: 16))\n\
            \($0) < 2A19 55\n
            """
        }.joined()
        let info = try await replay.run(["info", "-"], input: Array(text.utf8))
        #expect(info.output.contains("connections: 1500 in all; --json lists 1000\n"))
    }

    @Test func `diff and clone look at a part of a capture`() async throws {
        let folder = try TemporaryFolder()
        let source = "\(Self.captures)/boost_two-days.btsnoop"
        // The two days were transferred in two connections, a third of a second apart.
        #expect(try await replay.run(["convert", source, folder.file("first.btsnoop"), "--to", "+0.2"]).exitCode == 0)
        let whole = try await replay.run(["diff", source, folder.file("first.btsnoop")])
        #expect(whole.exitCode == 4, "\(whole.output)")
        let part = try await replay.run(["diff", source, folder.file("first.btsnoop"), "--to", "+0.2"])
        #expect(part.exitCode == 0 && part.output.hasSuffix(", 2 commands\n"), "\(part.output) \(part.error)")
        let nobody = try await replay.run(["diff", source, source, "--device", "00:00:00:00:00:01"])
        #expect(nobody.output == "no difference: 0 deliveries, 0 commands\n", "\(nobody.output)")
        // Unreadable data differs from readable data.
        let bytes = try Data(contentsOf: URL(fileURLWithPath: source))
        try bytes.prefix(16 + 20).write(to: URL(fileURLWithPath: folder.file("cut.btsnoop")))
        let cut = try await replay.run(["diff", folder.file("cut.btsnoop"), folder.file("cut.btsnoop")])
        #expect(
            cut.exitCode == 4 && cut.output.hasPrefix("no difference in what could be read: 0 deliveries"),
            "\(cut.output) \(cut.error)")
        #expect(
            try await replay.run(["diff", source, source, "--from", "2026-11-22", "--to", "2026-11-21"]).exitCode == 2)

        func gadget(_ name: String, _ more: [String]) async throws -> (services: Int, bytes: Int) {
            let result = try await replay.run(["clone", source, "-o", folder.file(name)] + more)
            #expect(result.exitCode == 0, "\(result.error)")
            let data = try Data(contentsOf: folder.url(name))
            let document = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
            return ((document["services"] as? [Any])?.count ?? 0, data.count)
        }
        let all = try await gadget("all.json", []), first = try await gadget("first.json", ["--to", "+0.2"])
        #expect(first.services == all.services && first.services > 0)
        #expect(first.bytes < all.bytes)
        #expect(try await replay.run(["clone", source, "-o", folder.file("x.json"), "--from", "soon"]).exitCode == 2)
    }

    @Test func `convert, then diff finds nothing`() async throws {
        let folder = try TemporaryFolder()
        let source = "\(Self.captures)/vita_reports-inside-log.pcapng"
        let converted = try await replay.run(["convert", source, folder.file("air.pcap"), "--format", "pcap-ll-phdr"])
        #expect(converted.exitCode == 0)
        #expect(converted.output == "")
        let same = try await replay.run(["diff", source, folder.file("air.pcap")])
        #expect(same.output == "no difference: 26 deliveries, 4 commands\n")
        #expect(same.exitCode == 0)
        let other = try await replay.run(["diff", source, "\(Self.captures)/boost_one-record.hex"])
        #expect(other.exitCode == 4)
        #expect(try await replay.run(["convert", source, folder.file("x"), "--format", "flac"]).exitCode == 2)
        #expect(try await replay.run(["convert", source, folder.file("x.unknown")]).exitCode == 2)
        #expect(try await replay.run(["convert", source, source]).exitCode == 2)
        let before = try Data(contentsOf: folder.url("air.pcap"))
        #expect(try await replay.run(["convert", "/bin/sh", folder.file("air.pcap")]).exitCode == 4)
        #expect(try Data(contentsOf: folder.url("air.pcap")) == before)
    }

    @Test func `a pipe is read once by every subcommand`() async throws {
        let folder = try TemporaryFolder()
        // Without a discovery in the capture, the reader requires a second pass.
        let text = Self.sample.replacingOccurrences(of: "FFE9", with: "handle:0015").replacingOccurrences(
            of: "FFE4", with: "handle:0019")
        let pipe = folder.file("pipe"), file = folder.file("file")
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
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
            try await replay.run(["drinks", folder.file("out.pcap"), "--json"]).output.contains(
                #""raw":"1a020216150f00100000016100""#))
        let standard = try await replay.run(["diff", file, "-"], input: Array(text.utf8))
        #expect(standard.output == "no difference: 1 delivery, 1 command\n")
        #expect(try await replay.run(["diff", "-", "-"]).exitCode == 2)
        let converted = try await replay.run(["convert", "-", "-", "--format", "hex"], input: Array(text.utf8))
        #expect(converted.output.contains("<  handle:0019  50 54 00 0F"))
        #expect(converted.error.hasPrefix("standard input to standard output as hex"))
    }

    @Test func `the gateway polls a recording by play and by the capture link`() async throws {
        let folder = try TemporaryFolder()
        let file = "\(Self.captures)/boost_two-days.btsnoop"
        let gateway = Program("waterh-gateway")
        let direct = try await gateway.run([
            "poll", "--link", "capture:\(file)", "--store", folder.file("a.sqlite"), "--json",
        ])
        #expect(direct.exitCode == 0)
        #expect(direct.output.contains(#""new":40"#))

        let player = try replay.start(["play", file, "--link", "unix:\(folder.file("p.sock"))", "--flush"])
        let ready = try await player.line { $0.hasPrefix("ready ") }
        #expect(
            ready
                == """
                ready link=unix:\(folder.file("p.sock")) profile=retail name=WaterH-Boost-24oz exchanges=6 \
                records=40
                """
        )
        let polled = try await gateway.run([
            "poll", "--link", "unix:\(folder.file("p.sock"))", "--store", folder.file("b.sqlite"), "--json",
        ])
        #expect(polled.output.contains(#""new":40"#))
        player.send(signal: SIGTERM)
        #expect(try await player.finish().exitCode == 0)
    }

    @Test func `strict shows both sides and ends with 3`() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("sample.hex")
        try Data(Self.sample.utf8).write(to: URL(fileURLWithPath: file))
        let player = try replay.start([
            "play", file, "--link", "unix:\(folder.file("p.sock"))", "--flush", "--mode", "strict",
        ])
        _ = try await player.line { $0.hasPrefix("ready ") }
        let polled = try await Program("waterh-gateway").run([
            "poll", "--link", "unix:\(folder.file("p.sock"))", "--store", folder.file("s.sqlite"),
        ])
        #expect(!polled.output.contains("log is empty"), "it was never asked for")
        player.send(signal: SIGTERM)
        let result = try await player.finish()
        #expect(result.exitCode == 3)
        #expect(
            result.error.contains(
                """
                strict: the host wrote 47 54 00 01 FF (ask for a snapshot), which the capture never saw; the \
                capture's host wrote 47 54 00 01 06 (ask for the drink log) in frame 1
                """
            ))
    }

    @Test func `att agrees with tshark`() async throws {
        guard let tshark = Program(system: "tshark") else {
            print("tshark is not installed: att is not judged here (apt-get install tshark)")
            return
        }
        if Self.real == nil { print("the real captures are not on this machine: only the shipped ones are judged") }
        var files = ["boost_two-days.btsnoop", "vita_reports-inside-log.pcapng", "boost_draft.btsnoop"].map {
            "\(Self.captures)/\($0)"
        }
        for name in ["treadmill-h4.btsnoop", "pongbot-h4.btsnoop", "darkelf-h4.btsnoop", "radar-classic-be.pklg"] {
            if let real = Self.real { files.append("\(real)/\(name)") }
        }
        for file in files {
            let theirs = try await tshark.run(
                [
                    "-r", file, "-Y", "btatt", "-T", "fields", "-e", "frame.number", "-e", "btatt.opcode", "-e",
                    "btl2cap.length", "-e", "frame.time_epoch", "-e", "btatt.value",
                ], limit: 120)
            let ours = try await replay.run(["att", "--json", file])
            #expect(ours.exitCode == 0)
            struct PDU: Decodable { var frame: Int, time: String, pdu: String }
            let pdus = try ours.lines.map { try JSONDecoder().decode(PDU.self, from: Data($0.utf8)) }
            let rows = theirs.output.split(separator: "\n").map {
                $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            }
            #expect(pdus.count == rows.count, "\(file)")
            for (pdu, row) in zip(pdus, rows) {
                #expect(String(pdu.frame) == row[0], "\(file)")
                #expect("0x" + pdu.pdu.prefix(2) == row[1], "\(file) frame \(pdu.frame)")
                #expect(String(pdu.pdu.count / 2) == row[2], "\(file) frame \(pdu.frame)")
                #expect(pdu.time == row[3], "\(file) frame \(pdu.frame)")
                #expect(
                    row[4].isEmpty || pdu.pdu.hasSuffix(row[4]) || row[4].contains(","), "\(file) frame \(pdu.frame)")
            }
        }
    }
}
