import Foundation
import Store
import Support
import Testing
import TrackerCore

@Suite struct TrackerFileTests {
    private let home: Home

    init() throws { home = try Home() }

    @Test func `a backup is restored`() async throws {
        _ = try await home.shell(
            """
            waterh-tracker setup --yes --goal 1800; waterh-tracker log 250; waterh-tracker session start; \
            waterh-tracker drink Beer
            """)
        let before = try await home.shell("waterh-tracker status --json --now 2027-01-01T12:00").output
        let taken = try await home.shell(
            "waterh-tracker backup b.sqlite; stat -c %a b.sqlite; waterh-tracker backup - | wc -c")
        #expect(
            taken.exitCode == 0 && taken.lines[0].contains("1 drink, 1 session, 5 presets") && taken.lines[2] == "600",
            "\(taken)")
        let other = try await home.shell(
            """
            export WATERH_STORE=other.sqlite; waterh-tracker restore b.sqlite && waterh-tracker status --json \
            --now 2027-01-01T12:00
            """)
        #expect(other.exitCode == 0 && other.output.hasSuffix(before), "\(other)")
        let refused = try await home.shell("waterh-tracker log 1; waterh-tracker restore b.sqlite")
        refused.expect(3, error: "--yes")
        let replaced = try await home.shell(
            "waterh-tracker restore - --yes <b.sqlite; waterh-tracker status --json --now 2027-01-01T12:00")
        #expect(
            replaced.output.hasSuffix(before) && replaced.lines[1].hasPrefix("The old content is in "), "\(replaced)")
        let back = try await home.shell(
            """
            f=$(ls waterh.sqlite-replaced-*); waterh-tracker restore $f --yes --json; waterh-tracker status \
            --json; stat -c %a $f
            """)
        #expect(
            back.exitCode == 0 && back.lines[0].contains("\"replaced\":")
                && back.lines[1].contains("\"dailyTotalMl\":251,") && back.lines[2] == "600", "\(back)")
        _ = try await home.shell("waterh-tracker restore - --yes <b.sqlite")
        for (line, code) in [
            ("backup waterh.sqlite", Int32(2)), ("export -o waterh.sqlite", 2), ("import waterh.sqlite-wal", 2),
            ("import waterh.sqlite", 2), ("restore waterh.sqlite --yes", 2), ("restore nowhere --yes", 1),
            ("restore . --yes", 4), ("import .", 4), ("import b.sqlite", 4),
        ] {
            let result = try await home.shell("exec 9<waterh.sqlite; touch waterh.sqlite-wal; waterh-tracker \(line)")
            #expect(result.exitCode == code, "\(line): \(result.error)")
        }
        #expect(try await home.shell("waterh-tracker status --json --now 2027-01-01T12:00").output == before)
    }

    /// A report must not overwrite the store that it reads, and a backup must not have the name of the store's journal.
    @Test func `no command overwrites a store with its output`() async throws {
        _ = try await home.shell(
            """
            waterh-tracker log 250; cp waterh.sqlite other.sqlite; echo 'units = \"oz\"' >t.toml; echo said \
            >service.log; waterh-tracker backup b.sqlite
            """)
        let before = try await home.shell("waterh-tracker export --format csv; cat t.toml service.log").output
        for line in [
            "waterh-gateway report --link unix:none -o waterh.sqlite",
            "waterh-gateway report --link unix:none -o b.sqlite",
            "waterh-gateway report --link unix:none --log service.log -o service.log",
            "waterh-tracker backup waterh.sqlite-journal",
            "waterh-tracker export --format json -o ./waterh.sqlite-journal", "waterh-tracker backup other.sqlite",
            "waterh-tracker export -o b.sqlite", "waterh-tracker backup t.toml --config t.toml",
            "waterh-replay dissector -o other.sqlite",
        ] {
            let result = try await home.shell(line)
            #expect(result.exitCode == 2 && result.error.contains("Name another file to write"), "\(line): \(result)")
        }
        #expect(try await home.shell("ls waterh.sqlite-journal").exitCode != 0)
        #expect(try await home.shell("waterh-tracker backup b.sqlite").exitCode == 0, "an older backup is replaced")
        #expect(try await home.shell("waterh-tracker export --format csv; cat t.toml service.log").output == before)
    }

    @Test func `export supports JSON`() async throws {
        _ = try await home.shell("waterh-tracker log 250; waterh-tracker log 300")
        for line in ["export --json", "export --json --format json", "export --json --output -"] {
            let result = try await home.shell("waterh-tracker \(line) | tee all.json")
            let object = try result.object()
            #expect(
                Set(object.keys) == ["drinks"]
                    && (object["drinks"] as? [[String: Any]])?.compactMap { $0["value_ml"] as? Int } == [250, 300])
            #expect(
                try await home.shell("WATERH_STORE=other.sqlite waterh-tracker import all.json").exitCode == 0,
                "and can be read again")
        }
        #expect(
            try await home.shell("waterh-tracker export --json --store empty.sqlite").output == "{\"drinks\": []\n}\n")
        for format in ["csv", "apple-health"] {
            let refused = try await home.shell("waterh-tracker export --json --format \(format)")
            refused.expect(2, output: "", error: "--output")
            #expect(
                try await home.shell("waterh-tracker export --json --format \(format) --output f").output
                    == "{\"drinks\":2}\n")
        }
        #expect(try await home.shell("waterh-tracker export --json --output f; head -c 5 f").output.hasSuffix("<?xml"))
    }

    @Test func `an invalid backup is reported`() async throws {
        _ = try await home.shell(
            """
            waterh-tracker log 250; waterh-tracker backup good; head -c 9000 good >cut; echo Dear diary >text; : \
            >empty
            """)
        _ = try await home.shell("cp good newer; cp good lowered")
        try await sqlite(home.folder.file("newer"), "PRAGMA user_version = 999")
        try await sqlite(home.folder.file("lowered"), "PRAGMA user_version = 29")
        try await sqlite(home.folder.file("foreign"), "CREATE TABLE t (a)")
        for (file, words) in [
            ("cut", "backup"), ("text", "text"), ("empty", "not a backup"),
            ("newer", "The backup was written by a later version"), ("foreign", "foreign"),
            ("lowered", "update it with 0.9 first"),
        ] {
            // The backup is checked before the confirmation, which a pipe cannot give.
            let result = try await home.shell("waterh-tracker restore \(file)")
            result.expect(4, error: words, "(\(file))", "The store was not changed.", for: file)
            #expect(
                !result.error.contains("--store") && !result.error.contains("he store is damaged"), "\(result.error)")
        }
        #expect(try await home.shell("waterh-tracker status --json").output.contains(#""dailyTotalMl":250"#))
    }

    @Test func `delete prefers a drink's number in the list to an equal key`() async throws {
        try home.folder.write(
            "startDate,value_ml,uuid\n2026-11-20T09:00:00Z,111,d2\n2026-11-20T10:00:00Z,222,x\n", to: "keys.csv")
        _ = try await home.shell("waterh-tracker import keys.csv")
        let deleted = try await home.shell("waterh-tracker delete d2")
        #expect(
            deleted.exitCode == 0 && deleted.output.hasPrefix("Deleted 222 ml") && deleted.error.contains("d1"),
            "\(deleted)")
        #expect(
            try await home.shell("waterh-tracker delete d2").output.hasPrefix("Deleted 111 ml"),
            "the key is found if no drink has the number")
    }

    @Test(arguments: [
        "setup", "setup --water-every 2 --time-reminders on --interval 15 --threshold 6 --units ml --goal 2000",
        "setup --yes --goal much",
    ])
    func `an aborted setup changes nothing`(_ words: String) async throws {
        let result = try await home.shell(
            """
            mkdir new; NO_COLOR=1 WATERH_STORE=new/w.sqlite script -qec 'waterh-tracker \(words)' /dev/null \
            </dev/null; ls -A new
            """)
        #expect(result.output.contains("Nothing was set up") || result.output.contains("error: "), "\(result)")
        #expect(try home.folder.names("new").isEmpty, "\(result)")
        let completeSetup = try await home.shell(
            """
            WATERH_STORE=new/w.sqlite waterh-tracker setup --goal 2100; WATERH_STORE=new/w.sqlite waterh-tracker \
            settings get hydration.goalMl
            """)
        #expect(
            completeSetup.output.contains("Set up:") && completeSetup.output.hasSuffix("2100\n")
                && completeSetup.error.isEmpty, "\(completeSetup)")
    }
}

