import CommandSupport
import Foundation
import Support
import Testing

@Suite struct ConfigurationEffectTests {
    private enum Observation {
        /// The service's first line that begins with one of these texts, up to the given text.
        case service([String], until: String)
        /// The output of this `waterh-tracker` command line.
        case tracker(String)
        /// The HTTP response to this request, up to its status, for a client on another host.
        case page(String)
    }

    /// Two values (`nil`: not set), and the observation that shows which one is in effect. SOCKET and FOLDER are
    /// placeholders for paths.
    private static let effects: [String: (values: [String?], observation: Observation)] = [
        "link": (["\"SOCKET\"", "\"unix:/nowhere\""], .service(["1 received", "error"], until: ":")),
        "bottle": ([nil, "\"WaterH-Nobody\""], .service(["1 received", "error"], until: ":")),
        "bottles": ([nil, "[\"A4:C1:38:00:00:99\"]"], .service(["1 received", "error"], until: ":")),
        "store": (
            ["\"FOLDER/one.sqlite\"", "\"FOLDER/two.sqlite\""], .tracker("check --doctor --now 2026-06-15T12:00:00Z")
        ), "zone": (["\"Asia/Tokyo\"", "\"America/New_York\""], .tracker("status --now 2026-06-15T12:00:00Z")),
        "dialect": ([nil, "\"strict\""], .service(["Today:"], until: " /")),
        "keep": ([nil, "true"], .service(["1 received"], until: " Today")),
        "listen": (["\"127.0.0.1:0\"", "\"127.0.0.2:0\""], .service(["127.0.0.1:", "127.0.0.2:"], until: ":")),
        "units": ([nil, "\"oz\""], .tracker("status --now 2026-06-15T12:00:00Z")),
        "share-waterline": ([nil, "true"], .page("-H Authorization:TOKEN")),
        "mqtt": (
            ["{ url = \"mqtt://127.0.0.1:9\" }", "{ url = \"mqtt://127.0.0.1:10\" }"],
            .service(["MQTT: "], until: " cannot")
        ),
        "postgres": (
            ["{ url = \"postgresql:///d?host=/nowhere/a\" }", "{ url = \"postgresql:///d?host=/nowhere/b\" }"],
            .service(["PostgreSQL: "], until: " failed")
        ),
        "ntfy": (
            ["{ url = \"https://ntfy.example/a\" }", "{ url = \"https://ntfy.test/a\" }"],
            .service(["Notifications go to"], until: " [")
        ),
        "webhook": (
            ["{ url = \"https://hook.example/a\" }", "{ url = \"https://hook.test/a\" }"],
            .service(["Notifications go to"], until: " [")
        ),
        "public-url": (
            ["a", "b"].map { "\"https://\($0).example\"\nntfy = { url = \"https://ntfy.example/a\" }" },
            .service(["Notifications go to"], until: " [")
        ), "trust-clock": ([nil, "true"], .service(["Service on"], until: " [")),
        "allow-power-cycle": ([nil, "true"], .service(["Service on"], until: " [")),
    ]

