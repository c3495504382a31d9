import Foundation
import Support
import Testing

/// Captures that another process still writes, columns and colour, with the built program.
@Suite struct CaptureFollowTests {
    let replay = Program.replay
    static let twoDays = FileManager.default.contents(atPath: ReplayCommandTests.twoDays).map { [UInt8]($0) } ?? []

    private func append(_ bytes: [UInt8], to path: String) throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.seekToEnd()
        try file.write(contentsOf: Data(bytes))
        try file.close()
    }

    /// Waits until `holds` returns true for the output of the program.
    private func until(_ what: String, _ running: RunningProgram, _ holds: (String) -> Bool) async {
        let isMet = await eventually(within: 30) { holds(running.output) }
        #expect(isMet, "not within 30 s: \(what); so far: \(running.output.suffix(500)) \(running.error)")
    }

    private static func lines(_ text: String) -> Int { text.split(separator: "\n").count }

    @Test func `att --follow prints the PDUs of a growing file`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("growing.btsnoop")
        try Data(Self.twoDays.prefix(3000)).write(to: URL(fileURLWithPath: path))
        let running = try replay.start("att \(path) --json --follow")
        await until("the lines of the beginning", running) { Self.lines($0) > 20 }
        let before = Self.lines(running.output)
        for byte in Self.twoDays[3000..<3200] { try append([byte], to: path) }
        await until("more lines", running) { Self.lines($0) > before }
        try append(Array(Self.twoDays[3200...]), to: path)
        await until("all lines", running) { Self.lines($0) == 113 }
        #expect(running.output == (try await replay.run("att \(path) --json")).output)
        running.send(signal: SIGTERM)
        #expect(try await running.finish().output.split(separator: "\n").count == 113)
    }

    @Test func `drinks --follow prints complete drinks and reads a replaced file again`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("log.hex")
        try folder.write("", to: "log.hex")
        let running = try replay.start("drinks \(path) --json --follow")
        let (head, tail) = (
            Array(ReplayCommandTests.sample.utf8.prefix(180)), Array(ReplayCommandTests.sample.utf8.dropFirst(180))
        )
        try append(head, to: path)
        try append(tail, to: path)
        await until("the drink", running) { $0 == ReplayCommandTests.sampleLine }
        let other = ReplayCommandTests.sample.replacingOccurrences(of: "16 15 0F", with: "16 16 0F")
        try folder.write(other, to: "other.hex")
        #expect(rename(folder.file("other.hex"), path) == 0)
        await until("the other file's drink", running) { Self.lines($0) == 2 }
        // The program reports the truncation before new data is written: a file that has its old length again at the
        // next check shows no change.
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try handle.truncate(atOffset: 0)
        await running.says("was truncated to 0 bytes")
        try handle.write(contentsOf: Data(other.replacingOccurrences(of: "16 16 0F", with: "16 17 0F").utf8))
        try handle.close()
        await until("the third drink", running) { Self.lines($0) == 3 }
        running.send(signal: SIGTERM)
        let result = try await running.finish()
        #expect(result.error.contains("was replaced"), "\(result.error)")
    }

    @Test func `--follow ends when its reader is gone, and requires one file`() async throws {
        let folder = try TemporaryFolder()
        let shell = try #require(Program(system: "sh"))
        let path = folder.file("a.btsnoop")
        try Data(Self.twoDays).write(to: URL(fileURLWithPath: path))
        let result = try await shell.run(["-c", "'\(replay.path)' att '\(path)' --follow | head -n 2"], limit: 30)
        #expect(Self.lines(result.output) == 2)
        #expect(try await replay.run("att \(folder.file("none")) --follow").exitCode == 1)
        #expect(try await replay.run("drinks \(path) \(path) --follow").exitCode == 2)
        let piped = try await replay.run(
            "drinks - --json --follow", input: Array(ReplayCommandTests.sample.utf8), limit: 30)
        #expect(piped.output == ReplayCommandTests.sampleLine && piped.exitCode == 0)
    }

    @Test func `selected columns are printed in the selected order`() async throws {
        let sample = Array(ReplayCommandTests.sample.utf8)
        let words = try await replay.run("att - --columns frame,uuid,handle,value,direction", input: sample)
        #expect(
            words.output == "1\tFFE9\t0x8004\t4754000106\tsent\n2\tFFE4\t0x8008\t525000030206"
                + "01\treceived\n3\tFFE4\t0x8008\t5054000f0e061a020216150f00100000016100\treceived\n")
        let json = try await replay.run(
            "att - --json --columns pdu,latency,frame,handle --only commands", input: sample)
        #expect(json.output == #"{"pdu":"5204804754000106","latency":null,"frame":1,"handle":32772}"# + "\n")
        let all = try await replay.run([
            "att", ReplayCommandTests.twoDays, "--columns",
            "frame,time,adapter,connection,peer,direction,name,handle,uuid,length,latency,value,pdu",
        ])
        #expect(
            all.lines.count == 113
                && all.lines.allSatisfy { $0.split(separator: "\t", omittingEmptySubsequences: false).count == 13 })
        let read = try await replay.run([
            "att", ReplayCommandTests.twoDays, "--columns", "name,handle,uuid,latency",
            "--handle", "3", "--only", "responses",
        ])
        #expect(read.lines.first?.hasPrefix("Read Response\t0x0003\t2A00\t0.0") == true, "\(read.output)")
        for wrong in ["", "frame,", "nothing", "Frame"] {
            #expect(try await replay.run(["att", "-", "--columns", wrong], input: sample).exitCode == 2, "\(wrong)")
        }
    }

    @Test(arguments: [
        ("att", "\u{1B}[34m"), ("commands", "\u{1B}[1m"), ("stats", "\u{1B}[33m"), ("drinks", "\u{1B}[33m"),
    ])
    func `piped output is coloured only with --color always`(_ verb: String, _ escape: String) async throws {
        // A suspect drink: its month is invalid. A write longer than the MTU is a warning only if the capture has the
        // beginning of the connection. Here the times go back.
        let text = """
            2026-02-02T22:21:25Z > FFE9 47 54 00 01 06\n2026-02-02T22:21:20Z < FFE4 50 54 00 0F 0E 06 1A 0D 02 16 \
            15 0F 00 10 00 00 01 61 00\n
            """
        let never = try await replay.run([verb, "-"], input: Array(text.utf8))
        #expect(!never.outputBytes.contains(0x1B) && never.exitCode == 0)
        let always = try await replay.run([verb, "-", "--color", "always"], input: Array(text.utf8))
        #expect(always.output.contains(escape), "\(always.output)")
        #expect(
            always.output.replacingOccurrences(of: "\u{1B}\\[[0-9]+m", with: "", options: .regularExpression)
                == never.output)
        #expect(try await replay.run([verb, "-", "--color", "never"], input: Array(text.utf8)).output == never.output)
    }
}