/// `export` as a stream, parsed by Python's csv and json and by an independent parser of the line protocol.
@Suite struct ExportStreamTests {
    private let home: Home
    private var folder: TemporaryFolder { home.folder }
    private var store: String { home.store }

    init() throws { home = try Home() }

    @discardableResult
    private func tracker(_ line: String) async throws -> Program.Result {
        try await Program.tracker.succeed(line, environment: home.environment)
    }

    /// Names that need quoting or escaping.
    private static let names = [
        "plain", "a,b", "say \"hi\"", "back\\slash\\", "= , 1i", "caf\u{e9} \u{1F4A7}", "'; DROP", "\u{2028}x",
        " lead and trail ",
    ]

    @Test(arguments: ["csv", "jsonl", "influx"]) func `an independent parser reads every name unchanged`(format: String)
        async throws
    {
        let drinks = Self.names.enumerated().map { index, name in
            [
                "startDate": "2026-06-15T12:\(index + 10):00+02:00", "endDate": "2026-06-15T12:\(index + 10):00+02:00",
                "value_ml": 100 + index, "uuid": name,
            ] as [String: Any]
        }
        try JSONSerialization.data(withJSONObject: drinks).write(to: folder.url("in.json"))
        try await tracker("import \(folder.file("in.json"))")
        let stream = try await tracker("export --format \(format) --after 0")
        try Data(
            (format == "csv" ? "position,change,startDate,value_ml,uuid,original,zone,day,drinkSource\n" : "").utf8
                + stream.outputBytes
        ).write(to: folder.url("out"))
        let read = try await Program.python.run([
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

    @Test func `export --follow prints one line per change from the given position`() async throws {
        try await tracker("log 100")
        let stream = try Program.tracker.start("export --follow --format csv", environment: home.environment)
        func lines(_ count: Int) async -> [String]? {
            await event(within: 30) {
                stream.output.split(separator: "\n").count >= count
                    ? stream.output.split(separator: "\n").map(String.init) : nil
            }
        }
        #expect(
            await lines(2)?.first == "position,change,startDate,value_ml,uuid,original,zone,day,drinkSource",
            "\(stream.error)")
        try await tracker("edit d1 --ml 150")
        _ = await lines(4)
        try await tracker("log 200")
        let all = try #require(await lines(5), "\(stream.output)")
        #expect(all.dropFirst().map { $0.split(separator: ",")[1] } == ["added", "deleted", "corrected", "added"])
        stream.send(signal: SIGTERM)
        let ended = try await stream.finish()
        #expect(ended.error.isEmpty && ended.output.hasSuffix("\n"), "\(ended.error)")
        let position = String(all[1].prefix { $0 != "," })
        let rest = try await tracker("export --format csv --after \(position)")
        #expect(rest.lines.map { $0.split(separator: ",")[1] } == ["deleted", "corrected", "added"])
        let none = try await Program.tracker.run("export --after 999 --store \(store)")
        none.expect(4, error: "999")
    }

    /// A reader that resumes at a position in another store must get an error, not the rest of that store.
    @Test func `export rejects a position from before a purge, and --follow starts again`() async throws {
        for ml in ["100", "101"] { try await tracker("log \(ml)") }
        let known = try await tracker("export --format csv --after 0")
        let last = try #require(known.lines.last)
        let position = String(last.prefix { $0 != "," })
        let stream = try Program.tracker.start("export --follow --format csv", environment: home.environment)
        func amounts() -> [Substring] {
            stream.output.split(separator: "\n").dropFirst().map { $0.split(separator: ",")[3] }
        }
        #expect(await eventually(within: 30) { amounts() == ["100", "101"] }, "\(stream.output) \(stream.error)")
        // The stopped process does not see the events in between.
        stream.send(signal: SIGSTOP)
        try await tracker("purge --yes")
        for ml in ["201", "202", "203"] { try await tracker("log \(ml)") }
        stream.send(signal: SIGCONT)
        #expect(
            await eventually(within: 30) { amounts() == ["100", "101", "201", "202", "203"] },
            "\(stream.output) \(stream.error)")
        #expect(stream.error.contains("Sending all drinks again"))
        let late = try await Program.tracker.run(["export", "--format", "csv", "--after", position, "--store", store])
        late.expect(4, output: "", error: position, "without --after")
        // A replaced file of the same store: the reader gets the entries that the first file did not have.
        try await tracker("backup \(folder.file("copy"))")
        try await tracker("log 204")
        #expect(await eventually(within: 30) { amounts().last == "204" }, "\(stream.output) \(stream.error)")
        let copied = try await Program.tracker.run("log 205 --store \(folder.file("copy"))")
        // The remaining log belongs to the removed store.
        for name in ["-wal", "-shm"] { unlink(store + name) }
        #expect(copied.exitCode == 0 && rename(folder.file("copy"), store) == 0, "\(copied.error)")
        #expect(
            await eventually(within: 30) { amounts().suffix(4) == ["201", "202", "203", "205"] },
            "\(stream.output) \(stream.error)")
        try await stream.stop()
    }

