import Foundation
import Store
import Support
import Testing

@testable import CommandSupport

@Suite struct ReadOnlyTests {
    /// Runs a command with a home of its own.
    private func run(
        _ program: String, _ arguments: String, in home: TemporaryFolder, _ environment: [String: String] = [:]
    ) async throws -> Program.Result {
        try await Program(program).run(
            arguments.split(separator: " ").map(String.init),
            environment: [
                "HOME": home.path, "XDG_STATE_HOME": home.file("state"), "XDG_CONFIG_HOME": home.file("config"),
                "TZ": "Europe/Berlin",
                "DBUS_SESSION_BUS_ADDRESS": "",
            ].merging(environment) { $1 }, directory: home.path)
    }

    /// Every read-only subcommand, in a home without a store, and next to an empty file.
    @Test(arguments: [
        "status", "status --json", "status --format waybar", "history", "history --day today",
        "history --month 2026-06", "streak",
        "session list", "session show", "preset list", "preset", "settings get", "settings hydration.goalMl",
        "token list", "export",
        "export --format json", "check --doctor", "why", "why --at 12:00 --json",
    ])
    func `reading subcommands create no store`(_ verb: String) async throws {
        let home = try TemporaryFolder()
        let result = try await run("waterh-tracker", verb, in: home)
        #expect(
            [0, 3].contains(result.exitCode) && result.error.contains(" yet: the output is that of an empty store"),
            "\(result.error)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: home.path).isEmpty)
        try Data().write(to: home.url("empty"))
        _ = try await run("waterh-tracker", verb + " --store empty", in: home)
        #expect(try FileManager.default.contentsOfDirectory(atPath: home.path) == ["empty"])
        #expect(try Data(contentsOf: home.url("empty")).isEmpty)
    }

    @Test func `doctor creates no store`() async throws {
        let home = try TemporaryFolder()
        try Data().write(to: home.url("empty"))
        let result = try await run("waterh-gateway", "doctor --store empty --link unix:nowhere", in: home)
        #expect(result.output.contains("empty is empty; the first poll creates a store in it"), "\(result.output)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: home.path) == ["empty"])
        #expect(try Data(contentsOf: home.url("empty")).isEmpty)
    }

