import Foundation
import Support
import Testing

/// The built programs with a real mosquitto.
@Suite struct ServiceMQTTTests {
    private func set(_ store: String, _ settings: [String: String]) async throws {
        for (name, value) in settings {
            let result = try await Program("waterh-tracker").run(["settings", "set", name, value, "--store", store])
            #expect(result.exitCode == 0, "\(result.error)")
        }
    }

    private func json(_ text: String) -> [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]) ?? [:]
    }

    /// With their own times. The availability topic shows the gap.
    @Test func `publishing survives a broker restart and a killed service`() async throws {
        let (broker, pair) = (try await Broker(), try await Pair())
        try await set(pair.store, ["mqtt.url": broker.url])
        let ear = try await broker.listen("hydration/#", as: "ear")
        func serve() throws -> RunningProgram {
            try Program("waterh-gateway").start(["run", "--link", pair.socket, "--store", pair.store])
        }
        var service = try serve()
        #expect(await event { service.error.contains("MQTT: connected") ? true : nil } == true, "\(service.error)")
        try await pair.sip(100)
        service.send(signal: SIGHUP)
        #expect(await event { ear.payloads(at: "hydration/sip").isEmpty ? nil : true } == true, "\(service.error)")

        try await service.stop(SIGKILL, limit: 60)
        // The last will.
        #expect(await event { ear.payloads(at: "hydration/availability").last == "offline" ? true : nil } == true)
        try await broker.stop()
        var total = 100
        for ml in [110, 120] {
            service = try serve()
            #expect(await event { service.error.contains("MQTT: ") ? true : nil } == true)
            try await pair.sip(ml)
            total += ml
            service.send(signal: SIGHUP)
            #expect(
                await event { service.error.contains("Today: \(total) ml") ? true : nil } == true, "\(service.error)")
            try await service.stop(SIGKILL, limit: 60)
        }
        try await broker.start()
        service = try serve()
        let told: [String]? = await event {
            let sips = ear.payloads(at: "hydration/sip")
            return Set(sips.compactMap { json($0)["id"] as? String }).count == 3 ? sips : nil
        }
        let sips = try #require(told, "\(ear.output) \(service.error)").map { json($0) }
        var first: [Int] = []
        for ml in sips.compactMap({ $0["ml"] as? Int }) where !first.contains(ml) { first.append(ml) }
        #expect(first == [100, 110, 120])
        let drinks = try await Program("waterh-tracker").run([
            "history", "--day", "today", "--json", "--store", pair.store,
        ])
        let stored = (json(drinks.output)["drinks"] as? [[String: Any]])?.compactMap { $0["at"] as? String }
        #expect(Set(sips.compactMap { $0["at"] as? String }) == Set(stored ?? []), "\(drinks.output) \(drinks.error)")
        #expect(await event { ear.payloads(at: "hydration/availability").last == "online" ? true : nil } == true)
        let end = try await service.stop()
        #expect(end.exitCode == 0 && !end.error.contains("error:"), "\(end.error)")
        #expect(await event { ear.payloads(at: "hydration/availability").last == "offline" ? true : nil } == true)
    }

    /// The store is locked when a command arrives, and the service is killed or returns an error. The broker resends
    /// the command, and it runs once.
    @Test(arguments: [false, true]) func `an MQTT command waits for a locked store`(isKilled: Bool) async throws {
        let (broker, pair) = (try await Broker { _ in ["allow_anonymous true", "log_type all"] }, try await Pair())
        try await set(pair.store, ["mqtt.url": broker.url, "mqtt.commands": "true"])
        func serve() throws -> RunningProgram {
            try Program("waterh-gateway").start(["run", "--link", pair.socket, "--store", pair.store])
        }
        var service = try serve()
        #expect(await event { service.error.contains("MQTT: connected") ? true : nil } == true, "\(service.error)")
        let hold =
            """
            import signal, sqlite3, sys; c = sqlite3.connect(sys.argv[1], 30, isolation_level=None); \
            c.execute('BEGIN IMMEDIATE'); print('held', flush=True); signal.pause()
            """
        let holder = try #require(Program(system: "python3")).start(["-c", hold, pair.store])
        _ = try await holder.line { $0 == "held" }
        try await broker.publish("hydration/cmd/log", "250")
        #expect(
            await event {
                broker.log.contains("Sending PUBLISH to waterh") && broker.log.contains("hydration/cmd/log")
                    ? true : nil
            } == true, "\(broker.log)")
        if isKilled {
            // The broker serves other clients while the command waits.
            for _ in 0..<2 { try await broker.publish("d", "y") }
            try await service.stop(SIGKILL, limit: 60)
        } else {
            #expect(
                // The store has one writer, and each of the publishers before this one waits for 15 s.
                await event(within: 120) {
                    service.error.contains("A message was not processed: Another process locked the store") ? true : nil
                } == true,
                "\(service.error)")
        }
        try await holder.stop(SIGKILL, limit: 60)
        if isKilled { service = try serve() }
        #expect(
            try await event(within: 60) {
                try await Program("waterh-tracker").run(["status", "--store", pair.store]).output.contains("250 ml")
                    ? true : nil
            } == true, "\(service.error)")
        #expect(try await service.stop().exitCode == 0)
        #expect(try await Program("waterh-tracker").run(["status", "--store", pair.store]).output.contains("250 ml"))
    }

    /// A service that is stopped must not run all queued commands first. A killed one must not run commands twice.
    @Test func `queued MQTT commands run once when the service stops`() async throws {
        let (broker, pair) = (try await Broker(), try await Pair())
        try await set(pair.store, ["mqtt.url": broker.url, "mqtt.commands": "true", "day.zone": "UTC"])
        func serve() throws -> RunningProgram {
            try Program("waterh-gateway").start(["run", "--link", pair.socket, "--store", pair.store])
        }
        func done() async throws -> Int {
            try await Program("waterh-tracker").run(["export", "--format", "csv", "--store", pair.store]).lines.count {
                $0.contains(",7,")
            }
        }
        var service = try serve()
        #expect(await event { service.error.contains("MQTT: connected") ? true : nil } == true, "\(service.error)")
        #expect(try await service.stop().exitCode == 0)
        let pub = try #require(Program(system: "mosquitto_pub"))
        let lines = String(repeating: "7\n", count: 200)
        #expect(
            try await pub.run(
                ["-p", "\(broker.port)", "-q", "1", "-t", "hydration/cmd/log", "-l"], input: Array(lines.utf8)
            ).exitCode == 0)
        service = try serve()
        #expect(try await event { try await done() >= 1 ? true : nil } == true, "\(service.error)")
        #expect(try await service.stop(limit: 30).exitCode == 0)
        let before = try await done()
        #expect(before < 200, "it was asked to stop before all were done")
        service = try serve()
        #expect(try await event(within: 120) { try await done() >= 200 ? true : nil } == true, "\(service.error)")
        // A duplicate would arrive by now.
        try await broker.publish("hydration/cmd/log", "8")
        #expect(
            try await event {
                try await Program("waterh-tracker").run(["export", "--format", "csv", "--store", pair.store]).output
                    .contains(",8,") ? true : nil
            } == true)
        #expect(try await done() == 200)
        #expect(try await service.stop().exitCode == 0)
    }

    private func identity(_ store: String, _ choice: String...) async throws -> String {
        let result = try await Program("waterh-gateway").run(["identity", "--store", store] + choice)
        #expect(result.exitCode == 0, "\(result.error)")
        return result.lines.first.map(String.init) ?? ""
    }

    /// Neither disconnects the first service from the broker.
    @Test(arguments: [true, false]) func `a second service and a copied store are reported`(isCopy: Bool) async throws {
        let (broker, folder) = (try await Broker(), try TemporaryFolder())
        func start(_ store: String, _ prefix: String) throws -> RunningProgram {
            let config = folder.url("\(prefix).toml")
            try Data(
                """
                link = \"unix:\(folder.file("none.sock"))\"\nstore = \"\(folder.file(store))\"\nlisten = \"off\"\n\
                [mqtt]\nurl = \"\(broker.url)\"\nprefix = \"\(prefix)\"\n
                """
                .utf8
            ).write(to: config)
            return try Program("waterh-gateway").start(
                ["run", "--config", config.path], environment: ["XDG_STATE_HOME": folder.file("state")])
        }
        let first = try start("a.sqlite", "one")
        #expect(await event { first.error.contains("MQTT: connected") ? true : nil } == true, "\(first.error)")
        let asked: Bool? = await event(within: 60) {
            try? await Program("waterh-gateway").run(["nudge", "--config", folder.file("one.toml")]).exitCode == 0
                ? true : nil
        }
        #expect(asked == true)
        if isCopy {
            let copied = try await Program(path: "/bin/sh").run(
                ["-c", "for f in a.sqlite*; do cp $f b${f#a}; done"], directory: folder.path)
            #expect(copied.exitCode == 0, "\(copied.error)")
        }
        let second = try start(isCopy ? "b.sqlite" : "a.sqlite", "two")
        let words = isCopy ? "MQTT: This store is a copy" : "MQTT: Another service uses the MQTT client ID waterh-"
        #expect(await event { second.error.contains(words) ? true : nil } == true, "\(second.error)")
        #expect(second.error.contains("Another service keeps this store") != isCopy, "\(second.error)")
        #expect(
            !first.error.contains("disconnected") && !second.error.contains("MQTT: connected"),
            "\(first.error) \(second.error)")
        #expect(try await first.stop().exitCode == 0)
        if isCopy {
            // While the original is stopped, the copy does not take its identity until the user assigns it.
            let names = [try await identity(folder.file("a.sqlite")), try await identity(folder.file("b.sqlite"))]
            #expect(
                names[0].hasPrefix("waterh-") && names[0] == names[1] && !second.error.contains("MQTT: connected"),
                "\(names)")
            #expect(second.error.contains(" identity new --store \(folder.file("b.sqlite"))"), "\(second.error)")
            // A known store needs no new identity.
            let needless = try await Program("waterh-gateway").run([
                "identity", "new", "--store", folder.file("a.sqlite"),
            ])
            #expect(
                needless.exitCode == 3 && needless.error.contains("keeps its client ID"),
                "\(needless.output)\(needless.error)")
            let own = try await identity(folder.file("b.sqlite"), "new")
            #expect(
                own.hasPrefix("waterh-") && own.prefix { $0 != "," } != names[0].prefix { $0 != "," }
                    && own.hasSuffix("b.sqlite"))
        }
        #expect(
            await event(within: 60) { second.error.contains("MQTT: connected") ? true : nil } == true, "\(second.error)"
        )
        try await second.stop()
    }

    /// With the original's prefix the copy would overwrite the retained topics of its original. It gets no identity
    /// before it has a prefix of its own, whatever the source of the prefix.
    @Test(arguments: ["nowhere", "settings", "file"]) func `a copied store does not publish to the original's topics`(
        _ place: String
    )
        async throws
    {
        let (broker, folder) = (try await Broker(), try TemporaryFolder())
        let (original, copy) = (folder.file("a.sqlite"), folder.file("b.sqlite"))
        func config(_ store: String, _ prefix: String) throws -> String {
            let mqtt = "[mqtt]\nurl = \"\(broker.url)\"\n" + (place == "file" ? "prefix = \"\(prefix)\"\n" : "")
            try Data(
                """
                link = \"unix:\(folder.file("none.sock"))\"\nlisten = \"off\"\nstore = \"\(store)\"\n\(mqtt)
                """
                .utf8
            ).write(to: folder.url("waterh.toml"))
            return folder.file("waterh.toml")
        }
        // A state folder for each service: the service of the copy has no data of the original's clients.
        func serve(_ config: String, as name: String) throws -> RunningProgram {
            try Program("waterh-gateway").start(
                ["run", "--config", config], environment: ["XDG_STATE_HOME": folder.file("state-\(name)")])
        }
        if place == "settings" { try await set(original, ["mqtt.prefix": "water"]) }
        let service = try serve(config(original, "water"), as: "a")
        let ear = try await broker.listen("#")
        let prefix =
            ["nowhere": "hydration", "settings": "water", "file": "water"][place] ?? ""
        #expect(
            await event { ear.payloads(at: "\(prefix)/availability").last == "online" ? true : nil } == true,
            "\(service.error)")
        try await service.stop()
        #expect(
            try await Program(path: "/bin/sh").run(
                ["-c", "for f in a.sqlite*; do cp $f b${f#a}; done"], directory: folder.path
            ).exitCode == 0)
        let early = try await Program("waterh-gateway").run(["identity", "new", "--config", config(copy, "water")])
        #expect(
            early.exitCode == 3 && early.error.contains("\(prefix)/…")
                && early.error.contains(place == "file" ? "[mqtt]" : "settings set mqtt.prefix NAME"), "\(early.error)")
        // The identity is still unassigned, and the original's topics are unchanged.
        #expect(
            try await Program("waterh-gateway").run(["identity", "--config", config(copy, "water")]).output.contains(
                "a.sqlite"))
        if place != "file" && place != "list" { try await set(copy, ["mqtt.prefix": "mine"]) }
        let own = try await Program("waterh-gateway").run(["identity", "new", "--config", config(copy, "mine")])
        #expect(own.exitCode == 0 && own.output.contains("b.sqlite"), "\(own.error)")
        let second = try serve(config(copy, "mine"), as: "b")
        #expect(await event { second.error.contains("MQTT: connected") ? true : nil } == true, "\(second.error)")
        try await second.stop()
        #expect(
            ear.payloads(at: "\(prefix)/state").last?.isEmpty == false
                && ear.payloads(at: "\(prefix)/availability").last == "offline")
    }

    /// Two services with a store each on one prefix of a broker: both report it, and so do their commands.
    @Test func `another store with the same topic prefix is reported`() async throws {
        let (broker, folder) = (try await Broker(), try TemporaryFolder())
        func start(_ name: String) throws -> RunningProgram {
            try Data(
                """
                link = \"unix:\(folder.file("none.sock"))\"\nstore = \"\(folder.file(name)).sqlite\"\nlisten = \
                \"off\"\n[mqtt]\nurl = \"\(broker.url)\"\n
                """
                .utf8
            ).write(to: folder.url("\(name).toml"))
            return try Program("waterh-gateway").start(["run", "--config", folder.file("\(name).toml")])
        }
        let services = [try start("a"), try start("b")]
        for (name, service) in zip(["a", "b"], services) {
            #expect(
                await event {
                    service.error.contains("publishes at hydration/…, too")
                        && service.error.contains("settings set mqtt.prefix NAME --store \(folder.file(name)).sqlite")
                        ? true : nil
                } == true, "\(service.error)")
            let status = try await Program("waterh-tracker").run(["status", "--store", folder.file(name) + ".sqlite"])
            #expect(status.output.contains("MQTT: Another store (waterh-"), "\(status.output)")
            let doctor = try await Program("waterh-tracker").run([
                "check", "--doctor", "--store", folder.file(name) + ".sqlite",
            ])
            #expect(
                doctor.output.contains("look mqtt") && doctor.output.contains("waterh-gateway doctor"),
                "\(doctor.output)")
        }
        for service in services {
            try await service.stop()
        }
    }

    @Test func `showing the MQTT identity changes nothing`() async throws {
        let folder = try TemporaryFolder()
        let store = folder.file("a.sqlite")
        try await Release09Store.unpack(to: store)
        let sqlite = Program(path: "/usr/bin/sqlite3")
        let insertion = "INSERT INTO outlet (name, id, position) VALUES ('mqtt', 'abc', 0)"
        #expect(try await sqlite.run([store, insertion]).exitCode == 0)
        #expect(try await identity(store) == "waterh-abc")
        #expect(try await sqlite.run([store, "PRAGMA user_version"]).output == "30\n")
    }

    /// A possible password appears in no message and in no list of settings, wherever it is configured.
    @Test(arguments: [
        "password = \"two s3cr3t words\"", "url = \"mqtt://me:s3cr3t@h\"", "url = \"me:s3cr3t@h\"",
        "passwort = \"s3cr3t\"",
    ])
    func `no message contains the password`(_ line: String) async throws {
        let folder = try TemporaryFolder()
        let config = folder.url("waterh.toml")
        try Data(
            """
            link = \"unix:\(folder.file("none.sock"))\"\nstore = \"\(folder.file("s.sqlite"))\"\nlisten = \"off\"\n\
            [mqtt]\n\(line)\n
            """
            .utf8
        ).write(to: config)
        let read = try await Program("waterh-gateway").run(["run", "--config", config.path])
        #expect(
            read.exitCode == 4 && !(read.error + read.output).contains("s3cr3t")
                && read.error.contains("'\(line.split(separator: " ")[0])' of [mqtt]"), "\(read.error)")
        let parts = line.components(separatedBy: " = ")
        let (key, value) = (parts[0], parts[1].replacing("\"", with: ""))
        guard key == "url" || key == "password" else { return }
        let set = try await Program("waterh-tracker").run([
            "settings", "set", "mqtt.\(key)", value, "--store", folder.file("t.sqlite"),
        ])
        #expect(set.exitCode != 0 && !(set.error + set.output).contains("s3cr3t"), "\(set.error)")
        if value.contains("://") { #expect(set.error.contains("mqtt.passwordFile"), "\(set.error)") }
        let all = try await Program("waterh-tracker").run(["settings", "get", "--store", folder.file("t.sqlite")])
        #expect(all.exitCode == 0 && !all.output.contains("s3cr3t"))
    }

    /// The settings of a running service, and the values of its file, which take precedence.
    @Test func `the service follows settings and configuration`() async throws {
        let (broker, pair) = (try await Broker(), try await Pair())
        let config = pair.folder.url("waterh.toml")
        func write(_ more: String) throws {
            try Data("link = \"\(pair.socket)\"\nstore = \"\(pair.store)\"\n\(more)".utf8).write(to: config)
        }
        try write("")
        var service = try Program("waterh-gateway").start(["run", "--config", config.path])
        try await pair.sip(50)
        #expect(await event { service.error.contains("1 received") ? true : nil } == true, "\(service.error)")
        try await set(pair.store, ["mqtt.url": broker.url])
        #expect(
            await event { service.error.contains("MQTT: connected with \(broker.url) at hydration") ? true : nil }
                == true, "\(service.error)")
        try write("[mqtt]\nprefix = \"home/water\"\ncommands = true\n")
        #expect(try await service.stop().exitCode == 0)
        service = try Program("waterh-gateway").start(["run", "--config", config.path])
        #expect(
            await event { service.error.contains("at home/water, commands") ? true : nil } == true, "\(service.error)")
        try await broker.publish("home/water/cmd/log", "cup")
        #expect(
            try await event {
                try await Program("waterh-tracker").run(["status", "--store", pair.store]).output.contains("300 ml")
                    ? true : nil
            } == true)
        try await set(pair.store, ["mqtt.url": "unset"])
        #expect(
            await event { service.error.contains("name no broker any more") ? true : nil } == true, "\(service.error)")
        #expect(try await service.stop().exitCode == 0)
    }
}