    /// A part that was written before the disk was full must not be written twice.
    @Test(.enabled(if: MountNamespace.unshareOptions != nil, "this machine permits no mount namespace"))
    func `a full disk neither repeats nor truncates a line`() async throws {
        try await tracker("log 100")
        let rows = (0..<200).map {
            "2026-06-\(10 + $0 / 20) 12:\(String(format: "%02d", $0 % 20)):00 +0200,,\(100 + $0),row-\($0)"
        }
        try folder.write((["startDate,endDate,value_ml,uuid"] + rows).joined(separator: "\n"), to: "in.csv")
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
        let words = try #require(MountNamespace.unshareOptions)
        let shellResult = try await Program(system: "unshare")?.run(words + ["bash", "-c", script])
        let result = try #require(shellResult)
        #expect(result.exitCode == 0, "\(result.error)")
        let lines = result.lines.dropFirst()
        #expect(
            lines.count == 202 && Set(lines.map { $0.prefix { $0 != "," } }).count == 202
                && lines.allSatisfy { $0.split(separator: ",", omittingEmptySubsequences: false).count == 9 },
            "\(lines.count)")
        let warning = try folder.text("words")
        #expect(warning.contains("No space left") && !warning.contains("u000a"), "\(warning)")
    }

    /// `| head`, and a pipe without a reader.
    @Test func `export --follow ends without its reader, and a stalled reader does not lock the store`() async throws {
        let rows = (0..<3000).map {
            """
            2026-06-\(10 + $0 / 600) 12:\(String(format: "%02d:%02d", $0 % 600 / 60, $0 % 60)) \
            +0200,,\(100 + $0 % 200),row-\($0)
            """
        }
        try folder.write((["startDate,endDate,value_ml,uuid"] + rows).joined(separator: "\n"), to: "in.csv")
        try await tracker("import \(folder.file("in.csv"))")
        let shell = Program(path: "/bin/bash")
        let command = "'\(Program.products)/waterh-tracker' export --follow --format influx --store '\(store)'"
        let head = try await shell.run(["-c", "\(command) | head -n 3; echo ${PIPESTATUS[0]}"])
        #expect(
            head.lines.last == "0" && head.lines.count == 4 && head.error.isEmpty,
            "\(head.output.suffix(300)) \(head.error)")
        let stalled = try await Program.python.run([
            Program.repository + "/Tests/CommandTests/never_reads.py", Program.products + "/waterh-tracker", store,
        ])
        #expect(stalled.exitCode == 0, "\(stalled.output)\(stalled.error)")
    }
}

