import Foundation
import Store
import Support
import Testing

@testable import CommandSupport

@Suite struct ReadOnlyTests {
    /// A home without the variables that name a store and a zone.
    private let home: Home

    init() throws { home = try Home(["WATERH_STORE": "", "WATERH_ZONE": "", "TZ": "Europe/Berlin"]) }

    /// Every read-only subcommand, in a home without a store.
    @Test(arguments: [
        "status", "status --format waybar", "history", "streak", "session list", "preset", "settings get",
        "settings hydration.goalMl", "token list", "export", "check --doctor", "why --at 12:00 --json",
    ])
    func `reading subcommands create no store`(_ verb: String) async throws {
        let result = try await home.tracker(verb)
        #expect(
            [0, 3].contains(result.exitCode) && result.error.contains(" yet: the output is that of an empty store"),
            "\(result.error)")
        #expect(try home.folder.names().isEmpty)
    }

    @Test func `doctor creates no store`() async throws {
        try home.folder.write("", to: "empty")
        let result = try await home.run(.gateway, "doctor --store empty --link unix:nowhere")
        #expect(
            result.output.contains("empty is an empty file; the first poll creates a store in it"), "\(result.output)")
        #expect(try home.folder.names() == ["empty"] && home.folder.text("empty").isEmpty)
    }

    @Test func `a new store is private`() async throws {
        // The folder can exist from an older version.
        try FileManager.default.createDirectory(
            atPath: home.folder.file("state/waterh"), withIntermediateDirectories: true)
        chmod(home.folder.file("state/waterh"), 0o755)
        #expect(try await home.tracker("log 250").exitCode == 0)
        #expect(try home.folder.mode("state/waterh") == 0o700)
        #expect(try home.folder.mode("state/waterh/waterh.sqlite") == 0o600)
        #expect(try home.folder.names("state/waterh") == ["waterh.sqlite"])
    }

    @Test func `arguments without a subcommand go to the default subcommand`() async throws {
        #expect(try await home.tracker("settings hydration.goalMl").output == "2500\n")
        #expect(try await home.tracker("session 3f2a").exitCode == 3)
        let wrong = try await home.tracker("settings hydration.goalMl --bad")
        wrong.expect(2, error: "--bad")
    }

    @Test(arguments: ["waterh-emulator", "waterh-gateway", "waterh-replay", "waterh-tracker"])
    func `every program prints its version`(_ program: String) async throws {
        let result = try await home.run(Program(program), "--version")
        #expect(result.exitCode == 0 && result.output.contains(/^waterh-bench \d+\.\d+\.\d+\n$/))
    }

    @Test func `all commands use the store of the configuration`() async throws {
        let pair = try await Pair()
        try await pair.sip(120)
        try home.folder.write(
            "store = \"\(home.folder.file("day.sqlite"))\"\nzone = \"Africa/Abidjan\"\n",
            to: "config/waterh/waterh.toml")
        #expect(try await home.run(.gateway, "poll --link \(pair.socket)").exitCode == 0)
        #expect(try await home.tracker("log 250").exitCode == 0)
        let object = try await home.object("status")
        #expect(object["dailyTotalMl"] as? Int == 370 && object["zone"] as? String == "Africa/Abidjan", "\(object)")
        #expect(
            try await home.run(.gateway, "doctor --link \(pair.socket)").output.contains(
                "day.sqlite: 2 drinks; 1 record from bottles"))
        #expect(!home.folder.has("state"))
        // The environment and the option take precedence. An invalid file is named.
        #expect(
            try await home.with(["WATERH_STORE": home.folder.file("other")]).tracker("status").error.contains(
                " yet: the output is that of an empty store"))
        try home.folder.write("stoer = 1\n", to: "config/waterh/waterh.toml")
        let wrong = try await home.tracker("status")
        wrong.expect(4, error: "unknown key 'stoer'")
    }

    // MARK: - A system service beside an ordinary user

    /// The user's store or the service's: the existing one, and a message where both exist.
    @Test func `commands find the store of the service`() throws {
        let (own, service) = (home.folder.file("own/waterh.sqlite"), home.folder.file("var/waterh.sqlite"))
        func find(
            _ configuration: Configuration = Configuration(), flag: String? = nil, _ environment: [String: String] = [:]
        ) throws -> StoreLocation {
            try StoreLocation.find(flag, configuration, environment: environment, own: own, service: service)
        }
        #expect(try find() == StoreLocation(path: own, origin: .own))
        _ = try TrackerStore(path: service)
        #expect(try find() == StoreLocation(path: service, origin: .service))
        _ = try TrackerStore(path: own)
        #expect(try find() == StoreLocation(path: own, origin: .own, serviceStore: service))
        let configuration = try Configuration(text: "store = \"/srv/day.sqlite\"", name: "test")
        #expect(try find(configuration) == StoreLocation(path: "/srv/day.sqlite", origin: .configuration))
        #expect(try find(configuration, ["WATERH_STORE": "/e"]) == StoreLocation(path: "/e", origin: .environment))
        #expect(try find(configuration, flag: "/f", ["WATERH_STORE": "/e"]) == StoreLocation(path: "/f"))
    }

    /// After a purge, which keeps the drinks, other users must be able to use a store of their own.
    @Test func `the store of a removed service is not used`() throws {
        let own = home.folder.file("own/waterh.sqlite")
        func find(_ service: String, _ hasSystemService: Bool) throws -> StoreLocation {
            try StoreLocation.find(
                nil, Configuration(), environment: [:], own: own, service: service, hasSystemService: hasSystemService)
        }
        let shut = home.folder.file("shut")
        try FileManager.default.createDirectory(atPath: shut, withIntermediateDirectories: true)
        chmod(shut, 0)
        defer { chmod(shut, 0o700) }
        // Root can read every folder: the tests of the package check this as another user.
        if geteuid() != 0 {
            #expect(try find(shut + "/waterh.sqlite", true).origin == .service)
            #expect(try find(shut + "/waterh.sqlite", false) == StoreLocation(path: own, origin: .own))
        }
        // A readable file is used.
        _ = try TrackerStore(path: home.folder.file("left.sqlite"))
        #expect(try find(home.folder.file("left.sqlite"), false).origin == .service)
    }

    /// A user without permission for the service's folder must get neither "0 ml" nor a new store.
    @Test func `a store without permission is reported with an action`() async throws {
        let service = home.folder.file("service/waterh.sqlite")
        _ = try TrackerStore(path: service)
        try home.folder.write("store = \"\(service)\"\n", to: "config/waterh/waterh.toml")
        for verb in ["status", "log 250"] {
            let result: Program.Result
            if geteuid() == 0 {
                for folder in [home.folder.path, home.folder.file("config"), home.folder.file("config/waterh")] {
                    chmod(folder, 0o755)
                }
                let copy = try await Program.tracker.copy(to: home.folder.file("waterh-tracker"))
                result = try await #require(Program(system: "setpriv")).run(
                    copy.asNobody + verb.split(separator: " ").map(String.init), environment: home.environment,
                    directory: home.folder.path)
            } else {
                chmod(home.folder.file("service"), 0)
                result = try await home.tracker(verb)
                chmod(home.folder.file("service"), 0o700)
            }
            result.expect(1, output: "", error: " \(service): it belongs to a service", "sudo -u ")
            #expect(!home.folder.has("state"))
        }
    }
}
