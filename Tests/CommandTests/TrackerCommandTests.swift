import Foundation
import Store
import Support
import Testing
import TrackerCore
import TrackerService

/// `waterh-tracker` for a new user: the built command, its complete output and its exit codes.
@Suite struct TrackerCommandTests {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path

    /// A shell runs every line of the tour, and every output is compared. docs/getting-started.md shows an excerpt.
    /// `WATERH_UPDATE_TOUR=1` rewrites the file.
    @Test func `the documented tour gives the documented output`() async throws {
        let file = Self.folder + "/tracker-tour.txt"
        let written = try String(contentsOfFile: file, encoding: .utf8)
        let home = try Home(["TZ": "Asia/Tokyo"])
        try FileManager.default.copyItem(
            atPath: Self.folder + "/demo-month.csv", toPath: home.folder.file("demo-month.csv"))
        var lived = ""
        for line in written.split(separator: "\n", omittingEmptySubsequences: false) where line.hasPrefix("$ ") {
            let command = String(line.dropFirst(2))
            let result = try await home.shell(command)
            lived += "$ \(command)\n" + result.output + result.error
            if result.exitCode != 0 { lived += "(exit code \(result.exitCode))\n" }
            lived += "\n"
        }
        lived = maskingSessionIDs(lived, home.folder)
        if ProcessInfo.processInfo.environment["WATERH_UPDATE_TOUR"] != nil {
            try lived.write(toFile: file, atomically: true, encoding: .utf8)
            return
        }
        for (expected, found) in zip(steps(written), steps(lived)) { #expect(found == expected) }
        #expect(steps(written).count == steps(lived).count)
    }

    /// Command lines by exit code. Golden files have those of other wrong uses.
    private static let rejected: [Int32: [String]] = [
        1: ["tracker export --output no-such-folder/x.csv"],
        2: [
            "tracker session list --limit 0", "tracker history --day 2026-02-30", "tracker token revoke",
            "tracker export --follow --format json", "tracker export --follow --output x", "tracker export --after -1",
            "tracker export --format line", "gateway adopt WaterH-Boost-24oz", "gateway adopt ''",
            "gateway adopt A4:C1:38:01:02:0", "gateway adopt xx", "emulator run --link unix:b.sock --answers strict",
            "emulator run --link capture:x", "emulator run --link bluez:hci7 --faults lose@1,mtu=23",
            "emulator run --link unix:b.sock --notifications signals", "replay att $CAPTURE --from 2026-13-01",
            "replay att $CAPTURE --from 2026-02-30", "replay att $CAPTURE --from 99999999999999",
            "replay att $CAPTURE --from 2026-01-02 --to 2026-01-01", "replay att $CAPTURE --to 25:00",
            "replay att $CAPTURE --to +-3", "replay att $CAPTURE --to ''", "replay att $CAPTURE --handle 0",
            "replay att $CAPTURE --only nothing", "replay att $CAPTURE --device bottle",
        ],
        3: [
            "tracker log 2001", "tracker log -- -5", "tracker log 250 --at 2099-01-01T00:00", "tracker undo",
            "tracker drink", "tracker water", "tracker water --oz 0", "tracker session show",
            "tracker preset delete Beer", "tracker preset add X --estimate 0.05", "tracker preset add X --estimate nan",
            "tracker preset add X --abv 101", "tracker settings set pace.thresholdPercent 0",
            "tracker settings get --bottle unknown", "tracker settings set --bottle unknown bottle.readDelayS 1",
            "tracker settings set schedule.wake 12:00", "tracker settings set day.zone Mars/Olympus",
        ],
        5: ["emulator run --link unix:/nonexistent-directory/b.sock --control unix:c.sock"],
    ]

    @Test(arguments: rejected.flatMap { code, lines in lines.map { ($0, code) } })
    func `invalid arguments and rejected commands have different exit codes`(line: String, code: Int32) async throws {
        let home = try Home()
        let result = try await home.shell(
            "waterh-" + line, ["CAPTURE": ReplayCommandTests.twoDays])
        result.expect(code, output: "")
        #expect(!result.error.isEmpty)
        if line.contains(" adopt ") { #expect(!FileManager.default.fileExists(atPath: home.store)) }
    }

    @Test(arguments: [
        ("tracker goal 3000", "unknown subcommand 'goal'\n"),
        ("gateway run --listen 8077", "expected an address with a port"),
        ("gateway run --listen localhost:99999", "expected an address with a port"),
        ("gateway run --listen ::1:8077", "expected an address with a port"),
        ("gateway run --listen unix:relative", "expected an address with a port"),
        ("gateway send --link unix:/x raw", "'raw' is not valid: expected raw HEX"),
        ("gateway send --link unix:/x goal", "'goal' is not valid: expected goal ML"),
        (
            "gateway send --link unix:/x recalibrate much",
            "'recalibrate much' is not valid: expected recalibrate full|empty"
        ), ("gateway send --link unix:/x reminder", "reminder off|periodic|smart [08:00-20:00] [MINUTES]"),
        (
            "gateway send --link unix:/x light purple",
            "'purple' is not a valid light: expected one of blue, breathe, calm, rainbow, warmth, christmas\n"
        ),
    ])
    func `an invalid argument is reported with the valid ones`(line: String, error: String) async throws {
        let result = try await Home().shell("waterh-" + line)
        result.expect(2, output: "", error: error)
    }

    /// Replaces the random prefixes of session ids.
    private func maskingSessionIDs(_ text: String, _ folder: TemporaryFolder) -> String {
        text.replacing(folder.path + "/", with: "").replacing(/(?m)^(Session )?[0-9a-f]{8}(,|  2026)/) {
            "\($0.1 ?? "")5e55104a\($0.2)"
        }
    }

    private func steps(_ text: String) -> [Substring] { text.split(separator: "$ ", omittingEmptySubsequences: true) }
}

/// The acceptance list for the command line: first run, status bar, past sessions, and missing prerequisites.
@Suite struct TrackerInterfaceTests {
    private let home: Home

    init() throws { home = try Home() }

    @Test func `status before setup prints the command for the setup`() async throws {
        let fresh = try await home.tracker("status", at: "14:00").output
        #expect(
            fresh.contains("Welcome. Set your goal and hours with: waterh-tracker setup") && !fresh.contains("behind"),
            "\(fresh)")
        #expect(try await home.tracker("setup --yes", at: "13:00").exitCode == 0)
        let begun = try await home.tracker("status", at: "14:00").output
        #expect(begun.contains("1,150 ml behind target") && !begun.contains("Welcome."), "\(begun)")
    }

    /// US-005: both texts, once.
    @Test func `the setup runs once`() async throws {
        let texts = [Onboarding.welcome, Onboarding.guardrail]
        let first = try await home.tracker("setup --yes").output
        #expect(texts.allSatisfy(first.contains) && first.contains("Set up:"))
        let again = try await home.tracker("setup --yes").output
        #expect(!texts.contains(where: again.contains) && again.contains("Already set up:"))
    }

    /// US-006: valid answers are stored. One invalid answer stores none of them.
    @Test func `setup keeps defaults and enforces minimum values`() async throws {
        for (wrong, name) in [
            ("--water-every 0", "waterline.waterEveryNDrinks"), ("--threshold 0", "waterline.warningThreshold"),
            ("--interval 25", "waterline.intervalMinutes"), ("--units cl", "waterline.units"),
            ("--goal 100", "hydration.goalMl"),
        ] {
            let refused = try await home.tracker("setup --yes --water-every 2 \(wrong)")
            refused.expect(3, error: name)
        }
        #expect(try await home.tracker("preset list").output.contains("No presets"), "a rejected setup changes nothing")
        let given = "--water-every 3 --time-reminders off --interval 45 --threshold 4 --units ml --goal 2200"
        #expect(try await home.tracker("setup --yes \(given)").exitCode == 0)
        let settings = try await home.object("settings get")
        #expect(
            settings["waterline.waterEveryNDrinks"] as? Int == 3
                && settings["waterline.timeReminders"] as? Bool == false)
        #expect(
            settings["waterline.intervalMinutes"] as? Int == 45 && settings["waterline.warningThreshold"] as? Int == 4)
        #expect(settings["waterline.units"] as? String == "ml" && settings["hydration.goalMl"] as? Int == 2200)
        #expect((try await home.object("preset list")["presets"] as? [Any])?.count == 5)
    }

    /// US-035: at a terminal, setup explains notifications before it asks. Skip is an answer. Without a server there is
    /// a hint.
    @Test func `setup explains notifications, which can be skipped`() async throws {
        let asked = try await home.shell(#"printf '\nn\n\n\n\n\nno\n' | script -qec 'waterh-tracker setup' /dev/null"#)
        #expect(
            asked.output.contains(Onboarding.notifications) && asked.output.contains("Notifications: skipped."),
            "\(asked.output)")
        #expect(
            asked.output.contains("Time-based reminders? [Y/n]")
                && asked.output.contains(/waterline.timeReminders +false/), "\(asked.output)")
        #expect(
            Onboarding.notifications == """
                Waterline sends gentle reminders to drink water during your session. Allow notifications to get \
                pacing nudges.
                """)
        let result = try await home.tracker("setup --yes --notifications enable")
        result.expect(0, output: "Notifications disabled: ")
        #expect(result.output.contains("dunst"), "the output names a notification server to start")
    }

    /// B9-07: the class determines the colour of the bar. The percentage is below 100 until the goal is reached.
    @Test(arguments: [
        (476, "10:00", "onTrack", 19, "On track ✓"), (475, "10:00", "attention", 19, "50ml to catch up"),
        (0, "14:00", "overdue", 0, "1.1L to catch up"), (2499, "21:00", "onTrack", 99, "On track ✓"),
        (2500, "12:00", "onTrack", 100, "Goal reached! 🎉"),
    ])
    func `the status bar changes with the total of the day`(
        total: Int, time: String, state: String, percent: Int, words: String
    ) async throws {
        for ml in [min(total, 2000), total - min(total, 2000)] where ml > 0 {
            _ = try await home.tracker("log \(ml)", at: "06:30")
        }
        let line = try await home.tracker("status --format waybar", at: time).output
        let bar = try #require(line.jsonObject)
        #expect(bar["class"] as? String == state && bar["percentage"] as? Int == percent, "\(line)")
        #expect(
            (bar["tooltip"] as? String)?.hasPrefix(words) == true && line.split(separator: "\n").count == 1, "\(line)")
    }

    /// US-023: the newest five, and more on request.
    @Test func `the newest five sessions are listed`() async throws {
        let store = try TrackerStore(path: home.store)
        for day in 1...6 {
            func tracker(_ time: String) throws -> TrackerAPI {
                try TrackerAPI(
                    store, now: #require(Instant(iso: "2026-06-0\(day)T\(time):00Z")),
                    zone: ZoneChoice(named: "Europe/Berlin", machine: .utc), source: "cli")
            }
            _ = try tracker("18:00").startSession()
            _ = try tracker("18:10").drink()
            _ = try tracker("19:00").endSession()
        }
        let starts = try await home.object("session list")["sessions"] as? [[String: Any]]
        #expect(starts?.map { $0["startTime"] as? String } == (2...6).reversed().map { "2026-06-0\($0)T18:00:00Z" })
        #expect(try await home.tracker("session list").output.split(separator: "\n").count == 5)
        #expect((try await home.object("session list --limit 6")["sessions"] as? [Any])?.count == 6)
        // The start of the last session seals the one before.
        #expect(try await home.tracker("edit w1 --estimate 2").exitCode == 3)
    }

    @Test func `missing prerequisites are reported with an action`() async throws {
        _ = try await home.tracker("log 100")
        let findings = try #require(try await home.object("check --doctor")["findings"] as? [[String: Any]])
        #expect(
            Set(["store", "adapter", "system bus", "notifications"]).isSubset(
                of: findings.compactMap { $0["name"] as? String }))
        for finding in findings where finding["ok"] as? Bool == false {
            #expect((finding["advice"] as? String).map { $0.count > 10 } == true, "\(finding)")
        }
        let notifications = try #require(findings.first { $0["name"] as? String == "notifications" })
        #expect(
            notifications["ok"] as? Bool == false && (notifications["detail"] as? String)?.hasPrefix("disabled") == true
        )
    }
}