@Suite struct JournalCommandTests {
    private let home: Home
    private var path: String { home.store }

    init() throws { home = try Home(["WATERH_ZONE": "UTC"]) }

    /// Stores a record of 2026-06-15 14:20 that is quarantined for the given reason.
    private func storeRecord(_ reason: String, ml: Int = 300, month: UInt8 = 6, about: Instant? = nil) throws {
        let raw: [UInt8] = [0x1A, month, 15, 14, 20, 0, UInt8(ml >> 8), UInt8(ml & 255), 0, 0, 1, 0x61, 0]
        let received = try #require(Instant(iso: "2026-06-15T15:00:00Z"))
        _ = try TrackerStore(path: path).append([
            JournalEntry(
                bottle: "A4:C1:38:00:00:01", raw: raw, wall: nil, amountMl: ml, received: received,
                verdict: .quarantined(reason: reason), reading: "strict/u8", about: about)
        ])
    }

    private func tracker(_ line: String) async throws -> Program.Result { try await home.tracker(line, at: "16:00") }

    @Test func `journal list and show print raw bytes, reasons and known data`() async throws {
        #expect(try await tracker("log 100").exitCode == 0)
        #expect(try await tracker("journal").output == "All records from the bottle are dated and counted.\n")
        try storeRecord(JournalQuarantine.rejectedByDialect)
        try storeRecord(JournalQuarantine.bottleClock, month: 4, about: Instant(iso: "2026-06-15T14:00:00Z"))
        try TrackerStore(path: path).quarantine(
            bottle: "A4:C1:38:00:00:01", bytes: [1, 2, 0xAB], reason: "no frame",
            received: Instant(seconds: 1_781_000_000))
        let list = try await tracker("journal list").output
        for words in [
            "2 records kept and not counted", "1 rejected by the dialect", "1A 06 0F 0E 14 00 01 2C 00 00 01 61 00",
            "probably about 2026-06-15 14:00", "01 02 AB  no frame", "journal resolve",
        ] { #expect(list.contains(words), "\(words) is not in:\n\(list)") }
        let json = try await tracker("journal list --json").object()
        let records = try #require(json["records"] as? [[String: Any]])
        #expect(records.map { $0["id"] as? String } == ["r1", "r2"])
        #expect(
            records[0]["raw"] as? String == "1a060f0e1400012c0000016100"
                && records[0]["reason"] as? String == "refusedByDialect")
        #expect((json["junk"] as? [[String: Any]])?.first?["raw"] as? String == "0102ab")
        #expect(try await tracker("journal show r2").output.contains("written while the bottle's clock was wrong"))
        let missing = try await tracker("journal show r9")
        missing.expect(3, error: "journal list")
        #expect(try await tracker("journal show nonsense").exitCode == 2)
        let doctor = try await tracker("check --doctor").output
        #expect(doctor.contains("2 not counted") && doctor.contains("waterh-tracker journal list"))
    }

