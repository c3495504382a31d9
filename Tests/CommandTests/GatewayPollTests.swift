import Foundation
import Support
import Testing

@Suite struct GatewayPollTests {
    static let keys: Set<String> = [
        "bottle", "name", "profile", "model", "batteryPercent", "clockDriftSeconds", "received", "new", "duplicates",
        "suspect",
        "quarantined", "acknowledged", "unconfirmed", "complete", "seconds", "state", "address", "resolved",
        "storedRecords",
    ]

    @Test(arguments: ["retail", "draft"]) func `repeated polls store only new drinks`(_ profile: String) async throws {
        let pair = try await Pair(["--profile", profile])
        for ml in [100, 200, 300] { try await pair.sip(ml) }
        let first = try await pair.poll()
        #expect(first.exitCode == 0, "\(first.error)")
        // The first poll of an empty store adopts the bottle and reports it.
        #expect(Set(first.object.keys) == Self.keys.union(["adopted"]))
        #expect(first.object["profile"] as? String == profile)
        #expect(first.object["bottle"] as? String == "A4:C1:38:31:D1:D2")
        #expect(first.object["received"] as? Int == 3)
        #expect(first.object["new"] as? Int == 3)
        #expect(first.object["acknowledged"] as? Int == 3)
        #expect(first.object["complete"] as? Bool == true)
        #expect((first.object["state"] as? [String: Any])?["drinkCount"] as? Int == 3)
        let second = try await pair.poll()
        #expect(second.object["received"] as? Int == 0)
        #expect(Set(second.object.keys) == Self.keys)
        try await pair.sip(120)
        #expect(try await pair.poll().object["new"] as? Int == 1)
    }

    @Test func `--keep leaves the log in the bottle, and the next poll stores nothing twice`() async throws {
        let pair = try await Pair()
        for ml in [100, 200] { try await pair.sip(ml) }
        let first = try await pair.poll(["--keep"])
        #expect(first.object["acknowledged"] as? Int == 0)
        let second = try await pair.poll()
        #expect(second.object["duplicates"] as? Int == 2)
        #expect(second.object["new"] as? Int == 0)
        #expect(second.object["acknowledged"] as? Int == 2)
    }

    @Test func `polls with faults store all drinks in the end`() async throws {
        let pair = try await Pair(["--faults", "hang-up-once=2,interleave=50,early=300"])
        for ml in 1...12 { try await pair.sip(ml) }
        let poll = try await pair.poll()
        #expect(poll.exitCode == 0, "\(poll.error)")
        #expect(poll.object["new"] as? Int == 12)
        #expect((poll.object["recovery"] as? [Any])?.isEmpty == false)
    }

    /// A host clock earlier than the build date dates no record, and the poll is rejected. With the correct clock the
    /// same drink counts.
    @Test func `a contradicting clock is exit code 3`() async throws {
        let pair = try await Pair()
        try await pair.sip(150)
        let shift = try await ClockShift(in: pair.folder)
        // Ten years back.
        try shift.set(seconds: -3650 * 86_400)
        let wrong = try await Program("waterh-gateway").run(pair.pollArguments, environment: shift.environment)
        #expect(wrong.exitCode == 3 && wrong.error.contains("Clock not trusted: "), "\(wrong.error)")
        let right = try await pair.poll()
        #expect(right.exitCode == 0 && right.object["received"] as? Int == 1, "\(right.error)")
    }

    @Test func `no bottle in range is exit code 5`() async throws {
        let folder = try TemporaryFolder()
        let result = try await Program("waterh-gateway").run(
            ["poll", "--link", "unix:" + folder.url("none.sock").path, "--store", folder.url("s.sqlite").path])
        #expect(result.exitCode == 5)
        #expect(result.error.contains("waterh-emulator run --link unix:"))
        #expect(result.output.isEmpty)
    }

