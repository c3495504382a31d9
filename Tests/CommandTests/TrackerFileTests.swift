import Foundation
import Support
import Testing

@Suite struct TrackerFileTests {
    let scratch: TemporaryFolder

    init() throws { scratch = try TemporaryFolder() }

    @Test func `a backup is restored`() async throws {
        _ = try await shell(
            """
            waterh-tracker setup --yes --goal 1800; waterh-tracker log 250; waterh-tracker session start; \
            waterh-tracker drink Beer
            """
        )
        let before = try await shell("waterh-tracker status --json --now 2027-01-01T12:00").output
        let taken = try await shell(
            "waterh-tracker backup b.sqlite; stat -c %a b.sqlite; waterh-tracker backup - | wc -c")
        #expect(
            taken.exitCode == 0 && taken.lines[0].contains("1 drink, 1 session, 5 presets") && taken.lines[2] == "600",
            "\(taken)")
        let other = try await shell(
            """
            export WATERH_STORE=other.sqlite; waterh-tracker restore b.sqlite && waterh-tracker status --json \
            --now 2027-01-01T12:00
            """
        )
        #expect(other.exitCode == 0 && other.output.hasSuffix(before), "\(other)")
        let refused = try await shell("waterh-tracker log 1; waterh-tracker restore b.sqlite")
        #expect(refused.exitCode == 3 && refused.error.contains("--yes"))
        let replaced = try await shell(
            "waterh-tracker restore - --yes <b.sqlite; waterh-tracker status --json --now 2027-01-01T12:00")
        #expect(
            replaced.output.hasSuffix(before) && replaced.lines[1].hasPrefix("The old content is in "), "\(replaced)")
        let back = try await shell(
            """
            f=$(ls waterh.sqlite-replaced-*); waterh-tracker restore $f --yes --json; waterh-tracker status \
            --json; stat -c %a $f
            """
        )
        #expect(
            back.exitCode == 0 && back.lines[0].contains("\"replaced\":")
                && back.lines[1].contains("\"dailyTotalMl\":251,") && back.lines[2] == "600", "\(back)")
        _ = try await shell("waterh-tracker restore - --yes <b.sqlite")
        for (line, code) in [
            ("backup waterh.sqlite", Int32(2)), ("export -o waterh.sqlite", 2), ("import waterh.sqlite-wal", 2),
            ("import waterh.sqlite", 2),
            ("restore waterh.sqlite --yes", 2), ("restore nowhere --yes", 1), ("restore . --yes", 4), ("import .", 4),
            ("import b.sqlite", 4),
        ] {
            let result = try await shell("exec 9<waterh.sqlite; touch waterh.sqlite-wal; waterh-tracker \(line)")
            #expect(result.exitCode == code, "\(line): \(result.error)")
        }
        #expect(try await shell("waterh-tracker status --json --now 2027-01-01T12:00").output == before)
    }

    /// A report must not overwrite the store that it reads, and a backup must not have the name of the store's journal.
    @Test func `no output file replaces a store`() async throws {
        _ = try await shell(
            """
            waterh-tracker log 250; cp waterh.sqlite other.sqlite; echo 'units = \"oz\"' >t.toml; echo said \
            >service.log; waterh-tracker backup b.sqlite
            """
        )
        let before = try await shell("waterh-tracker export --format csv; cat t.toml service.log").output
        for line in [
            "waterh-gateway report --link unix:none -o waterh.sqlite",
            "waterh-gateway report --link unix:none -o b.sqlite",
            "waterh-gateway report --link unix:none --log service.log -o service.log",
            "waterh-tracker backup waterh.sqlite-journal",
            "waterh-tracker export --format json -o ./waterh.sqlite-journal", "waterh-tracker backup other.sqlite",
            "waterh-tracker export -o b.sqlite", "waterh-tracker backup t.toml --config t.toml",
            "waterh-replay dissector -o other.sqlite",
        ] {
            let result = try await shell(line)
            #expect(result.exitCode == 2 && result.error.contains("Name another file to write"), "\(line): \(result)")
        }
        #expect(try await shell("ls waterh.sqlite-journal").exitCode != 0)
        #expect(try await shell("waterh-tracker backup b.sqlite").exitCode == 0, "an older backup is replaced")
        #expect(try await shell("waterh-tracker export --format csv; cat t.toml service.log").output == before)
    }

    @Test func `export supports JSON`() async throws {
        _ = try await shell("waterh-tracker log 250; waterh-tracker log 300")
        for line in ["export --json", "export --json --format json", "export --json --output -"] {
            let result = try await shell("waterh-tracker \(line) | tee all.json")
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any],
                "\(line): \(result.output)")
            #expect(
                Set(object.keys) == ["drinks"]
                    && (object["drinks"] as? [[String: Any]])?.compactMap { $0["value_ml"] as? Int } == [250, 300])
            #expect(
                try await shell("WATERH_STORE=other.sqlite waterh-tracker import all.json").exitCode == 0,
                "and can be read again")
        }
        #expect(try await shell("waterh-tracker export --json --store empty.sqlite").output == "{\"drinks\": []\n}\n")
        for format in ["csv", "apple-health"] {
            let refused = try await shell("waterh-tracker export --json --format \(format)")
            #expect(
                refused.exitCode == 2 && refused.output.isEmpty && refused.error.contains("--output"),
                "\(refused.error)")
            #expect(
                try await shell("waterh-tracker export --json --format \(format) --output f").output
                    == "{\"drinks\":2}\n")
        }
        #expect(try await shell("waterh-tracker export --json --output f; head -c 5 f").output.hasSuffix("<?xml"))
    }

    @Test func `an invalid backup is reported`() async throws {
        _ = try await shell(
            """
            waterh-tracker log 250; waterh-tracker backup good; head -c 9000 good >cut; echo Dear diary >text; : \
            >empty
            """
        )
        _ = try await shell(
            """
            cp good newer; python3 -c \"import sqlite3; sqlite3.connect('newer').execute('PRAGMA user_version = \
            999')\"; python3 -c \"import sqlite3; sqlite3.connect('foreign').execute('CREATE TABLE t (a)')\"
            """
        )
        _ = try await shell(
            """
            cp good lowered; python3 -c \"import sqlite3; sqlite3.connect('lowered').execute('PRAGMA user_version \
            = 29')\"
            """
        )
        for (file, words) in [
            ("cut", "backup"), ("text", "text"), ("empty", "not a backup"),
            ("newer", "The backup was written by a later version"), ("foreign", "foreign"),
            ("lowered", "update it with 0.9 first"),
        ] {
            let result = try await shell("waterh-tracker restore \(file) --yes")
            #expect(
                result.exitCode == 4 && result.error.contains(words) && result.error.contains("(\(file))"),
                "\(file): \(result.error)")
            #expect(
                result.error.contains("The store was not changed.") && !result.error.contains("--store")
                    && !result.error.contains("he store is damaged"), "\(file): \(result.error)")
        }
        #expect(try await shell("waterh-tracker status --json").output.contains(#""dailyTotalMl":250"#))
    }

    @Test func `every JSON key is in camelCase`() async throws {
        func keys(_ value: Any) -> [String] {
            if let object = value as? [String: Any] { return Array(object.keys) + object.values.flatMap(keys) }
            return (value as? [Any])?.flatMap(keys) ?? []
        }
        _ = try await shell(
            """
            waterh-tracker setup --yes; waterh-tracker log 250; waterh-tracker session start; waterh-tracker drink \
            Beer
            """
        )
        for verb in [
            "check --doctor", "status", "history", "history --day today", "session show", "session list", "preset list",
            "journal list", "streak", "why",
        ] {
            let result = try await shell("waterh-tracker \(verb) --json")
            let found = keys(try JSONSerialization.jsonObject(with: Data(result.outputBytes)))
            #expect(
                !found.isEmpty && found.allSatisfy { $0.wholeMatch(of: /[a-z][A-Za-z0-9]*/) != nil },
                "\(verb): \(found)")
        }
    }

    @Test func `a JSON export is imported unchanged`() async throws {
        _ = try await shell(
            """
            waterh-tracker log 100 --at 2026-06-01T23:30 --zone America/New_York; waterh-tracker log 200 --at \
            2026-06-02T09:00 --zone Asia/Tokyo
            """
        )
        let json = try await shell("waterh-tracker export --format json | tee all.json").output
        #expect(
            json.contains("\"zone\": \"America/New_York\", \"day\": \"2026-06-01\", \"drinkSource\": \"cli\""),
            "\(json)")
        let again = try await shell(
            """
            export WATERH_STORE=other.sqlite; waterh-tracker import all.json >&2 && waterh-tracker export --format \
            json
            """,
            ["WATERH_ZONE": "Asia/Tokyo"])
        #expect(again.output == json, "\(again.error)")
    }

    @Test func `a list number selects that drink`() async throws {
        try Data("startDate,value_ml,uuid\n2026-11-20T09:00:00Z,111,d2\n2026-11-20T10:00:00Z,222,x\n".utf8).write(
            to: scratch.url("keys.csv"))
        _ = try await shell("waterh-tracker import keys.csv")
        let deleted = try await shell("waterh-tracker delete d2")
        #expect(
            deleted.exitCode == 0 && deleted.output.hasPrefix("Deleted 222 ml") && deleted.error.contains("d1"),
            "\(deleted)")
        #expect(
            try await shell("waterh-tracker delete d2").output.hasPrefix("Deleted 111 ml"),
            "then the name means the key")
    }

    @Test func `the end of input does not answer setup`() async throws {
        let result = try await shell(
            """
            script -qec 'waterh-tracker setup' /dev/null </dev/null; waterh-tracker settings get hydration.goalMl; \
            waterh-tracker preset list
            """
        )
        #expect(result.output.contains("Nothing was set up") && result.output.contains("No presets"), "\(result)")
    }

    @Test(arguments: [
        "setup", "setup --water-every 2 --time-reminders on --interval 15 --threshold 6 --units ml --goal 2000",
        "setup --yes --goal much",
    ])
    func `an aborted setup changes nothing`(_ words: String) async throws {
        let result = try await shell(
            """
            mkdir new; NO_COLOR=1 WATERH_STORE=new/w.sqlite script -qec 'waterh-tracker \(words)' /dev/null \
            </dev/null; ls -A new
            """
        )
        #expect(result.output.contains("Nothing was set up") || result.output.contains("error: "), "\(result)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.file("new")).isEmpty, "\(result)")
        let whole = try await shell(
            """
            WATERH_STORE=new/w.sqlite waterh-tracker setup --goal 2100; WATERH_STORE=new/w.sqlite waterh-tracker \
            settings get hydration.goalMl
            """
        )
        #expect(whole.output.contains("Set up:") && whole.output.hasSuffix("2100\n") && whole.error.isEmpty, "\(whole)")
    }

    private func shell(_ line: String, _ environment: [String: String] = [:]) async throws -> Program.Result {
        let path = Program.products + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")
        return try await Program(path: "/bin/bash").run(
            ["-c", line],
            environment: [
                "PATH": path, "WATERH_STORE": "waterh.sqlite", "WATERH_ZONE": "Europe/Berlin", "HOME": scratch.path,
                "DBUS_SESSION_BUS_ADDRESS": "",
            ].merging(environment) { $1 }, directory: scratch.path)
    }
}
