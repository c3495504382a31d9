import CommandSupport
import Foundation
import Support
import Testing

@Suite struct GatewayServiceTests {
    @Test func `the service polls, reloads and stops`() async throws {
        let pair = try await Pair()
        let config = try pair.configure()
        try await pair.sip(120)
        let service = try Program.gateway.start("run --config \(config)")
        await service.says("1 received: 1 new")
        // One line at the start: the store's path and the link.
        let started = service.error.split(separator: "\n").filter {
            $0.contains("uses the store \(pair.store); bottles over \(pair.socket); page: ")
        }
        #expect(started.count == 1 && service.error.contains("waterh-bench"), "\(service.error)")
        try await pair.sip(130)
        service.send(signal: SIGHUP)
        await service.says("SIGHUP: polling now.")
        await service.says("Today: 250 ml")
        let result = try await service.stop()
        #expect(!result.error.contains("error: "), "a clean stop is no error: \(result.error)")
    }

    @Test func `a removed configuration key causes one warning on standard error and in the log`() async throws {
        let pair = try await Pair()
        let config = try pair.configure("[fleet]\nurl = \"https://fleet.example\"")
        let warning = "unknown key 'fleet' in \(config): removed in 0.10"
        for (program, command) in [(Program.gateway, "poll"), (.tracker, "status")] {
            let result = try await program.succeed("\(command) --config \(config)")
            #expect(result.error.components(separatedBy: "warning: \(warning)\n").count == 2, "\(result.error)")
        }
        let service = try Program.gateway.start("run --listen off --config \(config)")
        await service.says("uses the store")
        let result = try await service.stop()
        #expect(result.error.components(separatedBy: warning).count == 2, "\(result.error)")
    }

    /// `poll` reads the configuration as `run` does: with `keep` it acknowledges nothing, and a configured bottle is
    /// the one that it polls. An option takes precedence.
    @Test func `poll uses the configuration file`() async throws {
        let pair = try await Pair()
        try await pair.sip(90)
        func poll(_ text: String) async throws -> Program.Result {
            try pair.folder.write("link = \"unix:/nowhere\"\n\(text)", to: "waterh.toml")
            return try await pair.gateway(
                "poll --json --config \(pair.folder.file("waterh.toml")) --link \(pair.socket)")
        }
        let kept = try await poll("keep = true\n")
        kept.expect(0, output: #""acknowledged":0"#, #""new":1"#)
        let other = try await poll("bottle = \"A4:C1:38:00:00:99\"\n")
        #expect(other.exitCode == 5, "\(other.output)")
        let all = try await poll("")
        #expect(all.output.contains(#""acknowledged":1"#), "\(all.error)")
    }

    /// The lines have a priority for the journal, or are JSON objects.
    @Test(arguments: [
        ("waterh-emulator", "run --link unix:/proc/nonexist/b.sock"),
        ("waterh-gateway", "run --link nonsense: --listen off"), ("waterh-tracker", "agent --config /proc/nonexist"),
    ])
    func `the log format follows the configuration`(_ program: String, _ line: String) async throws {
        let home = try Home()
        let journal = try await home.run(Program(program), line + " --log-format journal")
        #expect(
            journal.exitCode != 0 && journal.error.split(separator: "\n").contains { $0.hasPrefix("<3>") },
            "\(journal.error)")
        #expect(journal.error.split(separator: "\n").allSatisfy { $0.hasPrefix("<") }, "\(journal.error)")
        let json = try await home.run(Program(program), line + " --log-format json")
        let lines = json.error.split(separator: "\n")
        let objects = lines.compactMap { $0.jsonObject as? [String: String] }
        #expect(objects.count == lines.count && objects.contains { $0["level"] == "error" }, "\(json.error)")
    }