    @Test func `a new store is private`() async throws {
        let home = try TemporaryFolder()
        // The folder can exist from an older version.
        try FileManager.default.createDirectory(atPath: home.file("state/waterh"), withIntermediateDirectories: true)
        chmod(home.file("state/waterh"), 0o755)
        #expect(try await run("waterh-tracker", "log 250", in: home).exitCode == 0)
        let files = FileManager.default
        #expect(try files.attributesOfItem(atPath: home.file("state/waterh"))[.posixPermissions] as? Int == 0o700)
        #expect(
            try files.attributesOfItem(atPath: home.file("state/waterh/waterh.sqlite"))[.posixPermissions] as? Int
                == 0o600)
        #expect(try files.contentsOfDirectory(atPath: home.file("state/waterh")) == ["waterh.sqlite"])
    }

    @Test(arguments: [
        ("waterh-tracker", "logg 250"), ("waterh-tracker", "preset ad X"), ("waterh-tracker", "frobnicate"),
        ("waterh-tracker", "--store x log 250"), ("waterh-gateway", "polll"), ("waterh-gateway", "docter --json"),
        ("waterh-replay", "drink x.btsnoop"), ("waterh-emulator", "rnu"),
    ])
    func `an unknown subcommand is wrong use`(_ program: String, _ arguments: String) async throws {
        let result = try await run(program, arguments, in: try TemporaryFolder())
        #expect(
            result.exitCode == 2 && result.output.isEmpty && result.error.contains("Usage: \(program)"),
            "\(result.error)")
    }

    @Test func `a default subcommand takes words that name no subcommand`() async throws {
        let home = try TemporaryFolder()
        #expect(try await run("waterh-tracker", "settings hydration.goalMl", in: home).output == "2500\n")
        #expect(try await run("waterh-tracker", "session 3f2a", in: home).exitCode == 3)
        let wrong = try await run("waterh-tracker", "settings hydration.goalMl --bad", in: home)
        #expect(wrong.exitCode == 2 && wrong.error.contains("--bad"))
    }

    @Test(arguments: ["waterh-emulator", "waterh-gateway", "waterh-replay", "waterh-tracker"])
    func `every program prints its version`(_ program: String) async throws {
        let home = try TemporaryFolder()
        let result = try await run(program, "--version", in: home)
        #expect(result.exitCode == 0 && result.output.contains(/^waterh-bench \d+\.\d+\.\d+\n$/))
    }

    @Test func `a missing --config file is wrong use`() async throws {
        let home = try TemporaryFolder()
        let result = try await run("waterh-gateway", "run --config no-such.toml", in: home)
        #expect(result.exitCode == 2 && result.error.contains("no-such.toml"), "\(result.error)")
    }

    @Test func `all commands use the store of the configuration`() async throws {
        let pair = try await Pair()
        try await pair.sip(120)
        let home = pair.folder
        try FileManager.default.createDirectory(atPath: home.file("config/waterh"), withIntermediateDirectories: true)
        try Data("store = \"\(home.file("day.sqlite"))\"\nzone = \"Africa/Abidjan\"\n".utf8).write(
            to: home.url("config/waterh/waterh.toml"))
        #expect(try await run("waterh-gateway", "poll --link \(pair.socket)", in: home).exitCode == 0)
        #expect(try await run("waterh-tracker", "log 250", in: home).exitCode == 0)
        let status = try await run("waterh-tracker", "status --json", in: home)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(status.outputBytes)) as? [String: Any])
        #expect(
            object["dailyTotalMl"] as? Int == 370 && object["zone"] as? String == "Africa/Abidjan", "\(status.output)")
        #expect(
            try await run("waterh-gateway", "doctor --link \(pair.socket)", in: home).output.contains(
                "day.sqlite: 2 drinks; 1 record from bottles"))
        #expect(!FileManager.default.fileExists(atPath: home.file("state")))
        // The environment and the option take precedence. An invalid file is named.
        #expect(
            try await run("waterh-tracker", "status", in: home, ["WATERH_STORE": home.file("other")]).error.contains(
                " yet: the output is that of an empty store"))
        try Data("stoer = 1\n".utf8).write(to: home.url("config/waterh/waterh.toml"))
        let wrong = try await run("waterh-tracker", "status", in: home)
        #expect(wrong.exitCode == 4 && wrong.error.contains("unknown key 'stoer'"))
    }

    // MARK: - A system service beside an ordinary user

    /// The user's store or the service's: the existing one, and a message where both exist.
    @Test func `commands find the store of the service`() throws {
        let home = try TemporaryFolder()
        let (own, service) = (home.file("own/waterh.sqlite"), home.file("var/waterh.sqlite"))
        func find(
            _ configuration: Configuration = Configuration(), flag: String? = nil, _ environment: [String: String] = [:]
        ) throws -> StorePlace {
            try StorePlace.find(flag, configuration, environment: environment, own: own, service: service)
        }
        #expect(try find() == StorePlace(path: own, origin: .own))
        _ = try TrackerStore(path: service)
        #expect(try find() == StorePlace(path: service, origin: .service))
        _ = try TrackerStore(path: own)
        #expect(try find() == StorePlace(path: own, origin: .own, serviceStore: service))
        let configuration = try Configuration(text: "store = \"/srv/day.sqlite\"", name: "test")
        #expect(try find(configuration) == StorePlace(path: "/srv/day.sqlite", origin: .configuration))
        #expect(try find(configuration, ["WATERH_STORE": "/e"]) == StorePlace(path: "/e", origin: .environment))
        #expect(try find(configuration, flag: "/f", ["WATERH_STORE": "/e"]) == StorePlace(path: "/f", origin: .flag))
    }

    /// After a purge, which keeps the drinks, other users must be able to use a store of their own.
    @Test func `the store of a removed service is not used`() throws {
        let home = try TemporaryFolder()
        let own = home.file("own/waterh.sqlite")
        func find(_ service: String, _ isServed: Bool) throws -> StorePlace {
            try StorePlace.find(nil, Configuration(), environment: [:], own: own, service: service, isServed: isServed)
        }
        let shut = home.file("shut")
        try FileManager.default.createDirectory(atPath: shut, withIntermediateDirectories: true)
        chmod(shut, 0)
        defer { chmod(shut, 0o700) }
        // Root can read every folder: the tests of the package check this as another user.
        if geteuid() != 0 {
            #expect(try find(shut + "/waterh.sqlite", true).origin == .service)
            #expect(try find(shut + "/waterh.sqlite", false) == StorePlace(path: own, origin: .own))
        }
        // A readable file is used.
        _ = try TrackerStore(path: home.file("left.sqlite"))
        #expect(try find(home.file("left.sqlite"), false).origin == .service)
    }

    /// A user without permission for the service's folder must get neither "0 ml" nor a new store.
    @Test func `a store without permission is reported with an action`() async throws {
        let home = try TemporaryFolder()
        let service = home.file("service/waterh.sqlite")
        _ = try TrackerStore(path: service)
        try FileManager.default.createDirectory(atPath: home.file("config/waterh"), withIntermediateDirectories: true)
        try Data("store = \"\(service)\"\n".utf8).write(to: home.url("config/waterh/waterh.toml"))
        for verb in ["status", "log 250"] {
            let result: Program.Result
            if geteuid() == 0 {
                for folder in [home.path, home.file("config"), home.file("config/waterh")] { chmod(folder, 0o755) }
                // Another process makes the copy: a file that the test process has open for writing cannot be executed
                // while other tests start programs.
                let shell = try #require(Program(system: "sh"))
                let line =
                    """
                    cp '\(Program("waterh-tracker").path)' waterh-tracker && exec setpriv --reuid=65534 \
                    --regid=65534 --clear-groups ./waterh-tracker \(verb)
                    """
                result = try await shell.run(
                    ["-c", line],
                    environment: [
                        "HOME": home.path, "XDG_CONFIG_HOME": home.file("config"), "XDG_STATE_HOME": home.file("state"),
                    ],
                    directory: home.path)
            } else {
                chmod(home.file("service"), 0)
                result = try await run("waterh-tracker", verb, in: home)
                chmod(home.file("service"), 0o700)
            }
            #expect(result.exitCode == 1 && result.output.isEmpty, "\(result.output)")
            #expect(
                result.error.contains(" \(service): it belongs to a service")
                    && result.error.contains("sudo -u "), "\(result.error)")
            #expect(!FileManager.default.fileExists(atPath: home.file("state")))
        }
    }

    @Test func `the demo has no future drinks`() async throws {
        for hour in ["06:00", "23:30"] {
            let folder = try TemporaryFolder()
            // A zone in which it is about that hour now, so that evening drinks are not in the future.
            let wanted = Int(hour.prefix(2)) ?? 0
            let now =
                Calendar(identifier: .gregorian).dateComponents(
                    in: try #require(TimeZone(identifier: "UTC")), from: Date()
                ).hour ?? 0
            let east = ((wanted - now) % 24 + 36) % 24 - 12
            let result = try await Program("waterh-gateway").run(
                ["demo", "--once"],
                environment: [
                    "TZ": "Etc/GMT\(east > 0 ? "-" : "+")\(abs(east))", "HOME": folder.path, "TMPDIR": folder.path,
                ],
                directory: Program.repository)
            #expect(
                result.exitCode == 0 && result.output.contains("Last drink: just now."),
                "\(result.output)\(result.error)")
        }
    }
}
