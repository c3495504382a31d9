import Foundation
import Support
import Testing

/// Captures that another process still writes, columns and colour, with the built program.
@Suite struct CaptureFollowTests {
    let replay = Program("waterh-replay")
    static let twoDays =
        FileManager.default.contents(atPath: ReplayCommandTests.captures + "/boost_two-days.btsnoop").map {
            [UInt8]($0)
        } ?? []

    private func append(_ bytes: [UInt8], to path: String) throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.seekToEnd()
        try file.write(contentsOf: Data(bytes))
        try file.close()
    }

    /// Waits until `holds` returns true for the output of the program.
    private func until(_ what: String, _ running: RunningProgram, _ holds: (String) -> Bool) async {
        let done = await event(within: 30) { holds(running.output) ? true : nil }
        #expect(done == true, "not within 30 s: \(what); so far: \(running.output.suffix(500)) \(running.error)")
    }

    private static func lines(_ text: String) -> Int { text.split(separator: "\n").count }

    @Test func `att of a file that grows, byte by byte in the end`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("growing.btsnoop")
        try Data(Self.twoDays.prefix(3000)).write(to: URL(fileURLWithPath: path))
        let running = try replay.start(["att", path, "--json", "--follow"])
        await until("the lines of the beginning", running) { Self.lines($0) > 20 }
        let before = Self.lines(running.output)
        for byte in Self.twoDays[3000..<3200] { try append([byte], to: path) }
        await until("more lines", running) { Self.lines($0) > before }
        try append(Array(Self.twoDays[3200...]), to: path)
        await until("all lines", running) { Self.lines($0) == 113 }
        #expect(running.output == (try await replay.run(["att", path, "--json"])).output)
        running.send(signal: SIGTERM)
        #expect(try await running.finish().output.split(separator: "\n").count == 113)
    }

    @Test func `complete drinks are printed and a replaced file is read again`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("log.hex")
        try Data("".utf8).write(to: URL(fileURLWithPath: path))
        let running = try replay.start(["drinks", path, "--json", "--follow"])
        let (head, tail) = (
            Array(ReplayCommandTests.sample.utf8.prefix(180)), Array(ReplayCommandTests.sample.utf8.dropFirst(180))
        )
        try append(head, to: path)
        try append(tail, to: path)
        await until("the drink", running) { $0 == ReplayCommandTests.sampleLine }
        let other = ReplayCommandTests.sample.replacingOccurrences(of: "16 15 0F", with: "16 16 0F")
        try Data(other.utf8).write(to: folder.url("other.hex"))
        #expect(rename(folder.file("other.hex"), path) == 0)
        await until("the other file's drink", running) { Self.lines($0) == 2 }
        // The program reports the truncation before new data is written: a file that has its old length again at the
        // next check shows no change.
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try handle.truncate(atOffset: 0)
        #expect(
            await event(within: 30) { running.error.contains("was truncated to 0 bytes") ? true : nil } == true,
            "\(running.error)")
        try handle.write(contentsOf: Data(other.replacingOccurrences(of: "16 16 0F", with: "16 17 0F").utf8))
        try handle.close()
        await until("the third drink", running) { Self.lines($0) == 3 }
        running.send(signal: SIGTERM)
        let result = try await running.finish()
        #expect(result.error.contains("was replaced"), "\(result.error)")
    }

    @Test(arguments: [true, false]) func `a file rewritten in place is read from its start`(
        isLonger: Bool
    ) async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("capture.btsnoop")
        let draft = try #require(
            FileManager.default.contents(atPath: ReplayCommandTests.captures + "/boost_draft.btsnoop"))
        let (first, second) = isLonger ? (draft, Data(Self.twoDays)) : (Data(Self.twoDays), draft)
        try first.write(to: URL(fileURLWithPath: path))
        let before = try await replay.run(["att", path, "--json"]).output
        let running = try replay.start(["att", path, "--json", "--follow"])
        await until("the first capture", running) { $0 == before }
        // As `cp` does: the same inode, truncated and filled again.
        let shell = try #require(Program(system: "cp"))
        try second.write(to: folder.url("other"))
        _ = try await shell.run([folder.file("other"), path])
        let after = try await replay.run(["att", path, "--json"]).output
        await until("the other capture", running) { $0 == before + after }
        running.send(signal: SIGTERM)
        let result = try await running.finish()
        #expect(result.output == before + after && result.error.contains("reading from the start"), "\(result.error)")
    }

    @Test func `--follow ends with its reader and requires one file`() async throws {
        let folder = try TemporaryFolder()
        let shell = try #require(Program(system: "sh"))
        let path = folder.file("a.btsnoop")
        try Data(Self.twoDays).write(to: URL(fileURLWithPath: path))
        let result = try await shell.run(["-c", "'\(replay.path)' att '\(path)' --follow | head -n 2"], limit: 30)
        #expect(Self.lines(result.output) == 2)
        #expect(try await replay.run(["att", folder.file("none"), "--follow"]).exitCode == 1)
        #expect(try await replay.run(["drinks", path, path, "--follow"]).exitCode == 2)
        let piped = try await replay.run(
            ["drinks", "-", "--json", "--follow"], input: Array(ReplayCommandTests.sample.utf8), limit: 30)
        #expect(piped.output == ReplayCommandTests.sampleLine && piped.exitCode == 0)
    }

    /// For rejected requests Wireshark shows the error code and the handle, and for an exchange the MTU.
    @Test func `att prints error names and the MTU`() async throws {
        let path = ReplayCommandTests.captures + "/boost_two-days.btsnoop"
        let text = try await replay.run(["att", path]).output
        #expect(text.contains("Error Response: Attribute Not Found (0x0A) to "), "\(text.prefix(1500))")
        #expect(
            text.contains("Exchange MTU Request 5") || text.contains("Exchange MTU Response 5"), "\(text.prefix(1500))")
        let lines = try await replay.run(["att", path, "--json", "--columns", "name,handle,error,mtu"]).output.split(
            separator: "\n")
        let refusals = lines.filter { $0.contains("Error Response") }
        #expect(
            !refusals.isEmpty
                && refusals.allSatisfy { !$0.contains(#""error":null"#) && !$0.contains(#""handle":null"#) },
            "\(refusals.prefix(3))")
        #expect(lines.allSatisfy { $0.contains("Exchange MTU") == !$0.contains(#""mtu":null"#) })
        let usual = try await replay.run(["att", path, "--json"]).output.split(separator: "\n")
        #expect(
            usual.allSatisfy {
                $0.contains(#""name":"Error Response","error":""#) == $0.contains(#""name":"Error Response""#)
            })
    }

    @Test func `columns are chosen, in their order`() async throws {
        let sample = Array(ReplayCommandTests.sample.utf8)
        let words = try await replay.run(["att", "-", "--columns", "frame,uuid,handle,value,direction"], input: sample)
        #expect(
            words.output == "1\tFFE9\t0x8004\t4754000106\tsent\n2\tFFE4\t0x8008\t525000030206"
                + "01\treceived\n3\tFFE4\t0x8008\t5054000f0e061a020216150f00100000016100\treceived\n")
        let json = try await replay.run(
            ["att", "-", "--json", "--columns", "pdu,latency,frame,handle", "--only", "commands"], input: sample)
        #expect(json.output == #"{"pdu":"5204804754000106","latency":null,"frame":1,"handle":32772}"# + "\n")
        let all = try await replay.run([
            "att", ReplayCommandTests.captures + "/boost_two-days.btsnoop", "--columns",
            "frame,time,adapter,connection,peer,direction,name,handle,uuid,length,latency,value,pdu",
        ])
        #expect(
            all.lines.count == 113
                && all.lines.allSatisfy { $0.split(separator: "\t", omittingEmptySubsequences: false).count == 13 })
        let read = try await replay.run([
            "att", ReplayCommandTests.captures + "/boost_two-days.btsnoop", "--columns", "name,handle,uuid,latency",
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
    func `colour where it is wanted`(_ verb: String, _ escape: String) async throws {
        // A suspect drink: its month is invalid. A write longer than the MTU is a warning only if the capture has the
        // beginning of the connection. Here the times go back.
        let text =
            """
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
