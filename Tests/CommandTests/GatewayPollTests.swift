import Foundation
import Support
import Testing

@Suite struct GatewayPollTests {
    private static let address = "A4:C1:38:00:00:77"
    private static let capture = "capture:\(ReplayCommandTests.twoDays)"

    @Test(arguments: ["retail", "draft"]) func `repeated polls store only new drinks`(_ profile: String) async throws {
        let pair = try await Pair(["--profile", profile])
        for ml in [100, 200, 300] { try await pair.sip(ml) }
        let first = try await pair.poll()
        #expect(first.exitCode == 0, "\(first.error)")
        // The first poll of an empty store adopts the bottle and reports it.
        #expect(first.object["adopted"] != nil && first.object["profile"] as? String == profile)
        #expect(first.object["bottle"] as? String == "A4:C1:38:31:D1:D2")
        for key in ["received", "new", "acknowledged"] { #expect(first.object[key] as? Int == 3, "\(key)") }
        #expect(first.object["complete"] as? Bool == true)
        #expect((first.object["state"] as? [String: Any])?["drinkCount"] as? Int == 3)
        let second = try await pair.poll()
        #expect(second.object["received"] as? Int == 0 && second.object["adopted"] == nil)
        try await pair.sip(120)
        #expect(try await pair.poll().object["new"] as? Int == 1)
    }

    /// A host clock earlier than the build date dates no record, and the poll is rejected. With the correct clock the
    /// same drink counts.
    @Test func `a clock before the build date causes exit code 3`() async throws {
        let pair = try await Pair()
        try await pair.sip(150)
        let shift = try await ClockShift(in: pair.folder)
        // Ten years back.
        try shift.set(seconds: -3650 * 86_400)
        let wrong = try await Program.gateway.run(pair.pollArguments, environment: shift.environment)
        wrong.expect(3, error: "Clock not trusted: ")
        let right = try await pair.poll()
        #expect(right.exitCode == 0 && right.object["received"] as? Int == 1, "\(right.error)")
    }

    @Test func `the state contains the result of the last poll`() async throws {
        let pair = try await Pair()
        let none = "poll --link unix:\(pair.folder.path)/none"
        let absent = try await pair.gateway(none)
        #expect(absent.exitCode == 5)
        let bad = try await pair.state()
        #expect(bad["connection"] as? String == "error" && bad["hint"] is String)
        #expect(
            bad["connectionError"] as? String
                == absent.error.firstMatch(of: /error: (Bottle not found|Failed to connect)/).map { String($0.1) },
            "\(absent.error)")
        #expect(try await pair.poll().exitCode == 0)
        let good = try await pair.state()
        #expect(good["connection"] as? String == "disconnected")
        #expect(good["connectionError"] is NSNull && good["hint"] is NSNull)
        let bottle = try #require(good["bottle"] as? [String: Any])
        #expect(bottle["batteryPercent"] is Int && bottle["lastCompletePoll"] is Int, "\(bottle)")
        // A bottle that is not the store's does not change the state.
        for (name, words) in [("WaterH-Typo", ""), ("A4:C1:38:00:00:01", "not A4:C1:38:00:00:01")] {
            let other = try await pair.poll(["--bottle", name])
            #expect(other.exitCode == 5 && (words.isEmpty || other.error.contains(words)), "\(other.error)")
            #expect(try await pair.state()["connection"] as? String == "disconnected", "\(name)")
        }
        // The store's own bottle by its name, out of range.
        #expect(try await pair.gateway("\(none) --bottle WaterH-Boost-24oz").exitCode == 5)
        #expect(try await pair.state()["connection"] as? String == "error")
    }