@Suite struct UnitsCommandTests {
    private let home: Home

    init() throws { home = try Home(["WATERH_ZONE": "UTC"]) }

    /// The output of a command at noon of 15 June 2026.
    @discardableResult
    private func tracker(_ line: String, at now: String = "12:00") async throws -> String {
        let result = try await home.tracker(line, at: now)
        #expect(result.exitCode == 0, "\(line): \(result.error)")
        return result.output
    }

    @Test func `every command prints amounts in the selected units`() async throws {
        try await tracker("settings set hydration.units oz")
        #expect(try await tracker("log 12oz").contains("Logged 12 oz at 12:00 as d1."))
        for line in ["status", "history", "history --day 2026-06-15", "streak", "why"] {
            let text = try await tracker(line)
            #expect(text.contains("12 oz") && (line == "history" || text.contains("84.5 oz")), "\(line): \(text)")
            if line != "why" { #expect(text.firstMatch(of: /\d ml\b/) == nil, "\(line): \(text)") }
        }
        #expect(try await tracker("edit d1 --ml 0.25l").contains("Changed: "))
        let state = try await home.object("status", at: "12:00")
        #expect(
            state["dailyTotalMl"] as? Int == 250 && state["dailyGoalMl"] as? Int == 2500
                && state["units"] as? String == "oz")
    }

