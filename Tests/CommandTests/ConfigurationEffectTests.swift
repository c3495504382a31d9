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
        ),
        "zone": (["\"Asia/Tokyo\"", "\"America/New_York\""], .tracker("status --now 2026-06-15T12:00:00Z")),
        "dialect": ([nil, "\"strict\""], .service(["Today:"], until: " /")),
        "keep": ([nil, "true"], .service(["1 received"], until: " Today")),
        "listen": (["\"127.0.0.1:0\"", "\"127.0.0.2:0\""], .service(["127.0.0.1:", "127.0.0.2:"], until: ":")),
        "units": ([nil, "\"oz\""], .tracker("status --now 2026-06-15T12:00:00Z")),
        "share-waterline": ([nil, "true"], .page("-H Authorization:TOKEN")),
        "mqtt": (
            ["{ url = \"mqtt://127.0.0.1:9\" }", "{ url = \"mqtt://127.0.0.1:10\" }"],
            .service(["MQTT: "], until: " cannot")
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
        ),
        "trust-clock": ([nil, "true"], .service(["Service on"], until: " [")),
        "allow-power-cycle": ([nil, "true"], .service(["Service on"], until: " [")),
    ]

    @Test(arguments: Configuration.keys) func `every configuration key has an observable effect`(_ key: String)
        async throws
    {
        let (values, observation) = try #require(
            Self.effects[key], "\(key) has no observation: wire it up, or delete it")
        var seen: [String] = []
        for value in values + [values[0]] { seen.append(try await look(observation, key, value)) }
        #expect(seen[0] != seen[1], "\(key) changes nothing in: \(seen[0])")
        #expect(seen[0] == seen[2], "the observation says something else each time")
    }

    @Test(arguments: [
        ("gotify", "[gotify]\nurl = \"https://gotify.example\"\n"),
        ("webhook.template-file", "[webhook]\nurl = \"https://hook.example\"\ntemplate-file = \"/nowhere\"\n"),
    ])
    func `a removed key prints one warning and is ignored`(key: String, text: String) async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("waterh.toml")
        try Data("store = \"\(folder.file("w.sqlite"))\"\n\(text)".utf8).write(to: URL(fileURLWithPath: file))
        let result = try await Program("waterh-tracker").run(["log", "200", "--config", file])
        #expect(result.exitCode == 0, "\(result.error)")
        #expect(
            result.error.components(separatedBy: "unknown key '\(key)' in \(file): removed in 0.10").count == 2,
            "\(result.error)")
    }

    @Test func `removed settings in a backup are skipped with one line`() async throws {
        let folder = try TemporaryFolder()
        let (store, backup) = (folder.file("w.sqlite"), folder.file("b.sqlite"))
        func tracker(_ arguments: String...) async throws -> Program.Result {
            try await Program("waterh-tracker").run(arguments + ["--store", store])
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
            try await Program("waterh-tracker").run(
                ["history", "--json", "--now", "2026-11-22T23:08"], environment: environment
            ).output
        }
        let read = try await history()
        #expect(read.contains(#""day":"2026-11-20","goalMl":2500,"totalMl":3896"#) && read.contains("12876"), "\(read)")
        let capture = "capture:" + Program.repository + "/captures/boost_two-days.btsnoop"
        let poll = try await Program("waterh-gateway").run(
            ["poll", "--link", capture], environment: environment.merging(["WATERH_NOW": "2026-11-22T23:00"]) { $1 })
        #expect(poll.exitCode == 0 && poll.error.contains("Skipped settings removed in 0.10"), "\(poll.error)")
        #expect(try await history() == read)
        let kept = try await Program("waterh-tracker").run(
            ["status", "--store", store + "-schema-30"], environment: environment)
        #expect(kept.exitCode == 0, "\(kept.error)")
    }

    private func look(_ observation: Observation, _ key: String, _ value: String?) async throws -> String {
        let pair = try await Pair(["--name", "WaterH-Boost-24oz"])
        let folder = pair.folder
        var file = ["link": "\"SOCKET\"", "store": "\"FOLDER/w.sqlite\""]
        file[key] = value
        let text = file.map { "\($0) = \($1)\n" }.joined().replacing("SOCKET", with: pair.socket).replacing(
            "FOLDER", with: folder.path)
        try FileManager.default.createDirectory(at: folder.url("config/waterh"), withIntermediateDirectories: true)
        let path = folder.file("config/waterh/waterh.toml")
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        let environment = [
            "XDG_CONFIG_HOME": folder.file("config"), "XDG_STATE_HOME": folder.file("state"), "HOME": folder.path,
            "WATERH_STORE": "", "WATERH_ZONE": "", "WATERH_LINK": "", "WATERH_BOTTLE": "",
            "WATERH_LISTEN": key == "listen" ? "" : "off", "DBUS_SESSION_BUS_ADDRESS": "",
        ]
        switch observation {
        case .tracker(let line):
            _ = try await Program("waterh-tracker").run(
                ["log", "200", "--at", "2026-06-15T09:00:00Z"], environment: environment)
            let result = try await Program("waterh-tracker").run(
                line.split(separator: " ").map(String.init), environment: environment)
            return (result.output + result.error).replacing(folder.path, with: "~")
        case .page(let arguments):
            let token = try await Program("waterh-tracker").run(
                ["token", "--store", folder.file("w.sqlite")], environment: environment
            ).output.split(separator: "\n")[0]
            let service = try Program("waterh-gateway").start(
                ["run", "--verbose", "--listen", "127.0.0.1:0", "--config", path], environment: environment)
            defer { service.send(signal: SIGTERM) }
            let said = await event(within: 30) {
                service.error.firstMatch(of: /http:\/\/[0-9.:]+\//).map { String($0.0) }
            }
            let page = try #require(said, "\(service.error)")
            let more = arguments.split(separator: " ").map { String($0).replacing("TOKEN", with: " Bearer \(token)") }
            let reply = try await Program(path: "/usr/bin/curl").run(
                ["-s", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "20", page + "api/v1/presets"] + more)
            return reply.output
        case .service(let beginnings, let end):
            try await pair.sip(300)
            let service = try Program("waterh-gateway").start(
                ["run", "--verbose", "--config", path], environment: environment)
            defer { service.send(signal: SIGTERM) }
            let said = await event(within: 30) {
                service.error.split(separator: "\n").lazy.compactMap { line in
                    beginnings.compactMap { line.range(of: $0).map { line[$0.lowerBound...] } }.first
                }.first
            }
            let words = try #require(said, "\(service.error)")
            return String(words[..<(words.range(of: end)?.lowerBound ?? words.endIndex)]).replacing(
                folder.path, with: "~")
        }
    }
}
