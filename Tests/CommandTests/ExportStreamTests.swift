import Foundation
import Support
import Testing

/// `export` as a stream, parsed by Python's csv and json and by an independent parser of the line protocol.
@Suite struct ExportStreamTests {
    private let folder: TemporaryFolder
    private var store: String { folder.file("s.sqlite") }

    init() throws { folder = try TemporaryFolder() }

    @discardableResult
    private func tracker(_ words: String...) async throws -> Program.Result {
        let result = try await Program("waterh-tracker").run(words + ["--store", store, "--zone", "Europe/Berlin"])
        #expect(result.exitCode == 0, "\(words): \(result.error)")
        return result
    }

    /// Names that need quoting or escaping.
    private static let names = [
        "plain", "a,b", "say \"hi\"", "back\\slash\\", "= , 1i", "caf\u{e9} \u{1F4A7}", "'; DROP", "\u{2028}x",
        " lead and trail ",
    ]

    @Test(arguments: ["csv", "jsonl", "influx"]) func `a foreign reader finds every name as it is`(format: String)
        async throws
    {
        let python = try #require(Program(system: "python3"), "this test needs python3")
        let drinks = Self.names.enumerated().map { index, name in
            [
                "startDate": "2026-06-15T12:\(index + 10):00+02:00", "endDate": "2026-06-15T12:\(index + 10):00+02:00",
                "value_ml": 100 + index, "uuid": name,
            ] as [String: Any]
        }
        try JSONSerialization.data(withJSONObject: drinks).write(to: folder.url("in.json"))
        try await tracker("import", folder.file("in.json"))
        let stream = try await tracker("export", "--format", format, "--after", "0")
        try Data(
            (format == "csv" ? "position,change,startDate,value_ml,uuid,original,zone,day,drinkSource\n" : "").utf8
                + stream.outputBytes
        ).write(to: folder.url("out"))
        let read = try await python.run([
            Program.repository + "/Tests/CommandTests/read_lines.py", format, folder.file("out"),
        ])
        #expect(read.exitCode == 0, "\(read.error)\(stream.output)")
        let found = try #require(try JSONSerialization.jsonObject(with: Data(read.outputBytes)) as? [[String: Any]])
        let breaks: Set<Unicode.Scalar> = ["\u{2028}"]
        // A spreadsheet interprets such a beginning as a formula unless an apostrophe precedes it.
        let wanted = Self.names.map { name in
            format == "csv" && name.hasPrefix("=")
                ? "'" + name
                : format == "jsonl"
                    ? name
                    : String(
                        String.UnicodeScalarView(name.unicodeScalars.map { breaks.contains($0) ? "\u{FFFD}" : $0 }))
        }
        #expect(found.map { $0["uuid"] as? String } == wanted)
        #expect(found.map { $0["ml"] as? Int } == Array(100..<(100 + Self.names.count)))
        #expect(found.allSatisfy { $0["change"] as? String == "added" })
    }