    @Test func `the emulator accepts amounts in ounces`() async throws {
        let pair = try await Pair()
        for (amount, total) in [("4oz", 118), ("0.2l", 318), ("120", 438)] {
            let control = "control --control \(pair.control) --json sip \(amount)"
            #expect(try await Program.emulator.succeed(control).output.contains("\"amountMl\":\(total)"), "\(amount)")
        }
        let wrong = try await Program.emulator.run(["control", "--control", pair.control, "sip", "4 cups"])
        wrong.expect(2, error: "expected sip ML")
    }

    @Test func `every command accepts amounts in ounces`() async throws {
        _ = try await Program.tracker.succeed(
            ["settings", "set", "hydration.units", "oz", "hydration.quickAddMl", "8oz, 12oz,16oz,100"],
            environment: home.environment)
        #expect(try await tracker("log quick2").contains("Logged 12 oz at"))
        #expect(try await tracker("undo").contains("Undid: log 12 oz."))
        for (line, words) in [
            ("log 99oz", "99 oz is outside the range of one drink: 1–2000 ml (up to 67.6 oz)"),
            (
                "water --oz cup",
                "invalid amount 'cup': expected fluid ounces (8), or an amount with a unit (8.5oz, 250ml)"
            ),
            ("settings set hydration.goalMl 9000", "500 to 5000 ml (16.9 oz to 169.1 oz)"),
        ] {
            let refused = try await home.tracker(line)
            #expect(refused.exitCode != 0 && refused.error.contains(words), "\(refused.error)")
        }
        try await tracker("session start")
        #expect(try await tracker("water --ml 8oz").contains("Logged a water of 8 oz"))
        for (typed, shown) in [("8", "8 oz"), ("8oz", "8 oz"), ("8.5", "8.5 oz"), ("355ml", "12 oz")] {
            #expect(try await tracker("water --oz \(typed)").contains("Logged a water of \(shown) "), "\(typed)")
        }
    }