    @Test(arguments: Configuration.keys) func `every configuration key has an observable effect`(_ key: String)
        async throws
    {
        let (values, observation) = try #require(
            Self.effects[key], "\(key) has no observation: wire it up, or delete it")
        var observed: [String] = []
        for value in values { observed.append(try await observe(observation, key, value)) }
        #expect(observed[0] != observed[1], "\(key) changes nothing in: \(observed[0])")
    }

    @Test func `removed settings in a backup are skipped with one line`() async throws {
        let folder = try TemporaryFolder()
        let (store, backup) = (folder.file("w.sqlite"), folder.file("b.sqlite"))
        func tracker(_ arguments: String...) async throws -> Program.Result {
            try await Program.tracker.run(arguments + ["--store", store])
        }
        try await Release09Store.unpack(to: backup)
        let restored = try await tracker("restore", backup, "--yes")
        #expect(restored.exitCode == 0, "\(restored.error)")
        let line = """
            Skipped settings removed in 0.10: gotify.token, gotify.url, notify.tray, push.contact, webhook.templateFile.
            """
        #expect(restored.error.contains(line), "\(restored.error)")
        let refused = try await tracker("settings", "set", "push.contact", "x")
        #expect(refused.exitCode != 0 && refused.error.contains("unknown setting 'push.contact': removed in 0.10"))
        #expect(try await tracker("export", "--json", "--output", folder.file("all")).output == "{\"drinks\":3964}\n")
    }

    @Test func `a store of 0.9 is converted by a poll without loss or doubled drinks`() async throws {
        let folder = try TemporaryFolder()
        let store = folder.file("w.sqlite")
        try await Release09Store.unpack(to: store)
        let environment = ["WATERH_STORE": store, "WATERH_ZONE": "Europe/Berlin"]
        func history() async throws -> String {
            try await Program.tracker.run("history --json --now 2026-11-22T23:08", environment: environment).output
        }
        let read = try await history()
        #expect(read.contains(#""day":"2026-11-20","goalMl":2500,"totalMl":3896"#) && read.contains("12876"), "\(read)")
        let capture = "capture:" + ReplayCommandTests.twoDays
        let poll = try await Program.gateway.run(
            ["poll", "--link", capture], environment: environment.merging(["WATERH_NOW": "2026-11-22T23:00"]) { $1 })
        poll.expect(0, error: "Skipped settings removed in 0.10")
        #expect(try await history() == read)
        try await Program.tracker.succeed(["status", "--store", store + "-schema-30"], environment: environment)
    }

    private func observe(_ observation: Observation, _ key: String, _ value: String?) async throws -> String {
        let home = try Home(["WATERH_STORE": "", "WATERH_ZONE": "", "WATERH_LISTEN": key == "listen" ? "" : "off"])
        let folder = home.folder
        var pair: Pair?
        if case .service = observation { pair = try await Pair(["--name", "WaterH-Boost-24oz"]) }
        var file = ["link": "\"SOCKET\"", "store": "\"FOLDER/w.sqlite\""]
        file[key] = value
        let text = file.map { "\($0) = \($1)\n" }.joined().replacing(
            "SOCKET", with: pair?.socket ?? "unix:\(folder.file("none.sock"))")
        try folder.write(text.replacing("FOLDER", with: folder.path), to: "config/waterh/waterh.toml")
        func serve(_ more: String = "") throws -> RunningProgram {
            try Program.gateway.start(
                "run --verbose --config \(folder.file("config/waterh/waterh.toml")) \(more)",
                environment: home.environment)
        }
        switch observation {
        case .tracker(let line):
            try await home.tracker("log 200 --at 2026-06-15T09:00:00Z")
            let result = try await home.tracker(line)
            return (result.output + result.error).replacing(folder.path, with: "~")
        case .page(let arguments):
            let token = try await home.tracker("token --store \(folder.file("w.sqlite"))").lines[0]
            let service = try serve("--listen 127.0.0.1:0")
            defer { service.send(signal: SIGTERM) }
            let more = arguments.split(separator: " ").map { String($0).replacing("TOKEN", with: " Bearer \(token)") }
            return try await Program.curl.run(
                ["-s", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "20"] + more + [
                    service.page() + "api/v1/presets"
                ]
            ).output
        case .service(let beginnings, let end):
            let pair = try #require(pair)
            try await pair.sip(300)
            let service = try serve()
            defer { service.send(signal: SIGTERM) }
            let line = await event(within: 30) {
                service.error.split(separator: "\n").lazy.compactMap { line in
                    beginnings.compactMap { line.range(of: $0).map { line[$0.lowerBound...] } }.first
                }.first
            }
            let text = try #require(line, "\(service.error)")
            let start = String(text[..<(try #require(text.range(of: end), "\(text)").lowerBound)])
            return start.replacing(folder.path, with: "~").replacing(pair.folder.path, with: "~")
        }
    }
}

@Suite struct SeveralServicesTests {
    private static let list = """
        link = "bluez:hci0"
        share-waterline = true
        [mqtt]
        url = "mqtt://broker"
        [[person]]
        name = "anna"
        store = "/var/lib/waterh/anna.sqlite"
        goal = 2200
        bottles = ["A4:C1:38:01:02:03"]
        [[person]]
        name = "ben"
        store = "/srv/ben.sqlite"
        bottles = ["A4:C1:38:01:02:04", "Blue"]
        link = "bluez:hci1"
        share-waterline = false
        [person.ntfy]
        url = "https://ntfy.example/bens-water"
        """

    @Test func `a list of people becomes one configuration per person`() throws {
        let parts = try #require(try SplitConfiguration(text: Self.list, name: "waterh.toml")).parts
        #expect(parts.map(\.name) == ["anna", "ben"])
        let (anna, ben) = (
            try Configuration(text: parts[0].text, name: "anna"), try Configuration(text: parts[1].text, name: "ben")
        )
        #expect(
            anna.store == "/var/lib/waterh/anna.sqlite" && anna.link == "bluez:hci0" && anna.listen == nil
                && anna.bottles == ["A4:C1:38:01:02:03"] && anna.shareWaterline == true
                && anna.settings == ["mqtt.url": "mqtt://broker"])
        #expect(
            ben.store == "/srv/ben.sqlite" && ben.link == "bluez:hci1" && ben.listen == "127.0.0.1:8078"
                && ben.bottles == ["A4:C1:38:01:02:04", "Blue"] && ben.shareWaterline == false
                && ben.settings == ["mqtt.url": "mqtt://broker", "ntfy.url": "https://ntfy.example/bens-water"])
        #expect(try SplitConfiguration(text: "link = \"bluez\"", name: "waterh.toml") == nil)
    }

    @Test(arguments: [
        ("person = \"anna\"", "[[person]]"), ("[person]\nname = \"anna\"", "[[person]]"),
        ("[[person]]\nstore = \"/s/a\"", "'name' of person 1"), ("[[person]]\nname = \"anna\"", "'store' of person 1"),
        ("[[person]]\nname = \"../anna\"\nstore = \"/s/a\"", "'name' of person 1"),
        ("[[person]]\nname = \"waterh\"\nstore = \"/s/a\"", "'name' of person 1"),
        (
            "[[person]]\nname = \"a\"\nstore = \"/s/a\"\n[[person]]\nname = \"a\"\nstore = \"/s/b\"",
            "'name' of person 2"
        ),
        (
            "[[person]]\nname = \"a\"\nstore = \"/s/a\"\n[[person]]\nname = \"b\"\nstore = \"/s/a\"",
            "'store' of person 2"
        ),
    ])
    func `an invalid list of people names the entry`(_ text: String, _ expectedText: String) {
        let failure = #expect(throws: CommandFailure.self) { try Configuration(text: text, name: "waterh.toml") }
        #expect(
            failure?.status == .badInput && failure?.sentence.contains(expectedText) == true,
            "\(failure?.sentence ?? "")")
    }

    @Test func `a service with [[person]] does not start and prints the replacement`() async throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.list, to: "waterh.toml")
        let result = try await Program.gateway.run("run --config \(folder.file("waterh.toml"))")
        // RestartPreventExitStatus of the unit.
        #expect(result.exitCode == 4)
        for text in [
            "Write /etc/waterh/anna.toml:", "Write /etc/waterh/ben.toml:",
            "systemctl enable --now waterh-gateway@anna\n", "systemctl enable --now waterh-gateway@ben\n",
        ] { #expect(result.error.contains(text), "\(result.error)") }
    }

    @Test func `split-people writes the configurations and keeps existing files`() async throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.list, to: "waterh.toml")
        chmod(folder.file("waterh.toml"), 0o640)
        try folder.write("# mine\n", to: "ben.toml")
        func split() async throws -> Program.Result {
            try await Program.gateway.run(
                "split-people --config \(folder.file("waterh.toml"))",
                environment: ["CONFIGURATION_DIRECTORY": folder.path])
        }
        for _ in 0..<2 {
            let result = try await split()
            #expect(result.exitCode == 0 && result.output == "anna\nben\n", "\(result.error)")
        }
        #expect(try folder.text("ben.toml") == "# mine\n")
        let anna = try Configuration.load(folder.file("anna.toml"))
        var status = stat()
        #expect(stat(folder.file("anna.toml"), &status) == 0 && status.st_mode & 0o777 == 0o640)
        #expect(anna.store == "/var/lib/waterh/anna.sqlite")
        try folder.write("link = \"bluez\"\n", to: "waterh.toml")
        #expect(try await split().output.isEmpty)
    }

    @Test func `two instances poll their own bottles only`() async throws {
        let home = try Home(["WATERH_STORE": "", "WATERH_ZONE": ""])
        let folder = home.folder
        let pairs = [
            "anna": try await Pair(["--address", "A4:C1:38:00:00:01"]),
            "ben": try await Pair(["--address", "A4:C1:38:00:00:02"]),
        ]
        func environment(_ name: String) -> [String: String] {
            home.with(["CONFIGURATION_DIRECTORY": folder.path, "WATERH_INSTANCE": name]).environment
        }
        func write(_ name: String, _ more: String) throws {
            let text = """
                link = "\(pairs[name]?.socket ?? "")"
                store = "\(folder.file("\(name).sqlite"))"
                listen = "127.0.0.1:0"
                \(more)
                """
            try folder.write(text, to: "\(name).toml")
        }
        func total(_ name: String) async throws -> Int? {
            try await Program.tracker.run("status --json", environment: environment(name)).output.jsonObject?[
                "dailyTotalMl"] as? Int
        }
        try write("anna", "bottle = \"A4:C1:38:00:00:01\"")
        try write("ben", "")
        try await pairs["anna"]?.sip(110)
        try await pairs["ben"]?.sip(220)
        var services: [String: RunningProgram] = [:]
        for name in ["anna", "ben"] {
            services[name] = try Program.gateway.start("run --verbose", environment: environment(name))
        }
        #expect(try await eventually(within: 60) { try await total("anna") == 110 })
        // The bottle of one service is rejected by every other store.
        let link = pairs["anna"]?.socket ?? ""
        for words in [
            ["poll", "--link", link], ["poll", "--link", link, "--bottle", "A4:C1:38:00:00:01"],
            ["adopt", "A4:C1:38:00:00:01"],
        ] {
            let taken = try await Program.gateway.run(
                words + ["--store", folder.file("other.sqlite")],
                environment: environment("ben").merging(["WATERH_INSTANCE": ""]) { $1 })
            taken.expect(3, error: "belongs to another gateway")
        }
        try await Program.gateway.succeed("adopt A4:C1:38:00:00:02", environment: environment("ben"))
        try await Program.gateway.succeed("nudge", environment: environment("ben"))
        #expect(try await eventually(within: 60) { try await total("ben") == 220 })
        #expect(try await total("anna") == 110)
        for service in services.values {
            service.send(signal: SIGTERM)
            let result = try await service.finish(limit: 20)
            #expect(result.exitCode == 0 && !result.error.contains("error: "), "\(result.error)")
        }
    }
}
