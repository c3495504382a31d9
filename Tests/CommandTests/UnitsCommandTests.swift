import Foundation
import Support
import Testing

@Suite struct UnitsCommandTests {
    private func tracker(_ folder: TemporaryFolder, _ arguments: [String], now: String = "2026-06-15T12:00:00Z")
        async throws -> Program.Result
    {
        let result = try await Program("waterh-tracker").run(
            arguments + ["--store", folder.file("s.sqlite"), "--zone", "UTC", "--now", now])
        #expect(result.exitCode == 0, "\(arguments): \(result.error)")
        return result
    }

    @Test(arguments: [("oz", "12 oz", "84.5 oz"), ("l", "0.355 l", "2.5 l"), ("ml", "355 ml", "2,500 ml")])
    func `every text has the selected units`(_ units: String, _ drink: String, _ goal: String) async throws {
        let folder = try TemporaryFolder()
        _ = try await tracker(folder, ["settings", "set", "hydration.units", units])
        #expect(try await tracker(folder, ["log", "12oz"]).output.contains("Logged \(drink) at 12:00 as d1."))
        for verb in [["status"], ["history"], ["history", "--day", "2026-06-15"], ["streak"]] {
            let said = try await tracker(folder, verb).output
            #expect(said.contains(drink), "\(verb): \(said)")
            #expect(
                verb[0] == "history" && verb.count == 1 || said.contains(goal) || said.contains("/ \(goal)"),
                "\(verb): \(said)")
            if units == "oz" { #expect(said.firstMatch(of: /\d ml\b/) == nil, "\(verb): \(said)") }
        }
        let why = try await tracker(folder, ["why"]).output
        #expect(why.contains("\(drink) of \(goal)"), "\(why)")
        #expect(try await tracker(folder, ["edit", "d1", "--ml", "0.25l"]).output.contains("Changed: "))
        let object =
            try JSONSerialization.jsonObject(with: Data(try await tracker(folder, ["status", "--json"]).outputBytes))
            as? [String: Any]
        #expect(
            object?["dailyTotalMl"] as? Int == 250 && object?["dailyGoalMl"] as? Int == 2500
                && object?["units"] as? String == units)
    }

    @Test(arguments: [("4oz", 118), ("0.2l", 200), ("120", 120)])
    func `the emulator accepts amounts in ounces`(_ amount: String, _ ml: Int) async throws {
        let pair = try await Pair()
        let told = try await Program("waterh-emulator").run([
            "control", "--control", pair.control, "--json", "sip", amount,
        ])
        #expect(told.exitCode == 0 && told.output.contains("\"amountMl\":\(ml)"), "\(told.output)\(told.error)")
        let wrong = try await Program("waterh-emulator").run(["control", "--control", pair.control, "sip", "4 cups"])
        #expect(wrong.exitCode == 2 && wrong.error.contains("expected sip ML"), "\(wrong.error)")
    }

    @Test
    func `all amounts can be in ounces`() async throws {
        let folder = try TemporaryFolder()
        _ = try await tracker(
            folder, ["settings", "set", "hydration.units", "oz", "hydration.quickAddMl", "8oz, 12oz,16oz,100"])
        #expect(try await tracker(folder, ["log", "quick2"]).output.contains("Logged 12 oz at"))
        #expect(try await tracker(folder, ["undo"]).output.contains("Undid: log 12 oz."))
        let most = try await Program("waterh-tracker").run(["log", "99oz", "--store", folder.file("s.sqlite")])
        #expect(
            most.exitCode != 0
                && most.error.contains("99 oz is outside the range of one drink: 1-2000 ml (up to 67.6 oz)."),
            "\(most.error)")
        _ = try await tracker(folder, ["session", "start"])
        #expect(try await tracker(folder, ["water", "--ml", "8oz"]).output.contains("Logged a water of 8 oz"))
        for (typed, told) in [
            ("8", "8 oz"), ("8oz", "8 oz"), ("8,5 oz", "8.5 oz"), ("8.5", "8.5 oz"), ("355ml", "12 oz"),
        ] {
            #expect(
                try await tracker(folder, ["water", "--oz", typed]).output.contains("Logged a water of \(told) "),
                "\(typed)")
        }
        let none = try await Program("waterh-tracker").run([
            "water", "--oz", "a cup", "--store", folder.file("s.sqlite"),
        ])
        #expect(
            none.exitCode == 2 && none.error.contains("invalid amount 'a cup': expected 8, 8.5oz or 250ml"),
            "\(none.error)"
        )
        let pair = try await Pair()
        let sent = try await Program("waterh-gateway").run([
            "send", "goal", "64oz", "--link", pair.socket, "--store", pair.store,
        ])
        #expect(sent.exitCode == 0, "\(sent.error)")
        let state = try await Program("waterh-emulator").run(["control", "--control", pair.control, "--json", "status"])
        #expect(state.output.contains("1893"), "\(state.output)\(state.error)")
    }

    @Test
    func `reminders and the status bar have the selected units`() async throws {
        let folder = try TemporaryFolder()
        _ = try await tracker(folder, ["settings", "set", "hydration.units", "oz"])
        let told = try await tracker(folder, ["check", "--show"], now: "2026-06-15T18:00:00Z").output
        #expect(told.firstMatch(of: /Drink \d+oz to catch up/) != nil, "\(told)")
        let bar = try await tracker(folder, ["status", "--format", "waybar"]).output
        #expect(bar.contains("0oz / 85oz"), "\(bar)")
    }

    @Test
    func `the store's unit takes precedence over waterh.toml`() async throws {
        let pair = try await Pair()
        try await pair.sip(237)
        try Data("link = \"\(pair.socket)\"\nstore = \"\(pair.store)\"\nunits = \"oz\"\n".utf8).write(
            to: pair.folder.url("w.toml"))
        let config = ["--config", pair.folder.file("w.toml")]
        let poll = try await Program("waterh-gateway").run(["poll"] + config)
        #expect(
            poll.output.contains("      8 oz\n") && poll.output.contains("Today: 8 oz / 84.5 oz"),
            "\(poll.output)\(poll.error)")
        #expect(
            try await Program("waterh-tracker").run(["settings", "set", "hydration.units", "l"] + config).exitCode == 0)
        #expect(try await Program("waterh-tracker").run(["status"] + config).output.contains("0.237 l / 2.5 l"))
        try Data("units = \"cups\"\n".utf8).write(to: pair.folder.url("w.toml"))
        let wrong = try await Program("waterh-tracker").run(["status"] + config)
        #expect(
            wrong.exitCode == 4 && wrong.error.contains(": expected \"ml\", \"l\" or \"oz\""), "\(wrong.error)")
    }

    /// Commands to the bottle, a rejected goal, and a person's goal in waterh.toml use the configured unit.
    @Test
    func `bottle commands and refused settings accept ounces`() async throws {
        let pair = try await Pair()
        let store = ["--store", pair.store]
        #expect(
            try await Program("waterh-tracker").run(["settings", "set", "hydration.units", "oz"] + store).exitCode == 0)
        let refused = try await Program("waterh-tracker").run(["settings", "set", "hydration.goalMl", "9000"] + store)
        #expect(
            refused.exitCode != 0 && refused.error.contains("500 to 5000 ml (16.9 oz to 169.1 oz)."), "\(refused.error)"
        )
        let goal = try await Program("waterh-gateway").run(["send", "goal", "80oz", "--link", pair.socket] + store)
        #expect(goal.output.hasPrefix("set the goal to 80 oz (2366 ml): "), "\(goal.output)\(goal.error)")
        let amount = try await Program("waterh-gateway").run(["send", "amount", "12oz", "--link", pair.socket] + store)
        #expect(amount.output.hasPrefix("show 12 oz (355 ml) as today's amount: "), "\(amount.output)\(amount.error)")
        // Raw bytes can be a known command with a description.
        let raw = try await Program("waterh-gateway").run(["send", "raw", "47540001FF", "--link", pair.socket] + store)
        #expect(raw.output.hasPrefix("ask for a snapshot: "), "\(raw.output)\(raw.error)")

        let config = pair.folder.file("people.toml")
        try Data(
            """
            units = \"oz\"\nstore = \"\(pair.folder.file("anna.sqlite"))\"\nlink = \"\(pair.socket)\"\n
            """
            .utf8
        ).write(to: URL(fileURLWithPath: config))
        let poll = try await Program("waterh-gateway").run(["poll", "--config", config])
        #expect(poll.output.contains("/ 84.5 oz"), "\(poll.output)\(poll.error)")
    }

    /// A drink of yesterday is shown as such.
    @Test
    func `setup has the selected units`() async throws {
        let folder = try TemporaryFolder()
        _ = try await tracker(folder, ["setup", "--yes", "--units", "oz"])
        #expect(try await tracker(folder, ["status"]).output.contains("0 oz / 84.5 oz"))
        #expect(
            try await tracker(folder, ["log", "8oz", "--at", "11:00"]).output.hasPrefix("Logged 8 oz at 11:00 as d1."))
        #expect(
            try await tracker(folder, ["log", "8oz", "--at", "2026-06-14T11:00"]).output.hasPrefix(
                "Logged 8 oz on 2026-06-14 at 11:00 as d2."))
        let plain = try TemporaryFolder()
        _ = try await tracker(plain, ["setup", "--yes"])
        #expect(try await tracker(plain, ["status"]).output.contains("0 ml / 2,500 ml"))
    }

    @Test(arguments: [true, false])
    func `doctor reports the owner of the page's address`(_ isOurs: Bool) async throws {
        let pair = try await Pair()
        let other = try (isOurs ? Program("waterh-gateway") : Program(path: "/usr/bin/python3")).start(
            isOurs
                ? ["run", "--link", pair.socket, "--store", pair.store, "--listen", "127.0.0.1:0", "--verbose"]
                : ["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", pair.folder.path])
        let port = try #require(
            await event(within: 30) {
                (other.error + other.output).firstMatch(of: /http:\/\/127\.0\.0\.1:([0-9]+)/).map { String($0.1) }
            }, "\(other.error)")
        let config = pair.folder.file("page.toml")
        try Data("store = \"\(pair.store)\"\nlink = \"\(pair.socket)\"\n".utf8).write(to: URL(fileURLWithPath: config))
        let doctor = try await Program("waterh-gateway").run(
            ["doctor", "--config", config], environment: ["WATERH_LISTEN": "127.0.0.1:\(port)"])
        #expect(
            doctor.output.contains(
                isOurs ? "page: served at 127.0.0.1:\(port)" : "page: another program listens at 127.0.0.1:\(port)"
            ), "\(doctor.output)\(doctor.error)")
        other.send(signal: SIGTERM)
        _ = try await other.finish(limit: 20)
    }
}