    @Test func `reminders, the status bar and setup print amounts in the selected units`() async throws {
        try await tracker("setup --yes --units oz")
        let reminder = try await tracker("check --show", at: "18:00")
        #expect(reminder.firstMatch(of: /Drink \d+oz to catch up/) != nil, "\(reminder)")
        #expect(try await tracker("status --format waybar").contains("0oz / 85oz"))
        #expect(try await tracker("status").contains("0 oz / 84.5 oz"))
        #expect(try await tracker("log 8oz --at 11:00").hasPrefix("Logged 8 oz at 11:00 as d1."))
        // A drink of yesterday is shown as such.
        let yesterday = try await tracker("log 8oz --at 2026-06-14T11:00")
        #expect(yesterday.hasPrefix("Logged 8 oz on 2026-06-14 at 11:00 as d2."), "\(yesterday)")
    }

    @Test func `edit and delete print times in the zone of the drink`() async throws {
        try await tracker("log 500 --zone Asia/Tokyo")
        #expect(try await tracker("edit d1 --at 11:30").hasPrefix("Changed: 500 ml at 2026-06-15 11:30, now d2."))
        #expect(try await tracker("delete d2").hasPrefix("Deleted 500 ml of 2026-06-15 11:30."))
    }

    @Test func `the store's unit takes precedence over waterh.toml`() async throws {
        let pair = try await Pair()
        try await pair.sip(237)
        let config = try pair.configure("units = \"oz\"")
        let poll = try await Program.gateway.succeed("poll --config \(config)")
        #expect(poll.output.contains("      8 oz\n") && poll.output.contains("Today: 8 oz / 84.5 oz"), "\(poll.output)")
        try await Program.tracker.succeed("settings set hydration.units l --config \(config)")
        let status = try await Program.tracker.succeed("status --config \(config)").output
        #expect(status.contains("0.237 l / 2.5 l"), "\(status)")
        try pair.folder.write("units = \"cups\"\n", to: "waterh.toml")
        let wrong = try await Program.tracker.run("status --config \(config)")
        wrong.expect(4, error: ": expected \"ml\", \"l\" or \"oz\"")
    }