    /// A capture belongs to no bottle. Each poll reports the capture, and the store adopts the first real bottle that
    /// responds.
    @Test func `a capture link adopts no real bottle`() async throws {
        let pair = try await Pair(["--address", Self.address])
        let empty = try await pair.gateway("doctor --link \(Self.capture)").output
        #expect(
            empty.contains("bottles: none adopted; a poll of a capture adopts none\n")
                && !empty.contains("waterh-gateway adopt"), "\(empty)")
        for _ in 1...2 {
            let result = try await pair.gateway("poll --link \(Self.capture)")
            #expect(
                result.exitCode == 0 && result.output.contains("40 received") && !result.output.contains("own bottle"),
                "\(result.output)\(result.error)")
        }
        let live = try await pair.poll()
        #expect(
            live.exitCode == 0 && live.object["adopted"] as? Bool == true
                && live.object["bottle"] as? String == Self.address, "\(live.error)")
        // A poll of the capture succeeds although the capture is of another bottle.
        #expect(try await pair.gateway("poll --link \(Self.capture)").exitCode == 0)
        let doctor = try await pair.gateway("doctor --link \(pair.socket)")
        #expect(doctor.output.contains("bottles: \(Self.address)\n"), "\(doctor.output)")
    }

    /// A socket has no device address: a short connection identifies the bottle and reads none of its records.
    @Test func `scan and doctor report the owner of a bottle on a socket`() async throws {
        let pair = try await Pair(["--address", Self.address])
        func scan(_ more: String = "") async throws -> Program.Result {
            try await pair.gateway("scan --seconds 1 --link \(pair.socket) \(more)")
        }
        func doctor() async throws -> String { try await pair.gateway("doctor --link \(pair.socket)").output }
        try await pair.sip(150)
        let found = try await scan().output
        #expect(found.contains("  \(Self.address)  WaterH-Boost-24oz  ") && found.hasSuffix("  bottle\n"), "\(found)")
        #expect(try await doctor().contains(": a bottle is in range: WaterH-Boost-24oz\n"))
        _ = try await pair.gateway("adopt A4:C1:38:00:00:01")
        #expect(try await scan().output.contains("bottle, not adopted: waterh-gateway adopt \(Self.address)\n"))
        let other = try await doctor()
        #expect(
            other.contains(": a bottle that is not this store's is in range: WaterH-Boost-24oz\n")
                && other.contains("adopt \(Self.address)\n"), "\(other)")
        _ = try await pair.gateway("adopt \(Self.address)")
        #expect(try await doctor().contains(": this store's own bottle is in range: WaterH-Boost-24oz\n"))
        let line = try await scan("--json").object()
        #expect(
            line["own"] as? Bool == true && line["identity"] as? String == Self.address
                && line["name"] as? String == "WaterH-Boost-24oz")
        #expect(try await pair.poll().object["received"] as? Int == 1, "nothing was acknowledged")
    }

    /// CLI spec C2: a capture without a response differs from an absent bottle.
    @Test(arguments: [
        ("no-such.btsnoop", "poll", 2, "cannot open the capture"), (".", "scan", 4, "cannot replay the capture"),
        ("notes.txt", "send flash", 4, "cannot replay the capture"), ("empty", "poll", 4, "cannot replay the capture"),
    ])
    func `a capture without responses is invalid input`(file: String, verb: String, code: Int, words: String)
        async throws
    {
        let folder = try TemporaryFolder()
        try folder.write("Dear diary, today I drank a glass of water.\n", to: "notes.txt")
        try folder.write("", to: "empty")
        let result = try await Program.gateway.run(
            "\(verb) --link capture:\(file) --store s.sqlite", directory: folder.path)
        #expect(Int(result.exitCode) == code && result.output.isEmpty, "\(result.error)")
        #expect(result.error.contains("\(words) \(file): ") && result.error.contains("\n  "), "\(result.error)")
        #expect(!folder.has("s.sqlite"))
    }

    @Test func `doctor and send use the time zone of the poll`() async throws {
        let pair = try await Pair()
        let environment = ["TZ": "Africa/Abidjan", "HOME": pair.folder.path]
        try await pair.tracker("settings set day.zone Asia/Tokyo bottle.timeZone Pacific/Honolulu")
        let doctor = try await pair.gateway("doctor --link \(pair.socket)", environment: environment).output
        #expect(
            doctor.contains("time zone: Asia/Tokyo, now ")
                && doctor.contains("; the bottle's clock shows Pacific/Honolulu"), "\(doctor)")
        func offset(_ more: String = "", _ variables: [String: String] = [:]) async throws -> Double {
            let result = try await pair.gateway(
                "send --link \(pair.socket) --json clock \(more)", environment: environment.merging(variables) { $1 })
            let text = try #require(
                result.output.firstMatch(of: /set the clock to (\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})/),
                "\(result.output)\(result.error)")
            let date = try Date("\(text.1)T\(text.2)Z", strategy: .iso8601)
            return (date.timeIntervalSinceNow / 3600).rounded()
        }
        #expect(try await offset() == -10)
        // As in a poll, the time zone of the bottle's clock takes precedence over the zone of the days. The zone option
        // of the command takes precedence over both.
        #expect(try await offset("", ["WATERH_ZONE": "Asia/Dubai"]) == -10)
        #expect(try await offset("--zone Asia/Dubai") == 4)
    }

    @Test func `a released bottle is not polled until it is adopted again`() async throws {
        let pair = try await Pair(["--address", Self.address])
        try await pair.sip(150)
        #expect(try await pair.poll().object["new"] as? Int == 1)
        #expect(try await pair.gateway("adopt A4:C1:38:00:00:01").exitCode == 0)
        let config = try pair.configure("bottle = \"\(Self.address)\"")
        let named = try await Program.gateway.run("adopt --config \(config) --release \(Self.address)")
        named.expect(3, error: "the configuration names it")
        let released = try await pair.gateway("adopt --release \(Self.address.lowercased())")
        #expect(
            released.exitCode == 0 && released.output == "Released \(Self.address). Its drinks stay.\n",
            "\(released.error)")
        #expect(
            try await pair.gateway("adopt --release \(Self.address) --json").output
                == "{\"bottle\":\"\(Self.address)\",\"released\":false}\n")
        #expect(try await pair.gateway("adopt --release --as x \(Self.address)").exitCode == 2)
        #expect(try await pair.gateway("adopt --release A4:C1:38:00:00:78").exitCode != 0)
        try await pair.sip(160)
        let left = try await Program.gateway.run(pair.pollArguments)
        #expect(left.exitCode != 0 && left.error.contains(Self.address), "\(left.output) \(left.error)")
        // The bottle is adopted again with all records that it delivered, and the known records stay known.
        #expect(try await pair.gateway("adopt \(Self.address)").output == "Adopted \(Self.address).\n")
        let back = try await pair.poll()
        #expect(
            back.object["new"] as? Int == 1 && (back.object["state"] as? [String: Any])?["drinkCount"] as? Int == 2,
            "\(back.error)")
    }

    @Test func `an invalid store causes exit code 4 and no acknowledgement`() async throws {
        let pair = try await Pair()
        try await pair.sip(100)
        try pair.folder.write("this is no database, and it is longer than a header", to: "waterh.sqlite")
        let result = try await Program.gateway.run(pair.pollArguments)
        result.expect(4, error: pair.store)
        // The doctor reports it before the missing bottle.
        let doctor = try await pair.gateway("doctor --link unix:\(pair.folder.file("none.sock"))")
        doctor.expect(1, output: "BAD  store: ")
        // The cause of a missing system bus is printed by one check.
        let noBus = try await pair.gateway(
            "doctor --link bluez", environment: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent/bus"])
        #expect(noBus.output.components(separatedBy: "Failed to connect to socket").count == 2, "\(noBus.output)")
        try FileManager.default.removeItem(atPath: pair.store)
        #expect(try await pair.poll().object["new"] as? Int == 1)
    }

    @Test func `send prints the bottle's response and does not write to another bottle`() async throws {
        let pair = try await Pair(["--address", Self.address])
        let send = "send --link \(pair.socket) goal 1800 --json"
        #expect(try await Program.gateway.succeed(send).output.contains(#""answer":"52 50 00 04 03 05 07 08""#))
        #expect(try await pair.gateway("adopt A4:C1:38:01:02:03").exitCode == 0)
        let refused = try await pair.gateway(send)
        refused.expect(3, output: "", error: "Nothing was sent to it")
        #expect(try await pair.gateway("\(send) --bottle \(Self.address)").exitCode == 0)
        #expect(try await pair.gateway("adopt \(Self.address)").exitCode == 0)
        #expect(try await pair.gateway(send).exitCode == 0)
    }
}