    @Test func `the state has the result of the last poll`() async throws {
        let pair = try await Pair()
        let tracker = Program("waterh-tracker")
        func state() async throws -> [String: Any] {
            let result = try await tracker.run(["status", "--json", "--store", pair.store])
            return try #require(
                JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any], "\(result.error)")
        }
        let nobody = try await Program("waterh-gateway").run([
            "poll", "--link", "unix:\(pair.folder.path)/nobody", "--store", pair.store,
        ])
        #expect(nobody.exitCode == 5)
        let bad = try await state()
        #expect(bad["connection"] as? String == "error")
        #expect(
            bad["connectionError"] as? String
                == nobody.error.firstMatch(of: /error: (Bottle not found|Failed to connect)/).map { String($0.1) },
            "\(nobody.error)")
        #expect(bad["hint"] is String)
        #expect(try await pair.poll().exitCode == 0)
        let good = try await state()
        #expect(good["connection"] as? String == "disconnected")
        #expect(good["connectionError"] is NSNull && good["hint"] is NSNull)
        let bottle = try #require(good["bottle"] as? [String: Any])
        #expect(bottle["batteryPercent"] is Int && bottle["lastCompletePoll"] is Int, "\(bottle)")
    }

    /// A capture belongs to no bottle. Each poll reports the capture, and the store adopts the first real bottle that
    /// responds.
    @Test func `a capture link adopts no real bottle`() async throws {
        let pair = try await Pair(["--address", "A4:C1:38:00:00:77"])
        let recording = [
            "poll", "--link", "capture:\(Program.repository)/captures/boost_two-days.btsnoop", "--store", pair.store,
        ]
        for _ in 1...2 {
            let result = try await Program("waterh-gateway").run(recording)
            #expect(
                result.exitCode == 0 && result.output.contains("40 received") && !result.output.contains("own bottle"),
                "\(result.output)\(result.error)")
        }
        let live = try await pair.poll()
        #expect(
            live.exitCode == 0 && live.object["adopted"] as? Bool == true
                && live.object["bottle"] as? String == "A4:C1:38:00:00:77", "\(live.error)")
        // A poll of the capture succeeds although the capture is of another bottle.
        #expect(try await Program("waterh-gateway").run(recording).exitCode == 0)
        let doctor = try await Program("waterh-gateway").run(["doctor", "--link", pair.socket, "--store", pair.store])
        #expect(doctor.output.contains("bottles: A4:C1:38:00:00:77\n"), "\(doctor.output)")
    }

    /// A socket has no device address: a short connection identifies the bottle and reads none of its records.
    @Test(arguments: [["--address", "A4:C1:38:00:00:77"], ["--address", "A4:C1:38:00:00:77", "--profile", "draft"]])
    func `scan and doctor report the owner of a bottle on a socket`(_ bottle: [String]) async throws {
        let pair = try await Pair(bottle)
        let gateway = Program("waterh-gateway")
        func scan(_ more: [String] = []) async throws -> String {
            try await gateway.run(["scan", "--seconds", "1", "--link", pair.socket, "--store", pair.store] + more)
                .output
        }
        func doctor() async throws -> String {
            try await gateway.run(["doctor", "--link", pair.socket, "--store", pair.store]).output
        }
        try await pair.sip(150)
        #expect(try await scan().hasSuffix("  A4:C1:38:00:00:77  WaterH-Boost-24oz  bottle\n"))
        #expect(try await doctor().contains(": a bottle is in range: WaterH-Boost-24oz\n"))
        _ = try await gateway.run(["adopt", "A4:C1:38:00:00:01", "--store", pair.store])
        #expect(
            try await scan().contains(
                "bottle, not adopted: waterh-gateway adopt A4:C1:38:00:00:77\n"))
        let other = try await doctor()
        #expect(
            other.contains(": a bottle that is not this store's is in range: WaterH-Boost-24oz\n")
                && other.contains("adopt A4:C1:38:00:00:77\n"), "\(other)")
        _ = try await gateway.run(["adopt", "A4:C1:38:00:00:77", "--store", pair.store])
        #expect(try await scan().hasSuffix("bottle, this store's own\n"))
        #expect(try await doctor().contains(": this store's own bottle is in range: WaterH-Boost-24oz\n"))
        let line = try #require(
            JSONSerialization.jsonObject(with: Data(try await scan(["--json"]).utf8)) as? [String: Any])
        #expect(
            line["own"] as? Bool == true && line["identity"] as? String == "A4:C1:38:00:00:77"
                && line["name"] as? String == "WaterH-Boost-24oz")
        let poll = try await pair.poll()
        #expect(poll.object["received"] as? Int == 1, "nothing was taken: \(poll)")
    }

    /// CLI spec C2: a capture without a response differs from an absent bottle.
    @Test(
        arguments: [
            ("no-such.btsnoop", 2, "cannot open the capture"), (".", 4, "cannot replay the capture"),
            ("notes.txt", 4, "cannot replay the capture"),
            ("empty", 4, "cannot replay the capture"),
        ] as [(String, Int32, String)])
    func `a capture without responses is invalid input`(_ file: String, _ code: Int32, _ words: String) async throws {
        let folder = try TemporaryFolder()
        try Data("Dear diary, today I drank a glass of water.\n".utf8).write(to: folder.url("notes.txt"))
        try Data().write(to: folder.url("empty"))
        for verb in ["poll", "scan", "send"] {
            let result = try await Program("waterh-gateway").run(
                [verb, "--link", "capture:\(file)", "--store", "s.sqlite"] + (verb == "send" ? ["flash"] : []),
                directory: folder.path)
            #expect(result.exitCode == code && result.output.isEmpty, "\(verb): \(result.error)")
            #expect(
                result.error.contains(
                    "\(words) \(file): "),
                "\(result.error)")
            #expect(result.error.contains("\n  "), "it says what to do: \(result.error)")
            #expect(!FileManager.default.fileExists(atPath: folder.file("s.sqlite")))
        }
    }

    @Test func `doctor and send use the time zone of the poll`() async throws {
        let pair = try await Pair()
        let (gateway, environment) = (Program("waterh-gateway"), ["TZ": "Africa/Abidjan", "HOME": pair.folder.path])
        let set = [
            "settings", "set", "day.zone", "Asia/Tokyo", "bottle.timeZone", "Pacific/Honolulu", "--store", pair.store,
        ]
        #expect(try await Program("waterh-tracker").run(set, environment: environment).exitCode == 0)
        let doctor = try await gateway.run(
            ["doctor", "--link", pair.socket, "--store", pair.store], environment: environment)
        #expect(
            doctor.output.contains("time zone: Asia/Tokyo, now ")
                && doctor.output.contains("; the bottle's clock shows Pacific/Honolulu"), "\(doctor.output)")
        func clock(_ more: [String] = [], _ variables: [String: String] = [:]) async throws -> Date {
            let result = try await gateway.run(
                ["send", "--link", pair.socket, "--store", pair.store, "--json", "clock"] + more,
                environment: environment.merging(variables) { $1 })
            let text = try #require(
                result.output.firstMatch(of: /set the clock to (\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})/),
                "\(result.output)\(result.error)")
            return try Date("\(text.1)T\(text.2)Z", strategy: .iso8601)
        }
        let hours = { (date: Date) in (date.timeIntervalSinceNow / 3600).rounded() }
        #expect(try await hours(clock()) == -10)
        // As in a poll, the time zone of the bottle's clock takes precedence over the zone of the days. The zone option
        // of the command takes precedence over both.
        #expect(try await hours(clock([], ["WATERH_ZONE": "Asia/Dubai"])) == -10)
        #expect(try await hours(clock(["--zone", "Asia/Dubai"])) == 4)
    }

    @Test func `a released bottle is not polled until it is adopted again`() async throws {
        let pair = try await Pair(["--address", "A4:C1:38:00:00:77"])
        let gateway = Program("waterh-gateway")
        try await pair.sip(150)
        #expect(try await pair.poll().object["new"] as? Int == 1)
        func adopt(_ words: String...) async throws -> Program.Result {
            try await gateway.run(["adopt", "--store", pair.store] + words)
        }
        #expect(try await adopt("A4:C1:38:00:00:01").exitCode == 0)
        let config = pair.folder.url("waterh.toml")
        try Data("bottle = \"A4:C1:38:00:00:77\"\nstore = \"\(pair.store)\"\n".utf8).write(to: config)
        let named = try await gateway.run(["adopt", "--config", config.path, "--release", "A4:C1:38:00:00:77"])
        #expect(named.exitCode == 3 && named.error.contains("the configuration names it"), "\(named.error)")
        let released = try await adopt("--release", "a4:c1:38:00:00:77")
        #expect(
            released.exitCode == 0
                && released.output == "Released A4:C1:38:00:00:77. Its drinks stay.\n",
            "\(released.error)")
        #expect(
            try await adopt("--release", "A4:C1:38:00:00:77", "--json").output
                == "{\"bottle\":\"A4:C1:38:00:00:77\",\"released\":false}\n")
        #expect(try await adopt("--release", "--as", "x", "A4:C1:38:00:00:77").exitCode == 2)
        #expect(try await adopt("--release", "A4:C1:38:00:00:78").exitCode != 0)
        try await pair.sip(160)
        let left = try await gateway.run(pair.pollArguments)
        #expect(left.exitCode != 0 && left.error.contains("A4:C1:38:00:00:77"), "\(left.output) \(left.error)")
        // The bottle is adopted again with all records that it delivered, and the known records stay known.
        #expect(try await adopt("A4:C1:38:00:00:77").output == "Adopted A4:C1:38:00:00:77.\n")
        let back = try await pair.poll()
        #expect(
            back.object["new"] as? Int == 1 && (back.object["state"] as? [String: Any])?["drinkCount"] as? Int == 2,
            "\(back.error)")
    }

    @Test(arguments: ["WaterH-Boost-24oz", "WaterH-Vita", "", "A4:C1:38:01:02:0", "A4:C1", "xx"])
    func `adopt rejects an ambiguous name`(_ name: String) async throws {
        let folder = try TemporaryFolder()
        let result = try await Program("waterh-gateway").run(["adopt", name, "--store", folder.file("s.sqlite")])
        #expect(result.exitCode == 2 && result.output.isEmpty, "\(result.error)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test func `the demo's page shows a passing day`() async throws {
        let folder = try TemporaryFolder()
        let demo = try Program("waterh-gateway").start(
            ["demo", "--port", "0", "--speed", "1200", "--control", "unix:\(folder.path)/c.sock"],
            environment: ["HOME": folder.path, "TMPDIR": folder.path, "WATERH_BOTTLE": "another"],
            directory: folder.path)
        let line = try await demo.line { $0.hasPrefix("The page: ") }
        let link = try #require(line.firstMatch(of: /(http:\/\/127.0.0.1:\d+)\/sign-in#([0-9A-Z]{10})$/), "\(line)")
        let (state, jar) = ("\(link.1)/api/v1/state", folder.file("cookies"))
        let signedIn = try await Program(path: "/usr/bin/curl").run([
            "-sS", "-c", jar, "--json", "{\"code\": \"\(link.2)\"}", "\(link.1)/api/v1/sign-in",
        ])
        #expect(signedIn.output.contains(#""scope":"admin""#), "\(signedIn.output)")
        let seen = try await event(within: 90) { () -> String? in
            let answer = try await Program(path: "/usr/bin/curl").run(["-sS", "-b", jar, state])
            return answer.output.contains(#""dailyTotalMl":"#) && !answer.output.contains(#""dailyTotalMl":0,"#)
                ? answer.output : nil
        }
        #expect(
            seen?.contains(#""speed":1200"#) == true && seen?.contains(#""setupDone":true"#) == true,
            "\(seen ?? "nothing") \(demo.error)")
        #expect(try await demo.stop().exitCode == 0)
    }

    /// SIGINT gives exit code 130, SIGTERM 0.
    @Test(arguments: [(SIGINT, 130), (SIGTERM, 0)] as [(Int32, Int32)]) func `a stopped demo removes its files`(
        _ signal: Int32, _ code: Int32
    ) async throws {
        let folder = try TemporaryFolder()
        let demo = try Program("waterh-gateway").start(
            ["demo", "--control", "unix:\(folder.path)/c.sock"],
            environment: ["HOME": folder.path, "TMPDIR": folder.path], directory: folder.path)
        // The printed commands have a path where PATH does not contain them.
        let sentence = try await demo.line { $0.contains("Ctrl-C ends") }
        let path = try #require(sentence.split(separator: " ").first { $0.hasSuffix("waterh-emulator") })
        #expect(access(String(path), X_OK) == 0 || Program(system: "waterh-emulator") != nil, "\(sentence)")
        demo.send(signal: signal)
        let result = try await demo.finish(limit: 20)
        #expect(result.exitCode == code && !result.signalled, "\(result.error)")
        // Without a runtime folder of a session, the user's own socket folder remains, empty.
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(left.allSatisfy { $0 == "waterh-\(geteuid())" }, "\(left)")
        for name in left { #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file(name)).isEmpty) }
    }

    @Test func `an unknown --bottle does not change the state`() async throws {
        let pair = try await Pair()
        #expect(try await pair.poll().exitCode == 0)
        func connection() async throws -> String? {
            let result = try await Program("waterh-tracker").run(["status", "--json", "--store", pair.store])
            return (try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any])?["connection"]
                as? String
        }
        #expect(try await pair.poll(["--bottle", "WaterH-Typo"]).exitCode == 5)
        #expect(try await connection() == "disconnected")
        // The store's own bottle by its name, out of range.
        let away = try await Program("waterh-gateway").run([
            "poll", "--link", "unix:\(pair.folder.path)/nobody", "--store", pair.store, "--bottle", "WaterH-Boost-24oz",
        ])
        #expect(away.exitCode == 5)
        #expect(try await connection() == "error")
    }

    @Test func `another bottle is exit code 5`() async throws {
        let pair = try await Pair()
        let poll = try await pair.poll(["--bottle", "A4:C1:38:00:00:01"])
        #expect(poll.exitCode == 5)
        #expect(poll.error.contains("not A4:C1:38:00:00:01"))
    }

    @Test(arguments: [
        ["poll", "--link", "pigeon:1"], ["poll", "--nonsense"], ["send", "--link", "unix:/x", "goal", "much"],
        ["scan", "--seconds", "0"],
    ])
    func `wrong use is exit code 2`(_ arguments: [String]) async throws {
        #expect(try await Program("waterh-gateway").run(arguments).exitCode == 2)
    }

    @Test(arguments: [
        ("raw", "'raw' is not valid: expected raw HEX."), ("goal", "'goal' is not valid: expected goal ML."),
        ("recalibrate much", "'recalibrate much' is not valid: expected recalibrate full|empty."),
        ("reminder", "reminder off|periodic|smart [08:00-20:00] [MINUTES]."),
        ("nonsense", "'nonsense' is not a command."),
    ])
    func `an incomplete send command prints its syntax`(_ words: String, _ told: String) async throws {
        let result = try await Program("waterh-gateway").run(
            ["send", "--link", "unix:/x"] + words.split(separator: " ").map(String.init))
        #expect(result.exitCode == 2 && result.error.contains(told), "\(result.error)")
    }

    @Test func `an invalid store is exit code 4, and nothing is acknowledged`() async throws {
        let pair = try await Pair()
        try await pair.sip(100)
        try Data("this is no database, and it is longer than a header".utf8).write(to: URL(fileURLWithPath: pair.store))
        let result = try await Program("waterh-gateway").run(pair.pollArguments)
        #expect(result.exitCode == 4)
        #expect(result.error.contains(pair.store))
        try FileManager.default.removeItem(atPath: pair.store)
        #expect(try await pair.poll().object["new"] as? Int == 1)
    }

    @Test func `send prints the bottle's response`() async throws {
        let pair = try await Pair()
        let result = try await Program("waterh-gateway").run(["send", "--link", pair.socket, "goal", "1800", "--json"])
        #expect(result.exitCode == 0)
        #expect(result.output.contains(#""answer":"52 50 00 04 03 05 07 08""#))
    }

    @Test func `send does not write to another bottle`() async throws {
        let pair = try await Pair(["--address", "A4:C1:38:09:09:09"])
        let gateway = Program("waterh-gateway")
        #expect(try await gateway.run(["adopt", "A4:C1:38:01:02:03", "--store", pair.store]).exitCode == 0)
        let send = ["send", "--link", pair.socket, "--store", pair.store, "goal", "1800"]
        let refused = try await gateway.run(send)
        #expect(
            refused.exitCode == 3 && refused.output.isEmpty && refused.error.contains("nothing was sent to it"),
            "\(refused.error)")
        #expect(try await gateway.run(send + ["--bottle", "A4:C1:38:09:09:09"]).exitCode == 0)
        #expect(try await gateway.run(["adopt", "A4:C1:38:09:09:09", "--store", pair.store]).exitCode == 0)
        #expect(try await gateway.run(send).exitCode == 0)
    }

    @Test func `doctor reports missing parts`() async throws {
        let folder = try TemporaryFolder()
        let result = try await Program("waterh-gateway").run(
            [
                "doctor", "--json", "--link", "unix:" + folder.url("none.sock").path, "--store",
                folder.url("s.sqlite").path,
            ])
        let object = try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any]
        #expect(result.exitCode == 5)
        #expect(object?["ok"] as? Bool == false)
        let checks = try #require(object?["checks"] as? [[String: Any]])
        #expect(
            checks.allSatisfy {
                $0["check"] is String && $0["found"] is String
                    && ["good", "note", "bad"].contains($0["status"] as? String)
            })
        #expect(
            checks.allSatisfy { $0["status"] as? String != "bad" || $0["advice"] is String },
            "each fault comes with what to do")
        #expect(checks.contains { ($0["check"] as? String)?.hasPrefix("kernel") == true })
        #expect(!FileManager.default.fileExists(atPath: folder.url("s.sqlite").path), "doctor writes nothing")
    }

    @Test func `doctor reports an invalid store before a missing bottle`() async throws {
        let folder = try TemporaryFolder()
        try Data("this is no database, and it is longer than a header".utf8).write(to: folder.url("s.sqlite"))
        let result = try await Program("waterh-gateway").run(
            ["doctor", "--link", "unix:" + folder.url("none.sock").path, "--store", folder.url("s.sqlite").path])
        #expect(result.exitCode == 1 && result.output.contains("BAD  store: "), "\(result.output)")
    }

    @Test func `demo --once polls twice and writes only to a temporary directory`() async throws {
        let folder = try TemporaryFolder()
        let temporary = folder.url("tmp"), home = folder.url("home")
        for url in [temporary, home] {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        }
        let result = try await Program("waterh-gateway").run(
            ["demo", "--once"],
            environment: ["TMPDIR": temporary.path, "HOME": home.path, "XDG_STATE_HOME": home.path],
            directory: home.path)
        #expect(result.exitCode == 0, "\(result.error)")
        #expect(result.output.contains("Second poll:\n  0 new"))
        #expect(result.output.contains("Today: "))
        #expect(try FileManager.default.contentsOfDirectory(atPath: home.path).isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path).isEmpty)
    }
}