    @Test func `following prints one line per change from the given position`() async throws {
        try await tracker("log", "100")
        let stream = try Program("waterh-tracker").start([
            "export", "--follow", "--format", "csv", "--store", store, "--zone", "Europe/Berlin",
        ])
        func lines(_ count: Int) async -> [String]? {
            await event(within: 30) {
                stream.output.split(separator: "\n").count >= count
                    ? stream.output.split(separator: "\n").map(String.init) : nil
            }
        }
        #expect(
            await lines(2)?.first == "position,change,startDate,value_ml,uuid,original,zone,day,drinkSource",
            "\(stream.error)")
        try await tracker("edit", "d1", "--ml", "150")
        _ = await lines(4)
        try await tracker("log", "200")
        let all = try #require(await lines(5), "\(stream.output)")
        #expect(all.dropFirst().map { $0.split(separator: ",")[1] } == ["added", "deleted", "corrected", "added"])
        stream.send(signal: SIGTERM)
        let ended = try await stream.finish()
        #expect(ended.error.isEmpty && ended.output.hasSuffix("\n"), "\(ended.error)")
        let position = try #require(all[1].split(separator: ",").first.map(String.init))
        let rest = try await tracker("export", "--format", "csv", "--after", position)
        #expect(rest.lines.map { $0.split(separator: ",")[1] } == ["deleted", "corrected", "added"])
        let none = try await Program("waterh-tracker").run(["export", "--after", "999", "--store", store])
        #expect(none.exitCode == 4 && none.error.contains("999"), "\(none.error)")
    }

    /// A reader that resumes at a position in another store must get an error, not the rest of that store.
    @Test func `a position before a purge is rejected and a follower starts again`() async throws {
        for ml in ["100", "101"] { try await tracker("log", ml) }
        let known = try await tracker("export", "--format", "csv", "--after", "0")
        let position = try #require(known.lines.last?.split(separator: ",").first.map(String.init))
        let stream = try Program("waterh-tracker").start([
            "export", "--follow", "--format", "csv", "--store", store, "--zone", "Europe/Berlin",
        ])
        func amounts() -> [Substring] {
            stream.output.split(separator: "\n").dropFirst().map { $0.split(separator: ",")[3] }
        }
        #expect(
            await event(within: 30) { amounts() == ["100", "101"] ? true : nil } == true,
            "\(stream.output) \(stream.error)")
        // The stopped process does not see the events in between.
        stream.send(signal: SIGSTOP)
        try await tracker("purge", "--yes")
        for ml in ["201", "202", "203"] { try await tracker("log", ml) }
        stream.send(signal: SIGCONT)
        #expect(
            await event(within: 30) { amounts() == ["100", "101", "201", "202", "203"] ? true : nil } == true,
            "\(stream.output) \(stream.error)")
        #expect(stream.error.contains("Sending all drinks again"))
        let late = try await Program("waterh-tracker").run([
            "export", "--format", "csv", "--after", position, "--store", store,
        ])
        #expect(
            late.exitCode == 4 && late.output.isEmpty && late.error.contains(position)
                && late.error.contains("without --after"), "\(late.output)\(late.error)")
        // A replaced file of the same store: the reader gets the entries that the first file did not have.
        try await tracker("backup", folder.file("copy"))
        try await tracker("log", "204")
        #expect(
            await event(within: 30) { amounts().last == "204" ? true : nil } == true, "\(stream.output) \(stream.error)"
        )
        let copied = try await Program("waterh-tracker").run(["log", "205", "--store", folder.file("copy")])
        // The remaining log belongs to the removed store.
        for name in ["-wal", "-shm"] { unlink(store + name) }
        #expect(copied.exitCode == 0 && rename(folder.file("copy"), store) == 0, "\(copied.error)")
        #expect(
            await event(within: 30) { amounts().suffix(4) == ["201", "202", "203", "205"] ? true : nil } == true,
            "\(stream.output) \(stream.error)")
        stream.send(signal: SIGTERM)
        _ = try await stream.finish()
    }

    /// A part that was written before the disk was full must not be written twice.
    @Test(.enabled(if: MountNamespace.words != nil, "no mounts of our own on this machine"))
    func `a full disk neither repeats nor truncates a line`() async throws {
        try await tracker("log", "100")
        let rows = (0..<200).map {
            "2026-06-\(10 + $0 / 20) 12:\(String(format: "%02d", $0 % 20)):00 +0200,,\(100 + $0),row-\($0)"
        }
        try Data((["startDate,endDate,value_ml,uuid"] + rows).joined(separator: "\n").utf8).write(
            to: folder.url("in.csv"))
        try FileManager.default.createDirectory(at: folder.url("small"), withIntermediateDirectories: true)
        let program = "'\(Program.products)/waterh-tracker'", place = "--store '\(store)' --zone Europe/Berlin"
        // Each wait ends after 30 s at the latest.
        let script = """
            set -e; cd '\(folder.file("small"))'; mount -t tmpfs -o size=64k small .; cd .; cd "$PWD"; head -c 53000 \
            /dev/zero >fill
            until_said() { for _ in $(seq 300); do grep -q "$1" "$2" && return; sleep 0.1; done; echo "no $1 in $2" \
            >&2; exit 1; }
            \(program) export --follow --format csv \(place) >>out 2>'\(folder.file("words"))' & follower=$!
            until_said ,100, out; \(program) import '\(folder.file("in.csv"))' \(place) >/dev/null
            until_said 'cannot be written' '\(folder.file("words"))'; rm fill; \(program) log 51 \(place) >/dev/null
            until_said ',51,' out; kill $follower; wait $follower || true; cat out
            """
        let words = try #require(MountNamespace.words)
        let said = try await Program(system: "unshare")?.run(words + ["bash", "-c", script])
        let result = try #require(said)
        #expect(result.exitCode == 0, "\(result.error)")
        let lines = result.lines.dropFirst()
        #expect(
            lines.count == 202 && Set(lines.map { $0.prefix { $0 != "," } }).count == 202
                && lines.allSatisfy { $0.split(separator: ",", omittingEmptySubsequences: false).count == 9 },
            "\(lines.count)")
        let warning = try String(contentsOf: folder.url("words"), encoding: .utf8)
        #expect(warning.contains("No space left") && !warning.contains("u000a"), "\(warning)")
    }

    /// `| head`, and a pipe without a reader.
    @Test func `a closed reader ends the command and a stalled one blocks nothing`() async throws {
        let rows = (0..<3000).map {
            """
            2026-06-\(10 + $0 / 600) 12:\(String(format: "%02d:%02d", $0 % 600 / 60, $0 % 60)) \
            +0200,,\(100 + $0 % 200),row-\($0)
            """
        }
        try Data((["startDate,endDate,value_ml,uuid"] + rows).joined(separator: "\n").utf8).write(
            to: folder.url("in.csv"))
        try await tracker("import", folder.file("in.csv"))
        let shell = Program(path: "/bin/bash")
        let command = "'\(Program.products)/waterh-tracker' export --follow --format influx --store '\(store)'"
        let head = try await shell.run(["-c", "\(command) | head -n 3; echo ${PIPESTATUS[0]}"])
        #expect(
            head.lines.last == "0" && head.lines.count == 4 && head.error.isEmpty,
            "\(head.output.suffix(300)) \(head.error)")
        let python = try #require(Program(system: "python3"), "this test needs python3")
        let deaf = try await python.run([
            Program.repository + "/Tests/CommandTests/never_reads.py", Program.products + "/waterh-tracker", store,
        ])
        #expect(deaf.exitCode == 0, "\(deaf.output)\(deaf.error)")
    }

    @Test(arguments: [
        ["--follow", "--format", "json"], ["--follow", "--output", "x"], ["--after", "-1"], ["--format", "line"],
    ])
    func `invalid export options are exit code 2`(words: [String]) async throws {
        let result = try await Program("waterh-tracker").run(["export"] + words + ["--store", store])
        #expect(result.exitCode == 2, "\(result.error)")
    }
}