    @Test func `journal resolve decodes records again with the current settings`() async throws {
        try storeRecord(JournalQuarantine.rejectedByDialect)
        try storeRecord(JournalQuarantine.hostClock, month: 5)
        try storeRecord(JournalQuarantine.bottleClock, month: 4)
        let result = try await tracker("journal resolve --json")
        let json = try result.object()
        #expect(json["resolved"] as? Int == 1 && json["waiting"] as? Int == 2, "\(result)")
        #expect(try TrackerStore(path: path).drinks(on: try #require(LocalDay("2026-06-15"))).map(\.ml) == [300])
        #expect(try await tracker("journal resolve --json").object()["resolved"] as? Int == 0)
        // A clock earlier than the newest receipt dates no record.
        try TrackerStore(path: path).finishPoll(
            PollRecord(
                bottle: "A4:C1:38:00:00:01", endedAt: try #require(Instant(iso: "2026-09-01T00:00:00Z")), complete: true
            ))
        let refused = try await tracker("journal resolve")
        refused.expect(3, error: "2026-09-01")
    }

    @Test func `journal set gives a record a permanent date`() async throws {
        try storeRecord(JournalQuarantine.bottleClock)
        let set = try await tracker("journal set r1 --at 2026-06-15T14:00 --json")
        let json = try set.object()
        #expect((json["drink"] as? [String: Any])?["at"] as? String == "2026-06-15T14:00:00Z")
        #expect((json["drink"] as? [String: Any])?["ml"] as? Int == 300)
        #expect(try await tracker("journal set r1 --at 13:00").exitCode == 3)
        #expect(try await tracker("journal set r7 --at 13:00").exitCode == 3)
        // The same bytes from the bottle are the same record.
        let store = try TrackerStore(path: path)
        let again = JournalEntry(
            bottle: "A4:C1:38:00:00:01", raw: [0x1A, 6, 15, 14, 20, 0, 1, 44, 0, 0, 1, 0x61, 0],
            wall: WallTime("2026-06-15T14:20:00"), amountMl: 300, received: Instant(seconds: 1_781_540_000),
            verdict: .drink(at: try #require(Instant(iso: "2026-06-15T14:20:00Z")), zone: "UTC"),
            reading: "calendar/u16be")
        #expect(try store.append([again]) == [.duplicate])
        #expect(try store.drinks(on: try #require(LocalDay("2026-06-15"))).count == 1)
        #expect(try await tracker("journal set r1 --at 2026-06-16T14:00").exitCode == 3)
    }

    @Test func `another bottle is reported and read only after its adoption`() async throws {
        let first = try await Pair()
        let second = try await Pair(["--address", "A4:C1:38:00:00:77", "--name", "WaterH-Bottle-1"])
        try await first.sip(100)
        try await second.sip(200)
        let gateway = Program.gateway
        let adopted = try await gateway.run("poll --link \(first.socket) --store \(path)")
        adopted.expect(0, output: "Adopted: WaterH-Boost-24oz")
        let refused = try await gateway.run("poll --link \(second.socket) --store \(path)")
        refused.expect(3, error: "waterh-gateway adopt --store \(path) 'A4:C1:38:00:00:77'")
        #expect(try TrackerStore(path: path).journalCounts().drinks == 1)
        #expect(
            try await gateway.run("adopt a4:c1:38:00:00:77 --store \(path)").output == "Adopted A4:C1:38:00:00:77.\n")
        let drained = try await gateway.run("poll --link \(second.socket) --store \(path) --json")
        drained.expect(0, output: #""new":1"#)
        #expect(!drained.output.contains("adopted"))
        try await gateway.succeed("poll --link \(first.socket) --store \(path)")
        #expect(try await gateway.run("adopt X --as nobody --store \(path)").exitCode == 3)
    }
}
