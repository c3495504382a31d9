import Foundation
import Support
import Testing

/// `waterh-tracker` for a new user: the built command, its complete output and its exit codes.
@Suite struct TrackerCommandTests {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path

    /// A shell runs every line of the tour, and every output is compared. docs/getting-started.md shows an excerpt.
    /// `WATERH_UPDATE_TOUR=1` rewrites the file.
    @Test func `the documented tour gives the documented output`() async throws {
        let file = Self.folder + "/tracker-tour.txt"
        let written = try String(contentsOfFile: file, encoding: .utf8)
        let scratch = try TemporaryFolder()
        try FileManager.default.copyItem(
            atPath: Self.folder + "/demo-month.csv", toPath: scratch.path + "/demo-month.csv")
        var lived = ""
        for line in written.split(separator: "\n", omittingEmptySubsequences: false) where line.hasPrefix("$ ") {
            let command = String(line.dropFirst(2))
            let result = try await shell(command, in: scratch)
            lived += "$ \(command)\n" + result.output + result.error
            if result.exitCode != 0 { lived += "(exit code \(result.exitCode))\n" }
            lived += "\n"
        }
        lived = steady(lived, scratch)
        if ProcessInfo.processInfo.environment["WATERH_UPDATE_TOUR"] != nil {
            try lived.write(toFile: file, atomically: true, encoding: .utf8)
            return
        }
        for (expected, found) in zip(steps(written), steps(lived)) { #expect(found == expected) }
        #expect(steps(written).count == steps(lived).count)
    }

    @Test(arguments: [
        ("log", 2), ("log abc", 2), ("log 0", 3), ("log 2001", 3), ("log -- -5", 3),
        ("log 250 --at 2099-01-01T00:00", 3),
        ("log 250 --at never", 2), ("status --now yesterday", 2), ("status --zone Mars/Olympus", 2),
        ("status --format xml", 2),
        ("nonsense", 2), ("undo", 3), ("edit d9 --ml 5", 3), ("edit d9", 2), ("delete d9", 3), ("drink", 3),
        ("water", 3),
        ("session end --yes", 3), ("session show", 3), ("session show nope", 3), ("preset delete Beer", 3),
        ("preset add X --estimate 0.05", 3), ("preset add X --estimate nan", 3), ("preset add '' ", 3),
        ("preset add X --abv 101", 3),
        ("settings set pace.thresholdPercent 0", 3), ("settings set pace.thresholdPercent", 2),
        ("settings get nothing", 2),
        ("settings get --bottle nobody", 3), ("settings set --bottle nobody bottle.readDelayS 1", 3),
        ("settings set schedule.wake 12:00", 3), ("settings set day.zone Mars/Olympus", 3),
        ("import no-such-file.xml", 1),
        ("history --day 2026-02-30", 2), ("history --month 2026-13", 2), ("history --day today --month 2026-01", 2),
        ("token revoke abc", 3), ("token revoke", 2), ("purge", 3), ("export --output no-such-folder/x.csv", 1),
        ("export --format pdf", 2), ("--help", 0), ("session list --limit 0", 2), ("water --oz 0", 3),
    ])
    func `wrong use and refusals have their exit codes`(arguments: String, code: Int32) async throws {
        let scratch = try TemporaryFolder()
        let result = try await shell("waterh-tracker " + arguments, in: scratch)
        #expect(result.exitCode == code, "\(arguments): \(result.error)")
        if code != 0 { #expect(result.output.isEmpty && !result.error.isEmpty) }
    }

    @Test(arguments: [
        ("cut.xml", "<?xml version=\"1.0\"?><HealthData><Record type=\"HKQuantityTypeIdentifierDietaryWater\" uni"),
        ("doubled.xml", "<HealthData></HealthData><HealthData></HealthData>"), ("other.xml", "<html></html>"),
        ("other.txt", "Dear diary"), ("empty.csv", ""),
        ("cut.json", "[{\"startDate\": \"2026-01-01T00:00:00Z\", \"value_ml\": 1}"),
        (
            "cut.csv",
            "startDate,endDate,value_ml,uuid\n2026-11-20 10:00:00 +0100,2026-11-20 10:00:00 +0100,200,a\n2026-11-20 11:"
        ),
    ])
    func `an invalid import changes nothing`(name: String, text: String) async throws {
        let scratch = try TemporaryFolder()
        try Data(text.utf8).write(to: scratch.url(name))
        let result = try await shell("waterh-tracker import \(name)", in: scratch)
        #expect(result.exitCode == 4 && result.error.contains("Nothing was imported"), "\(result.error)")
        #expect(
            try await shell("waterh-tracker export --format csv", in: scratch).output
                == "startDate,endDate,value_ml,uuid,original,bottle,wall,raw\n")
    }

    @Test func `imports convert units and keep instants in the repeated hour`() async throws {
        let scratch = try TemporaryFolder()
        func record(_ unit: String, _ value: String, _ minute: Int) -> String {
            """
            <Record type=\"HKQuantityTypeIdentifierDietaryWater\" sourceName=\"Other\" unit=\"\(unit)\" \
            startDate=\"2026-01-01 10:0\(minute):00 +0100\" endDate=\"\" value=\"\(value)\"/>
            """
        }
        let file =
            "<HealthData>" + record("L", "0.25", 1) + record("fl_oz_us", "8", 2) + record("cup_us", "1", 3)
            + record("mL", "99.5", 4) + "</HealthData>"
        try Data(file.utf8).write(to: scratch.url("units.xml"))
        #expect(try await shell("waterh-tracker import units.xml", in: scratch).output.hasPrefix("Added 4 drinks"))
        let amounts = try await shell("waterh-tracker export --format csv", in: scratch).lines.dropFirst().map {
            $0.split(separator: ",")[2]
        }
        #expect(amounts == ["250", "237", "237", "100"])
        for at in ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"] {
            _ = try await shell("waterh-tracker log 100 --at \(at) --now 2026-10-26T12:00", in: scratch)
        }
        let xml = try await shell("waterh-tracker export | tee night.xml", in: scratch).output
        #expect(
            xml.contains("startDate=\"2026-10-25 02:30:00 +0200\"")
                && xml.contains("startDate=\"2026-10-25 02:30:00 +0100\""))
        _ = try await shell("waterh-tracker import night.xml --store other.sqlite", in: scratch)
        #expect(try await shell("waterh-tracker export --store other.sqlite", in: scratch).output == xml)
    }

    @Test func `JSON output is one object with stable keys`() async throws {
        let scratch = try TemporaryFolder()
        let status = try await shell("waterh-tracker status --json --now 2026-06-15T14:00", in: scratch).output
        let object = try #require(try JSONSerialization.jsonObject(with: Data(status.utf8)) as? [String: Any])
        let keys = [
            "dailyTotalMl", "dailyGoalMl", "lastDrinkTime", "urgency", "deficitMl", "timestamp", "shouldNotify",
            "notificationType",
            "paceBalanceMl", "displayUrgency", "expectedMl", "progress", "percent", "isGoalAchieved", "statusText",
            "dayKey", "schema",
            "state", "isAlerting", "timeUntilNext", "phase", "waterline", "sync",
        ]
        #expect(keys.allSatisfy { object[$0] != nil })
        #expect(object["deficitMl"] as? Int == 1167 && object["urgency"] as? Int == 2, "B9 check 1")
        for verb in [
            "log 250", "history", "history --month 2026-06", "history --day today", "streak", "session start", "drink",
            "water",
            "session show", "session end --yes", "session list", "preset list", "settings get",
            "settings set week.firstDay sunday",
            "setup", "token", "token list", "check", "check --doctor", "undo", "reset-today", "purge --yes",
        ] {
            let result = try await shell("waterh-tracker \(verb) --json --now 2026-06-15T15:00", in: scratch)
            #expect(result.exitCode == 0 && result.lines.count == 1, "\(verb): \(result.error)")
            #expect((try? JSONSerialization.jsonObject(with: Data(result.output.utf8))) is [String: Any], "\(verb)")
        }
    }

    @Test func `shell completion exists`() async throws {
        let scratch = try TemporaryFolder()
        for shellName in ["bash", "zsh", "fish"] {
            let result = try await shell("waterh-tracker --generate-completion-script \(shellName)", in: scratch)
            #expect(result.exitCode == 0 && result.output.contains("reset-today"))
        }
    }

    /// SIGKILL while processes log drinks one after another: each confirmed log entry is stored once.
    @Test func `killed loggers lose no drink`() async throws {
        let scratch = try TemporaryFolder()
        var random = SeededGenerator(seed: 7)
        var done: Set<Int> = []
        for number in 1...25 {
            let running = try Program("waterh-tracker").start(
                [
                    "log", String(number), "--now", "2026-06-15T12:00:00Z", "--zone", "UTC", "--store",
                    scratch.path + "/w.sqlite",
                ])
            if number % 5 != 0 {
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...60, using: &random)))
                running.send(signal: SIGKILL)
            }
            let result = try await running.finish()
            if !result.signalled, result.exitCode == 0 { done.insert(number) }
        }
        let rows = try await shell("waterh-tracker export --format csv --store w.sqlite", in: scratch).lines.dropFirst()
        let stored = rows.compactMap { Int($0.split(separator: ",")[2]) }
        #expect(
            Set(stored).count == stored.count && done.isSubset(of: Set(stored)),
            "done \(done.sorted()), stored \(stored.sorted())")
        #expect(try await shell("waterh-tracker check --doctor --store w.sqlite", in: scratch).exitCode == 0)
    }

    // MARK: - Parts

    /// Runs a line in a folder of its own, in the zone Europe/Berlin.
    private func shell(_ line: String, in folder: TemporaryFolder) async throws -> Program.Result {
        let sh = try #require(Program(system: "sh"))
        let path = Program.products + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")
        return try await sh.run(
            ["-c", line],
            environment: [
                "PATH": path, "WATERH_STORE": "waterh.sqlite", "WATERH_ZONE": "Europe/Berlin", "TZ": "Asia/Tokyo",
                "HOME": folder.path, "DBUS_SESSION_BUS_ADDRESS": "",
            ], directory: folder.path)
    }

    /// Replaces the random prefixes of session ids.
    private func steady(_ text: String, _ folder: TemporaryFolder) -> String {
        text.replacing(folder.path + "/", with: "").replacing(/(?m)^(Session )?[0-9a-f]{8}(,|  2026)/) {
            "\($0.1 ?? "")5e55104a\($0.2)"
        }
    }

    private func steps(_ text: String) -> [Substring] { text.split(separator: "$ ", omittingEmptySubsequences: true) }
}
