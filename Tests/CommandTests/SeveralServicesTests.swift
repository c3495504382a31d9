import CommandSupport
import Foundation
import Support
import Testing

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
                && ben.settings
                    == anna.settings.merging(["ntfy.url": "https://ntfy.example/bens-water"]) { $1 }
        )
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
    func `an invalid list of people names the entry`(_ text: String, _ said: String) {
        let failure = #expect(throws: CommandFailure.self) { try Configuration(text: text, name: "waterh.toml") }
        #expect(failure?.status == .badInput && failure?.sentence.contains(said) == true, "\(failure?.sentence ?? "")")
    }

    @Test func `a service with [[person]] does not start and prints the replacement`() async throws {
        let folder = try TemporaryFolder()
        try Data(Self.list.utf8).write(to: folder.url("waterh.toml"))
        let result = try await Program("waterh-gateway").run(["run", "--config", folder.file("waterh.toml")])
        // RestartPreventExitStatus of the unit.
        #expect(result.exitCode == 4)
        for text in [
            "Write /etc/waterh/anna.toml:", "Write /etc/waterh/ben.toml:",
            "systemctl enable --now waterh-gateway@anna\n", "systemctl enable --now waterh-gateway@ben\n",
        ] {
            #expect(result.error.contains(text), "\(result.error)")
        }
    }

    @Test func `split-people writes the configurations and keeps existing files`() async throws {
        let folder = try TemporaryFolder()
        try Data(Self.list.utf8).write(to: folder.url("waterh.toml"))
        chmod(folder.file("waterh.toml"), 0o640)
        try Data("# mine\n".utf8).write(to: folder.url("ben.toml"))
        func split() async throws -> Program.Result {
            try await Program("waterh-gateway").run(
                ["split-people", "--config", folder.file("waterh.toml")],
                environment: ["CONFIGURATION_DIRECTORY": folder.path])
        }
        for _ in 0..<2 {
            let result = try await split()
            #expect(result.exitCode == 0 && result.output == "anna\nben\n", "\(result.error)")
        }
        #expect(try String(contentsOf: folder.url("ben.toml"), encoding: .utf8) == "# mine\n")
        let anna = try Configuration.load(folder.file("anna.toml"))
        var status = stat()
        #expect(stat(folder.file("anna.toml"), &status) == 0 && status.st_mode & 0o777 == 0o640)
        #expect(anna.store == "/var/lib/waterh/anna.sqlite")
        try Data("link = \"bluez\"\n".utf8).write(to: folder.url("waterh.toml"))
        #expect(try await split().output.isEmpty)
    }

    @Test func `two instances poll their own bottles only`() async throws {
        let folder = try TemporaryFolder()
        let pairs = [
            "anna": try await Pair(["--address", "A4:C1:38:00:00:01"]),
            "ben": try await Pair(["--address", "A4:C1:38:00:00:02"]),
        ]
        func environment(_ name: String) -> [String: String] {
            [
                "CONFIGURATION_DIRECTORY": folder.path, "WATERH_INSTANCE": name, "XDG_RUNTIME_DIR": folder.path,
                "TMPDIR": folder.path, "HOME": folder.path, "DBUS_SESSION_BUS_ADDRESS": "", "WATERH_STORE": "",
            ]
        }
        func write(_ name: String, _ more: String) throws {
            let text = """
                link = "\(pairs[name]?.socket ?? "")"
                store = "\(folder.file("\(name).sqlite"))"
                listen = "127.0.0.1:0"
                \(more)
                """
            try Data(text.utf8).write(to: folder.url("\(name).toml"))
        }
        func total(_ name: String) async throws -> Int? {
            let result = try await Program("waterh-tracker").run(["status", "--json"], environment: environment(name))
            return (try? JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any])?[
                "dailyTotalMl"] as? Int
        }
        try write("anna", "bottle = \"A4:C1:38:00:00:01\"")
        try write("ben", "")
        try await pairs["anna"]?.sip(110)
        try await pairs["ben"]?.sip(220)
        var services: [String: RunningProgram] = [:]
        for name in ["anna", "ben"] {
            services[name] = try Program("waterh-gateway").start(["run", "--verbose"], environment: environment(name))
        }
        #expect(try await event(within: 60) { try await total("anna") == 110 ? true : nil } == true)
        // The bottle of one service is rejected by every other store.
        let link = pairs["anna"]?.socket ?? ""
        for words in [
            ["poll", "--link", link], ["poll", "--link", link, "--bottle", "A4:C1:38:00:00:01"],
            ["adopt", "A4:C1:38:00:00:01"],
        ] {
            let taken = try await Program("waterh-gateway").run(
                words + ["--store", folder.file("other.sqlite")],
                environment: environment("ben").merging(["WATERH_INSTANCE": ""]) { $1 })
            #expect(taken.exitCode == 3 && taken.error.contains("belongs to another gateway"), "\(taken.error)")
        }
        let adopt = try await Program("waterh-gateway").run(
            ["adopt", "A4:C1:38:00:00:02"], environment: environment("ben"))
        #expect(adopt.exitCode == 0, "\(adopt.error)")
        let nudge = try await Program("waterh-gateway").run(["nudge"], environment: environment("ben"))
        #expect(nudge.exitCode == 0, "\(nudge.error)")
        #expect(try await event(within: 60) { try await total("ben") == 220 ? true : nil } == true)
        #expect(try await total("anna") == 110)
        for service in services.values {
            let result = try await service.stop()
            #expect(result.exitCode == 0 && !result.error.contains("error: "), "\(result.error)")
        }
    }
}