    @Test func `bottle commands accept ounces`() async throws {
        let pair = try await Pair()
        try await pair.tracker("settings set hydration.units oz")
        for (words, answer) in [
            ("goal 80oz", "set the goal to 80 oz (2366 ml): "),
            ("amount 12oz", "show 12 oz (355 ml) as today's amount: "),
            // Raw bytes can be a known command with a description.
            ("raw 47540001FF", "ask for a snapshot: "),
        ] {
            let sent = try await Program.gateway.succeed("send \(words) --link \(pair.socket) --store \(pair.store)")
            #expect(sent.output.hasPrefix(answer), "\(sent.output)")
        }
        #expect(try pair.status()["goalMl"] as? Int == 2366)
    }

    @Test(arguments: [true, false]) func `doctor reports the owner of the page's address`(_ isOurs: Bool) async throws {
        let pair = try await Pair()
        let other =
            try isOurs
            ? pair.serve("--listen 127.0.0.1:0 --verbose")
            : Program.python.start(
                "-u -m http.server 0 --bind 127.0.0.1 --directory \(pair.folder.path)")
        let port = try #require(
            await event(within: 30) {
                (other.error + other.output).firstMatch(of: /http:\/\/127\.0\.0\.1:([0-9]+)/).map { String($0.1) }
            }, "\(other.error)")
        let doctor = try await Program.gateway.run(
            "doctor --config \(pair.configure())", environment: ["WATERH_LISTEN": "127.0.0.1:\(port)"])
        let words = isOurs ? "page: served at" : "page: another program listens at"
        #expect(doctor.output.contains("\(words) 127.0.0.1:\(port)"), "\(doctor.output)\(doctor.error)")
        #expect(doctor.output.contains(#/(ok  |note) clock: (not )?synchronised/#), "\(doctor.output)")
        try await other.stop(SIGINT)
    }
}

@Suite struct WhyCommandTests {
    private let home: Home

    init() throws { home = try Home(["WATERH_ZONE": "UTC"]) }

    /// The query is about a later time.
    @Test(arguments: [
        ("2026-06-15T18:00", "12:00", "2026-06-15 12:00"), ("2026-06-15T18:00", "23:30", "2026-06-15 23:30"),
        ("2026-06-15T18:00", "02:00", "2026-06-16 02:00"), ("2026-06-16T01:00", "23:00", "2026-06-15 23:00"),
        ("2026-06-16T01:00", "03:59", "2026-06-16 03:59"),
    ])
    func `why --at takes a time without a date as a time of the current day`(
        now: String, at: String, meant: String
    ) async throws {
        #expect(try await home.tracker("why --now \(now) --at \(at)").output.hasPrefix("\(meant) UTC\n"))
    }
}
