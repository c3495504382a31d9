import CommandSupport
import Foundation
import Support
import Testing

@Suite struct ReportCommandTests {
    /// Personal data of the user.
    private static let planted = [
        "A4:C1:38:0A:0B:0C", "A4C1380A0B0C", "a4_c1_38_0a_0b_0c", "Annegret", "annegrets-topic", "annegrets-folder",
        "tk_Zq81hhUw", "whsec_bW9yZSB3YXRlcg", "a-broker-user", "broker.example", "192.168.77.12", "fe80::1234:5678",
        "1,234 ml", "1234", "417", "2345", "shelf.example", "anne@mail.example", "Küchenflasche", "/home/annegret",
        "1A 02 02 16 15 0F 00 10", "hunter2", "wht_abcdef", "abcdef0123", "mumble", "4070", "8781", "8792",
        "kitchen-proxy", "Chatham", "db.example", "anna-role", "anna-water", "pw-8842",
    ]

    private func unpacked(_ archive: String, into folder: TemporaryFolder) async throws -> [String: String] {
        let tar = try #require(Program(system: "tar"))
        let listed = try await tar.run(["-tvzf", archive])
        listed.expect(0, output: "0/0")
        _ = try await tar.run(["-xzf", archive, "-C", folder.path])
        let names = try folder.names("waterh-report")
        return try Dictionary(uniqueKeysWithValues: names.map { ($0, try folder.text("waterh-report/\($0)")) })
    }