@Suite struct GatewayDemoTests {
    @Test func `the demo's page shows a day in accelerated time`() async throws {
        let home = try Home(["WATERH_STORE": "", "WATERH_BOTTLE": "another"])
        let demo = try Program.gateway.start(
            "demo --port 0 --speed 1200 --control unix:\(home.folder.path)/c.sock", environment: home.environment,
            directory: home.folder.path)
        let line = try await demo.line { $0.hasPrefix("The page: ") }
        let link = try #require(line.firstMatch(of: /(http:\/\/127.0.0.1:\d+)\/sign-in#([0-9A-Z]{10})$/), "\(line)")
        let (curl, jar) = (Program.curl, home.folder.file("cookies"))
        let signedIn = try await curl.run([
            "-sS", "-c", jar, "--json", "{\"code\": \"\(link.2)\"}", "\(link.1)/api/v1/sign-in",
        ])
        #expect(signedIn.output.contains(#""scope":"admin""#), "\(signedIn.output)")
        let seen = try await event(within: 90) { () -> String? in
            let answer = try await curl.run("-sS -b \(jar) \(link.1)/api/v1/state").output
            return answer.contains(#""dailyTotalMl":"#) && !answer.contains(#""dailyTotalMl":0,"#) ? answer : nil
        }
        #expect(
            seen?.contains(#""speed":1200"#) == true && seen?.contains(#""setupDone":true"#) == true,
            "\(seen ?? "nothing") \(demo.error)")
        try await demo.stop()
    }

    /// SIGINT gives exit code 130, SIGTERM 0.
    @Test(arguments: [(SIGINT, 130), (SIGTERM, 0)] as [(Int32, Int32)]) func `a stopped demo removes its files`(
        _ signal: Int32, _ code: Int32
    ) async throws {
        let folder = try TemporaryFolder()
        let demo = try Program.gateway.start(
            "demo --control unix:\(folder.path)/c.sock", environment: ["HOME": folder.path, "TMPDIR": folder.path],
            directory: folder.path)
        // The printed commands have a path where PATH does not contain them.
        let sentence = try await demo.line { $0.contains("Ctrl-C ends") }
        let path = try #require(sentence.split(separator: " ").first { $0.hasSuffix("waterh-emulator") })
        #expect(access(String(path), X_OK) == 0 || Program(system: "waterh-emulator") != nil, "\(sentence)")
        let result = try await demo.stop(signal)
        #expect(result.exitCode == code && !result.signalled, "\(result.error)")
        // Without a runtime folder of a session, the user's own socket folder remains, empty.
        let left = try folder.names()
        #expect(left.allSatisfy { $0 == "waterh-\(geteuid())" }, "\(left)")
        for name in left { #expect(try folder.names(name).isEmpty) }
    }

    /// In a zone in which it is this hour now: drinks of the evening are not in the future.
    @Test(arguments: [6, 23]) func `demo --once polls twice and writes only to a temporary directory`(hour: Int)
        async throws
    {
        let (temporary, home) = (try TemporaryFolder(), try TemporaryFolder())
        let result = try await Program.gateway.succeed(
            "demo --once",
            environment: [
                "TMPDIR": temporary.path, "HOME": home.path, "XDG_STATE_HOME": home.path, "XDG_CONFIG_HOME": home.path,
                "WATERH_STORE": "", "WATERH_ZONE": "", "TZ": DueNow.zone(at: hour),
            ], directory: home.path)
        for words in ["Second poll:\n  0 new", "Today: ", "Last drink: just now."] {
            #expect(result.output.contains(words), "\(result.output)\(result.error)")
        }
        for folder in [temporary, home] { #expect(try folder.names().isEmpty) }
    }
}

/// No bottle responds at the radio links: the command rejects the request before it uses the link.
@Suite struct AdoptionCommandTests {
    @Test(
        arguments: [
            ("bluez", ["poll"]), ("hci:127.0.0.1:9", ["poll", "--json"]), ("esphome:127.0.0.1", ["send", "flash"]),
        ])
    func `a command without a terminal rejects an unnamed bottle`(_ link: String, _ words: [String]) async throws {
        let folder = try TemporaryFolder()
        let store = folder.file("w.sqlite")
        let result = try await Program.gateway.run(words + ["--link", link, "--store", store])
        result.expect(3, error: "no bottle")
        let options = "--store \(store) --link \(link)"
        #expect(result.error.contains("waterh-gateway poll \(options) --bottle ADDRESS\n"), "\(result.error)")
        #expect(result.error.contains("waterh-gateway scan \(options)\n"), "\(result.error)")
        #expect(!FileManager.default.fileExists(atPath: store))
    }

    @Test func `adopt sets the mode of the store for the first bottle and of the bottle for the second`() async throws {
        let home = try Home()
        func output(_ program: Program, _ line: String) async throws -> String {
            try await home.run(program, line).output
        }
        #expect(try await output(.gateway, "adopt A4:C1:38:00:00:01 --mode share") == "Adopted A4:C1:38:00:00:01.\n")
        let mode = "settings get bottle.mode"
        #expect(try await output(.tracker, mode) == "share\n")
        _ = try await output(.gateway, "adopt A4:C1:38:00:00:02 --mode take-over --json")
        #expect(try await output(.tracker, mode) == "share\n")
        #expect(try await output(.tracker, mode + " --bottle A4:C1:38:00:00:02") == "take-over\n")
    }

    @Test(arguments: [9, 31]) func `a command reports a limit of open files that is too low`(_ limit: Int) async throws
    {
        let folder = try TemporaryFolder()
        let gateway = Program.gateway.path
        let result = try await Program(path: "/bin/sh").run([
            "-c", "ulimit -n \(limit); exec \(gateway) poll --link unix:\(folder.path)/b.sock --store \(folder.path)/w",
        ])
        result.expect(1, error: "the limit of open files is \(limit)")
    }
}

@Suite struct FlightRecorderTests {
    @Test(.timeLimit(.minutes(1))) func `the trace of a failed poll is kept`() async throws {
        let pair = try await Pair(["--faults", "mtu=23"])
        try await pair.sip(120)
        let (folder, store) = (pair.folder, pair.store)
        // Traces of a clock that was ahead, and files of the user. New traces and the user's files remain, and the
        // report does not have the latter.
        let kept = "waterh.sqlite-polls"
        let ahead = (10...25).map { "202811\($0)T120000000" }
        for name in ahead + ["0-my-own"] { try folder.write("x", to: "\(kept)/\(name).btsnoop") }
        try folder.write("what my physician said", to: "\(kept)/0-my-own.txt")
        chmod(folder.file(kept), 0o700)
        let service = try Program.gateway.start("run --link \(pair.socket) --store \(store) --listen off")
        func names() -> [String] { (try? folder.names(kept)) ?? [] }
        // The text file of the trace is written last.
        let isKept = await eventually(within: 40) { names().contains { $0 != "0-my-own.txt" && $0.hasSuffix(".txt") } }
        service.send(signal: SIGTERM)
        let result = try await service.finish(limit: 20)
        try #require(isKept, "\(names()) \(result.error)")
        let captures = names().filter { $0.hasSuffix(".btsnoop") }
        let capture = try #require(captures.first { !$0.hasPrefix("2028") && !$0.hasPrefix("0-") })
        #expect(captures.count == 17 && captures.contains("0-my-own.btsnoop"), "\(captures)")
        #expect(try folder.mode(kept) == 0o700 && folder.mode("\(kept)/\(capture)") == 0o600)
        let att = try await Program.replay.run(["att", folder.file("\(kept)/\(capture)")])
        att.expect(0, output: "Notification")
        try await Program.gateway.succeed("report --store \(store) -o \(folder.file("r.tar.gz"))")
        let tar = try #require(Program(system: "tar"))
        let polls = try await tar.run(["-xzOf", folder.file("r.tar.gz"), "waterh-report/polls.txt"])
        #expect(
            polls.output.contains("Unexpected bottle response") && polls.output.contains(capture)
                && !polls.output.contains("physician") && !polls.output.contains("my-own"), "\(polls.output)")
    }
}