@Suite struct CaptureReportTests {
    let replay = Program.replay
    private let folder: TemporaryFolder
    private static let twoDays = ReplayCommandTests.twoDays
    static let vita = ReplayCommandTests.captures + "/vita_reports-inside-log.pcapng"

    init() throws { folder = try TemporaryFolder() }

    /// The content of the page's data block.
    private func data(_ page: String) throws -> [[String: Any]] {
        let begin = try #require(page.range(of: #"<script type="application/json" id="data">"#)),
            end = try #require(page.range(of: "</script>", range: begin.upperBound..<page.endIndex))
        return try #require(
            try JSONSerialization.jsonObject(with: Data(page[begin.upperBound..<end.lowerBound].utf8))
                as? [[String: Any]])
    }

    private func occurrences(_ word: String, _ text: String) -> Int {
        text.lowercased().components(separatedBy: word).count - 1
    }

    /// The page as a browser renders it; `nil` where no browser is installed.
    private func shown(_ path: String) async throws -> String? {
        guard let chromium = Program(system: "chromium") else {
            print("chromium is not installed: the page is not opened here (apt-get install chromium)")
            return nil
        }
        let profile = try TemporaryFolder()
        let result = try await chromium.run(
            [
                "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=\(profile.path)",
                "--virtual-time-budget=2000", "--window-size=1280,2000", "--dump-dom", "file://\(path)",
            ], environment: ["HOME": profile.path])
        return result.output
    }

    @Test func `an input file is never overwritten`() async throws {
        let capture = folder.file("log.btsnoop"), other = folder.file("other.btsnoop"),
            link = folder.file("link.btsnoop")
        try FileManager.default.copyItem(atPath: Self.twoDays, toPath: capture)
        try FileManager.default.copyItem(atPath: Self.twoDays, toPath: other)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: capture)
        for arguments in [
            ["report", capture, "-o", capture], ["report", other, capture, "-o", capture],
            ["report", capture, "-o", link], ["clone", capture, "-o", capture], ["clone", other, capture, "-o", link],
            ["convert", capture, link],
        ] {
            let result = try await replay.run(arguments)
            #expect(result.exitCode == 2 && result.error.contains("are the same file"), "\(arguments): \(result.error)")
        }
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: capture)) == Data(contentsOf: URL(fileURLWithPath: Self.twoDays)))
    }

    @Test func `the report page contains the capture and loads nothing`() async throws {
        let result = try await replay.run("report \(Self.twoDays) -o \(folder.file("page.html"))")
        result.expect(0, output: "", error: "113 ATT PDUs")
        let page = try folder.text("page.html")
        let capture = try #require(try data(page).first)
        #expect((capture["total"] as? [String: Any])?["pdus"] as? Int == 113)
        #expect((capture["drinks"] as? [String: Any])?["count"] as? Int == 40)
        #expect((capture["timeline"] as? [String: Any])?["count"] as? Int == 113)
        for word in ["http://", "https://", "src=", "@import", "url("] where word != "http://" {
            #expect(!page.contains(word), "\(word)")
        }
        // The SVG namespace is not a URL that a browser loads.
        #expect(page.replacingOccurrences(of: "http://www.w3.org/2000/svg", with: "").contains("http://") == false)
        #expect(page.contains("default-src 'none'"))
        guard let dom = try await shown(folder.file("page.html")) else { return }
        for words in [
            "No findings.", "8,140 ml", "Read By Group Type Request", "40 drinks", "FFE4", "error responses",
            "A4:C1:38:31:D1:D2",
        ] { #expect(dom.contains(words), "\(words)") }
    }

    @Test func `a hostile device name is escaped`() async throws {
        let bad = "</script><img src=x onerror=alert(1)>"
        let text = """
            name: WaterH\(bad)<!--<script>
            2026-02-02T22:21:20.100Z connected
            2026-02-02T22:21:20.200Z > FFE9 47 54 00 01 06
            2026-02-02T22:21:20.450Z < FFE4 50 54 00 0F 0E 06 1A 02 02 16 15 0F 00 10 00 00 01 61 00

            """
        let path = folder.file("<img src=x onerror=alert(2)>&amp;.hex")
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try await replay.succeed(["report", path, path, "--output", folder.file("page.html")])
        let page = try folder.text("page.html")
        #expect(occurrences("</script>", page) == 2 && occurrences("<img", page) == 0 && occurrences("<!--", page) == 0)
        #expect(try data(page).count == 2)
        guard let dom = try await shown(folder.file("page.html")) else { return }
        #expect(occurrences("<img", dom) == 0 && dom.contains("&lt;img src=x onerror=alert(2)&gt;"))
    }

    @Test func `the report page describes empty, undated, unordered and truncated captures`() async throws {
        let complete = try Data(contentsOf: URL(fileURLWithPath: Self.twoDays))
        let backwards = """
            2026-02-02T22:21:20Z > FFE9 47 54 00 01 06\n2020-02-02T22:21:20Z < FFE4 52 50 00 03 02 06 01\n\
            1970-01-01T00:00:00Z < FFE4 52\n
            """
        let timeless = "- > FFE9 47 54 00 01 06\n- < FFE4 52 50 00 03 02 06 01\n"
        // A page has at most two captures.
        for (captures, isCut, words) in [
            ([complete.prefix(16), complete.prefix(5000)], [false, true], "The capture has no ATT PDU."),
            ([Data(timeless.utf8), Data(backwards.utf8)], [false, false], "Times go backwards 2 times"),
        ] {
            for (name, bytes) in zip(["a", "b"], captures) { try bytes.write(to: folder.url(name)) }
            let page = folder.file("page.html")
            let result = try await replay.run(["report", folder.file("a"), folder.file("b"), "-o", page])
            #expect(result.exitCode == (isCut.contains(true) ? 4 : 0), "\(result.error)")
            let described = try data(try String(contentsOfFile: page, encoding: .utf8))
            #expect(described.map { $0["trouble"] as? String != nil } == isCut)
            guard let dom = try await shown(page) else { continue }
            // The last part is present: the script ran to its end.
            #expect(dom.contains("<section id=\"course\">") && dom.contains(words), "\(words)")
        }
    }

    @Test func `input that is not a capture leaves the old page unchanged`() async throws {
        try folder.write("old", to: "page.html")
        for arguments in [["/bin/sh"], ["/nonexistent"], ["/"]] {
            let result = try await replay.run(["report"] + arguments + ["-o", folder.file("page.html")])
            #expect([1, 4].contains(result.exitCode) && !result.error.isEmpty)
        }
        #expect(try folder.text("page.html") == "old")
        #expect(try await replay.run("report \(Self.twoDays)").exitCode == 2)
        #expect(try await replay.run("report - - -o -").exitCode == 2)
        let piped = try await replay.run("report - -o -", input: Array(ReplayCommandTests.sample.utf8))
        #expect(piped.exitCode == 0 && piped.output.hasPrefix("<!doctype html>"))
    }
}