    @Test func `a report has no address, credential, name or amount`() async throws {
        let folder = try TemporaryFolder()
        let (store, chosen) = (folder.file("s.sqlite"), folder.file("annegrets-folder/../s.sqlite"))
        try FileManager.default.createDirectory(
            atPath: folder.file("annegrets-folder"), withIntermediateDirectories: false)
        let pair = try await Pair(["--address", "A4:C1:38:0A:0B:0C", "--name", "WaterH-Annegret"])
        try await pair.sip(417)
        _ = try await Program.gateway.run("poll --link \(pair.socket) --store \(store)")
        let settings = [
            "hydration.goalMl", "2345", "bottle.alias", "Küchenflasche", "ntfy.url",
            "https://ntfy.example/annegrets-topic", "ntfy.token", "tk_Zq81hhUw", "sync.url",
            "http://192.168.77.12:8000", "sync.token", "a-sync-token-1", "reminders.engine", "interval",
        ]
        let set = try await Program.tracker.run(["settings", "set", "--store", store] + settings)
        try #require(set.exitCode == 0, "\(set.error)")
        try folder.write(
            """
            store = "\(chosen)"
            link = "\(pair.socket)"
            bottle = "A4:C1:38:0A:0B:0C"
            [mqtt]
            url = "mqtt://broker.example"
            user = "a-broker-user"
            [webhook]
            url = "https://hook.example/annegret"
            secret = "whsec_bW9yZSB3YXRlcg=="
            [postgres]
            url = "postgresql://anna-role:pw-8842@db.example/anna-water?connect_timeout=1"
            """, to: "waterh.toml")
        try folder.write(
            """
            2026-11-23 10:00:00 A4:C1:38:0A:0B:0C (Küchenflasche): 3 new, battery 97 %
            2026-11-23 10:00:01 logged 1,234 ml from WaterH-Annegret, goalMl: 1234, "ml":417
            2026-11-23 10:00:02 webhook https://hook.example/annegret refused whsec_bW9yZSB3YXRlcg==, Bearer tk_Zq81hhUw
            2026-11-23 10:00:03 client 192.168.77.12 and fe80::1234:5678 as a-broker-user at mqtt://broker.example for \
            anne@mail.example
            2026-11-23 10:00:04 /org/bluez/hci0/dev_a4_c1_38_0a_0b_0c, store /home/annegret/.local/state, record 1A 02 \
            02 16 15 0F 00 10 00 00 01 61 00
            2026-11-23 10:00:05 PostgreSQL: all drinks are in anna-water on db.example as anna-role.
            2026-11-23 10:00:05 what matters: Connection lost
            2026-11-23 10:00:06 password=hunter2 token=wht_abcdef Authorization: Bearer abcdef0123 {"secret": \
            "mumble"} dailyTotal=4070, 8781 millilitres, 8792 ML, esphome:kitchen-proxy.local
            the day at Pacific/Chatham: Today: 875 ml / 2,500 ml (35 %), 1 drink

            """, to: "service.log")
        let archive = folder.file("report.tar.gz")
        let result = try await Program.gateway.run(
            "report --config \(folder.file("waterh.toml")) --log \(folder.file("service.log")) -o \(archive)",
            environment: ["TZ": "Pacific/Chatham"])
        try #require(result.exitCode == 0, "\(result.error)")
        #expect(result.output.contains("Check it before you send it"))
        #expect(try folder.mode("report.tar.gz") == 0o600)
        let parts = try await unpacked(archive, into: folder)
        #expect(Set(parts.keys) == ["versions.txt", "doctor.txt", "settings.txt", "store.txt", "polls.txt", "log.txt"])
        for (name, text) in parts {
            for word in Self.planted where text.lowercased().contains(word.lowercased()) {
                let line = text.split(separator: "\n").first { $0.lowercased().contains(word.lowercased()) }
                // A number of rows or bytes is not an amount of a drink.
                guard name != "store.txt" || word.contains(where: \.isLetter) else { continue }
                Issue.record("\(name) has \(word): \(line ?? "")")
            }
            #expect(text.firstMatch(of: /(?:[0-9A-Fa-f]{2}[:_]){5}[0-9A-Fa-f]{2}/) == nil, "\(name)")
        }
        let log = try #require(parts["log.txt"])
        #expect(log.contains("Today: # ml / # ml (# %), 1 drink"), "\(log)")
        #expect(log.contains("what matters: Connection lost") && (log.contains("ADDRESS-") || log.contains("NAME-")))
        #expect(
            parts["versions.txt"]?.contains("waterh-bench ") == true
                && parts["versions.txt"]?.contains("BlueZ: ") == true)
        #expect(
            parts["settings.txt"]?.contains("reminders.engine = interval") == true
                && parts["settings.txt"]?.contains("hydration.goalMl = (set)") == true
                && parts["settings.txt"]?.contains("postgres.url = (set)") == true)
        #expect(
            parts["store.txt"]?.contains("integrity: good") == true
                && parts["doctor.txt"]?.contains("ok   store") == true)
    }

    @Test func `a report works without store, log and service`() async throws {
        let folder = try TemporaryFolder()
        let none = ["--store", folder.file("none.sqlite"), "--link", "unix:" + folder.file("none.sock")]
        try await Program.gateway.succeed(["report", "-o", folder.file("a.tar.gz")] + none)
        #expect(try await unpacked(folder.file("a.tar.gz"), into: folder)["store.txt"] == "No readable store.\n")
        #expect(!folder.has("none.sqlite"))
        let wrong = try await Program.gateway.run(
            ["report", "-o", folder.file("b.tar.gz"), "--log", folder.file("none.log")] + none)
        #expect(
            wrong.exitCode == 4 && wrong.error.contains("none.log: No such file or directory\n")
                && !folder.has("b.tar.gz"))
    }

    @Test(arguments: [
        ("bottle A4:C1:38:01:02:03, again a4:c1:38:01:02:03", "bottle ADDRESS-1, again ADDRESS-1"),
        ("12:30:15 is a time, 2026-11-23T12:30:15 too", "12:30:15 is a time, 2026-11-23T12:30:15 too"),
        ("drank 250 ml, 0.25l, 8oz, 1,250 ml", "drank # ml, #l, #oz, # ml"),
        (#"{"amountMl":250,"count":3}"#, #"{"amountMl":#,"count":3}"#),
        ("at 10.0.0.7 and 127.0.0.1", "at HOST-1 and 127.0.0.1"), ("fe80::1 and ::1", "HOST-1 and ::1"),
        ("Anna's bench, and anna", "NAME-1's bench, and NAME-1"), ("Ben sits on a bench", "NAME-2 sits on a bench"),
        ("password hunter2!", "password SECRET"), ("see https://a.example/x?k=v.", "see https://HOST-1"),
        ("token 0123456789abcdefABCDEF01", "token SECRET"),
        ("exit code 5 after 30 s, MTU 517", "exit code 5 after 30 s, MTU 517"), ("50 54 00 0F 0E 06 1A", "7 BYTES"),
        ("WaterH-Boost-24oz and waterh-gateway", "BOTTLE-1 and waterh-gateway"), ("", ""),
        ("link l2cap:A4:C1:38:54:9B:63, mac:A4C138549B62", "link l2cap:ADDRESS-1, mac:ADDRESS-2"),
        ("store of X, x and y", "store of NAME-3, NAME-3 and y"),
        (
            "error: WaterH Vita Kathrin H (A4:C1:38:0A:0B:0C) is in range, but this store is for another",
            "error: BOTTLE-1 (ADDRESS-1) is in range, but this store is for another"
        ), ("Kathrins Flasche (A4:C1:38:0A:0B:0C), retail", "BOTTLE-1 (ADDRESS-1), retail"),
        (
            "notice: Bottle in range: WaterH Vita Kathrin A4:C1:38:0A:0B:0C, -61 dBm. If it is yours",
            "notice: Bottle in range: BOTTLE-1 ADDRESS-1, -61 dBm. If it is yours"
        ),
        (
            "error: WaterH Vita Kathrin (A4:C1:38:0A:0B:0C) belongs to another gateway",
            "error: BOTTLE-1 (ADDRESS-1) belongs to another gateway"
        ),
        ("Kathrins Flasche is here and hides its address", "BOTTLE-1 is here and hides its address"),
        // A name with a quotation mark, a rejected address and its correction, and the former user and prefix of a
        // broker.
        (#"bottle="Zq \"flasche\" \\x" and Zq "flasche" \x"#, #"bottle="NAME-4" and NAME-4"#),
        (
            #"'url' of [webhook] in waterh.toml cannot be "hook.zz/api/webhook/AzZ7": It must be one."#,
            #"'url' of [webhook] in waterh.toml cannot be "…": It must be one."#
        ),
        ("invalid webhook.url 'hook.zz/AzZ7': expected one.", "invalid webhook.url '…': expected one."),
        (
            "MQTT: connected with mqtt.zz at zqprefix, as zqmuser with a password, discovery at ha",
            "MQTT: connected with mqtt.zz at PREFIX-1, as USER-1 with a password, discovery at ha"
        ), ("a bottle is in range: Anna-Bottle", "a bottle is in range: BOTTLE-1"),
        (
            "(scanned for 10 s; devices found: Zoe's (old) TV, a lamp; red, 3 more) Wake the bottle.",
            "(scanned for 10 s; devices found: …) Wake the bottle."
        ),
        (
            "a bottle that is not this store's is in range: Blue one",
            "a bottle that is not this store's is in range: BOTTLE-1"
        ),
    ])
    func `private data is redacted, and the rest is kept`(_ text: String, _ blurred: String) {
        #expect(
            Redactor(names: ["Anna", "Ben", "X", "x", #"Zq "flasche" \x"#], secrets: ["hunter2!"]).text(text) == blurred
        )
    }
}