    @Test func `every specified log key appears`() async throws {
        let specification = try Program.repositoryText(
            "Sources/CommandSupport/CommandSupport.docc/Commands.md")
        let list = try #require(
            specification.firstMatch(of: /as JSON its keys are ((?:[^.]|\n)*)\./).map { String($0.1) })
        let keys = Set(list.matches(of: /`([a-z]+)`/).map { String($0.1) })
        #expect(keys.count == 11)
        let pair = try await Pair()
        try await pair.sip(90)
        let config = try pair.configure("bottles = [\"WaterH-Boost-24oz\", \"A4:C1:38:00:00:02\"]")
        let service = try Program.gateway.start(
            "run --config \(config) --listen off --log-format json", environment: ["HOME": pair.folder.path])
        /// Each line is an object.
        func lines() -> [[String: String]] {
            service.error.split(separator: "\n").compactMap { $0.jsonObject as? [String: String] }
        }
        #expect(
            await eventually(within: 40) {
                lines().contains { $0["received"] == "1" } && lines().contains { $0["code"] != nil }
            }, "\(service.error)")
        try await service.stop()
        #expect(lines().count == service.error.split(separator: "\n").count, "\(service.error)")
        #expect(lines().reduce(into: Set<String>()) { $0.formUnion($1.keys) } == keys, "\(service.error)")
        let brought = try #require(lines().first { $0["received"] == "1" })
        #expect(
            brought["link"] == pair.socket && brought["level"] == "notice" && brought["poll"] != nil
                && brought["bottle"] != nil)
        #expect(brought["new"] == "1" && brought["known"] == "0" && brought["acknowledged"] == "1", "\(brought)")
        let failed = try #require(lines().first { $0["code"] != nil })
        #expect(failed["link"] == pair.socket && failed["level"] == "error" && failed["poll"] != nil, "\(failed)")
    }

    @Test(arguments: [
        "link = ", "link = 3", "keep = \"yes\"", "dialect = \"lunar\"", "zone = \"Mars/X\"", "listen = \"8077\"",
        "colour = \"blue\"", "[[[person]]", "[=]", " [ [person]]", "[[", "[\u{e9}]", "[.a]", "[a.=]", "[[a.[]]",
        "a" + String(repeating: ".a", count: 40_000) + " = 1", "[a" + String(repeating: ".a", count: 40_000) + "]",
    ])
    func `an invalid configuration is rejected`(_ text: String) {
        let failure = #expect(throws: CommandFailure.self) { try Configuration(text: text, name: "waterh.toml") }
        #expect(failure?.status == .badInput && failure?.sentence.contains("waterh.toml") == true)
    }
}

@Suite struct ServiceChangeTests {
    /// `/etc/localtime` changes while the service runs, and `TZ` is not set.
    @Test(.enabled(if: MountNamespace.unshareOptions != nil, "this machine permits no mount namespace"))
    func `a running service follows the system time zone`() async throws {
        let pair = try await Pair(["--profile", "draft"])
        let etc = pair.folder.url("etc")
        func travel(to zone: String) throws {
            let link = etc.appendingPathComponent("localtime").path
            try? FileManager.default.removeItem(atPath: link)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/usr/share/zoneinfo/\(zone)")
        }
        // The service has a mount namespace with a copy of /etc.
        let words = try #require(MountNamespace.unshareOptions)
        let copy = try await #require(Program(system: "sh")).run(["-c", "cp -a /etc \"$0\" 2>&1 || true", etc.path])
        #expect(copy.exitCode == 0)
        try travel(to: "Asia/Tokyo")
        try await pair.sip(120)
        let service = try #require(Program(system: "unshare")).start(
            words + [
                "sh", "-c", "unset TZ; mount --bind \"$0\" /etc && exec \"$@\"", etc.path, Program.gateway.path, "run",
                "--link", pair.socket, "--store", pair.store,
            ])
        await service.says("1 received: 1 new")
        try travel(to: "America/New_York")
        try await pair.sip(130)
        service.send(signal: SIGHUP)
        #expect(
            await eventually(within: 30) { service.error.components(separatedBy: "1 new").count > 2 },
            "\(service.error)")
        try await service.stop()
        let rows = try await pair.tracker("export --format json")
        #expect(rows.output.contains("Asia/Tokyo") && rows.output.contains("America/New_York"), "\(rows.output)")
    }

    @Test func `the service uses a zone that another program sets`() async throws {
        let pair = try await Pair()
        try await pair.sip(120)
        let service = try pair.serve()
        await service.says("1 received: 1 new")
        // A setting that another program changes applies from the next poll. A drink keeps the zone of its poll.
        try await pair.tracker("settings set day.zone America/New_York health.enabled true")
        try await pair.sip(130)
        service.send(signal: SIGHUP)
        #expect(
            await eventually(within: 30) {
                service.error.contains("250 ml") || service.error.components(separatedBy: "1 new").count > 2
            })
        #expect(try await service.stop(SIGINT).exitCode == 130)
        let rows = try await pair.tracker("export --format json")
        #expect(
            rows.output.contains("America/New_York") || rows.output.contains("-04:00")
                || rows.output.contains("-05:00"), "\(rows.output)")
        // The commit of a poll updates the status files next to the store, as a command does.
        let beside =
            FileManager.default.enumerator(atPath: pair.folder.path)?.allObjects.compactMap { $0 as? String } ?? []
        #expect(beside.contains { $0.hasSuffix("drinks.csv") }, "\(beside)")
    }
}