/// `stats`, and the filters of every subcommand that reads captures, with the built program.
@Suite struct CaptureStatsCommandTests {
    let replay = Program.replay
    private static let twoDays = ReplayCommandTests.twoDays

    private func json(_ arguments: [String], input: [UInt8] = []) async throws -> [String: Any] {
        let result = try await replay.run(["stats", "--json"] + arguments, input: input)
        #expect(result.exitCode == 0 && result.lines.count == 1, "\(arguments): \(result.error)")
        return try result.object()
    }

    private func big(_ value: UInt64, _ size: Int) -> [UInt8] {
        (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> UInt64($0 * 8)) }
    }
    private func record(_ time: UInt64, _ flags: UInt64, _ flag: UInt8, _ att: [UInt8]) -> [UInt8] {
        let packet = [2, 0x40, flag << 4, UInt8(att.count + 4), 0, UInt8(att.count), 0, 4, 0] + att
        return big(UInt64(packet.count), 4) + big(UInt64(packet.count), 4) + big(flags, 4) + big(0, 4) + big(time, 8)
            + packet
    }

    /// One damaged bit in a timestamp gives a response time of 292,000 years. That exceeds Int64 microseconds.
    @Test func `a response time of 292,000 years does not crash stats`() async throws {
        let time: UInt64 = 0x00DC_DDB3_0F2F_8000 + 1_770_070_880_000_000
        let file =
            Array("btsnoop\0".utf8) + big(1, 4) + big(1002, 4) + record(time ^ 1 << 63, 0, 0, [0x12, 3, 0, 1, 0])
            + record(time + 86_700, 1, 2, [0x13])
        let result = try await replay.run("stats -", input: file)
        result.expect(0, output: "1 × Write Response")
        let latency = try #require(
            (try await json(["-"], input: file)["total"] as? [String: Any])?["latency"] as? [String: Any])
        #expect(latency["medianMs"] as? Double == latency["worstMs"] as? Double, "\(latency)")
    }

    @Test func `stats has the same values in JSON and CSV`() async throws {
        let object = try await json([Self.twoDays])
        let characteristics = try #require(object["characteristics"] as? [[String: Any]])
        let csv = try await replay.run("stats --csv \(Self.twoDays)")
        let rows = csv.lines.map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
        #expect(rows.allSatisfy { $0.count == rows[0].count } && rows.count == 1 + 1 + 6 + 2 + 5)
        let pdus = try #require(rows[0].firstIndex(of: "pdus")), uuid = try #require(rows[0].firstIndex(of: "uuid"))
        #expect(rows.suffix(5).map { $0[uuid] } == ["2A00", "2A25", "FFE9", "FFE4", "2902"])
        #expect(rows.suffix(5).map { Int($0[pdus]) } == characteristics.map { $0["pdus"] as? Int })
        #expect(!csv.output.contains("99999"), "\(csv.output)")
        #expect(try await replay.run("stats --csv --json \(Self.twoDays)").exitCode == 2)
    }

    /// Counts of each opcode, and the time from each request to its response.
    @Test func `stats and tshark have the same counts and response times`() async throws {
        let tshark = try #require(Program(system: "tshark"), "tshark is not installed: run hardware/bench setup")
        var files = [
            Self.twoDays, ReplayCommandTests.captures + "/vita_reports-inside-log.pcapng",
            ReplayCommandTests.captures + "/boost_draft.btsnoop",
        ]
        if let real = ReplayCommandTests.real {
            files += ["treadmill-h4.btsnoop", "darkelf-h4.btsnoop", "pongbot-h4.btsnoop"].map { "\(real)/\($0)" }
        }
        for file in files {
            let theirs = try await tshark.run([
                "-r", file, "-Y", "btatt", "-T", "fields", "-e", "frame.time_epoch", "-e", "btatt.opcode", "-e",
                "btatt.handle", "-e", "btatt.req_opcode_in_error",
            ])
            var opcodes: [Int: Int] = [:], asked: (opcode: Int, time: Double)?, indicated: Double?,
                latencies: [Int: [Double]] = [:]
            var isSimple = true
            for line in theirs.lines {
                let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
                guard fields.count >= 2, let time = Double(fields[0]),
                    let opcode = Int(fields[1].dropFirst(2), radix: 16)
                else { continue }
                opcodes[opcode, default: 0] += 1
                if opcode == 0x1D { indicated = time }
                if opcode == 0x1E, let from = indicated { latencies[0x1D, default: []].append((time - from) * 1000) }
                guard opcode != 0x1B, opcode < 0x1A else { continue }
                if opcode & 1 == 0 {
                    // In some captures both ends have a request pending: then the simple pairing of request and
                    // response is wrong.
                    if asked != nil { isSimple = false }
                    asked = (opcode, time)
                } else if let request = asked, opcode == request.opcode + 1 || opcode == 1 {
                    latencies[request.opcode, default: []].append((time - request.time) * 1000)
                    asked = nil
                }
            }
            let ours = try await json([file])
            let byName = try #require((ours["total"] as? [String: Any])?["byName"] as? [String: Int])
            #expect(byName.values.sorted() == opcodes.values.sorted(), "\(file)")
            guard isSimple else { continue }
            let requests = try #require(ours["requests"] as? [[String: Any]])
            #expect(requests.count == latencies.count, "\(file)")
            for (request, (opcode, times)) in zip(requests, latencies.sorted(by: { $0.key < $1.key })) {
                let latency = try #require(request["latency"] as? [String: Any])
                let sorted = times.sorted()
                #expect(latency["count"] as? Int == times.count, "\(file), \(opcode)")
                for (key, share) in [("medianMs", 0.5), ("share95Ms", 0.95), ("worstMs", 1)] {
                    let right = sorted[max(1, Int((share * Double(sorted.count)).rounded(.up))) - 1],
                        found = try #require(latency[key] as? Double)
                    #expect(
                        abs(found - right) <= max(0.002, right / 60),
                        "\(file), \(opcode) \(key): \(found), tshark \(right)")
                }
            }
        }
    }

    @Test(
        arguments: [
            (["--only", "notifications"], 15), (["--only", "commands", "--only", "notifications"], 21),
            (["--handle", "0x13"], 15), (["--handle", "19", "--only", "requests"], 0),
            (["--device", "A4:C1:38:31:D1:D2"], 113), (["--bottle", "A4:C1:38:31:D1:D2"], 113),
            (["--device", "A4:C1:38:31:D1:D3"], 0), (["--from", "2026-11-21T05:02:15.355Z"], 12),
            (["--from", "2026-11-21T06:02:15.355+01:00"], 12), (["--to", "2026-11-21 05:02:15.355"], 101),
            (["--from", "05:02:15.355"], 12), (["--from", "1795237335.355"], 12),
            (["--from", "+0", "--to", "+10"], 113), (["--from", "2026-11-22"], 0), (["--to", "2026-11-21"], 0),
            (["--only", "errors"], 14),
        ] as [([String], Int)])
    func `every subcommand supports the same filter`(_ filter: [String], _ count: Int) async throws {
        let att = try await replay.run(["att", Self.twoDays] + filter)
        #expect(att.exitCode == 0 && att.lines.count == count, "\(att.error)")
        #expect(
            att.error.isEmpty == (count > 0) && (count > 0 || att.error.contains("none of the 113 ATT PDUs")),
            "\(att.error)")
        guard filter.first == "--to" else { return }
        let total = try await json([Self.twoDays] + filter)["total"] as? [String: Any]
        #expect(total?["pdus"] as? Int == count)
        let info = try await replay.run(["info", "--json", Self.twoDays] + filter).object()
        #expect((info["att"] as? [String: Any])?["total"] as? Int == count)
        for verb in ["drinks", "commands"] { try await replay.succeed([verb, Self.twoDays] + filter) }
    }

    @Test func `convert copies the selected packets and the discovery`() async throws {
        let folder = try TemporaryFolder()
        for (filter, notifications, drinks) in [
            (["--only", "notifications"], 15, 40), (["--to", "+0.2"], 7, 40),
            (["--device", "A4:C1:38:31:D1:D3"], 0, 0),
        ] {
            try await replay.succeed(["convert", Self.twoDays, folder.file("some.pcapng")] + filter)
            #expect(
                try await replay.run("att \(folder.file("some.pcapng")) --only notifications").lines.count
                    == notifications, "\(filter)")
            #expect(
                try await replay.run("drinks \(folder.file("some.pcapng")) --json").lines.count == drinks, "\(filter)")
            #expect(
                try await replay.run("att \(folder.file("some.pcapng")) --only commands").lines.isEmpty
                    == (filter[0] != "--to"))
        }
    }

    @Test func `stats describes empty, invalid, several and truncated captures`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("", to: "empty")
        let empty = try await replay.run("stats \(folder.file("empty")) \(Self.twoDays)")
        #expect(
            empty.exitCode == 4 && empty.error.split(separator: "\n").count == 1
                && empty.output.contains("113 ATT PDUs"))
        let both = try await replay.run([
            "stats", "--json", Self.twoDays, "/bin/sh", ReplayCommandTests.captures + "/boost_one-record.hex",
        ])
        #expect(both.exitCode == 4 && both.lines.count == 2)
        try Data(try Data(contentsOf: URL(fileURLWithPath: Self.twoDays)).prefix(4000)).write(to: folder.url("cut"))
        let cut = try await replay.run("stats \(folder.file("cut"))")
        cut.expect(4, output: "ATT PDUs", error: "cut")
    }

    @Test func `advertised names cannot control a terminal`() async throws {
        let text = ReplayCommandTests.sample.replacingOccurrences(
            of: "address: A4:C1:38:01:02:03", with: "name: WaterH\u{1B}]0;x\u{07}\u{202E}")
        let result = try await replay.run("stats -", input: Array(text.utf8))
        #expect(result.exitCode == 0 && !result.outputBytes.contains(0x1B) && !result.output.contains("\u{202E}"))
    }
}
