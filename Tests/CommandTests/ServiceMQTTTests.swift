import Foundation
import Support
import Testing

/// The built programs with a real mosquitto.
@Suite struct ServiceMQTTTests {
    /// A configuration without a bottle in the folder. Returns its path.
    private static func configure(
        _ folder: TemporaryFolder, _ name: String = "waterh.toml", store: String, mqtt: String
    ) throws -> String {
        let text = """
            link = "unix:\(folder.file("none.sock"))"
            store = "\(folder.file(store))"
            listen = "off"
            [mqtt]
            \(mqtt)
            """
        try folder.write(text, to: name)
        return folder.file(name)
    }

    /// With their own times. The availability topic shows the gap.
    @Test func `publishing resumes after a broker restart and after a killed service`() async throws {
        let (broker, pair) = (try await Broker(), try await Pair())
        try await pair.tracker("settings set mqtt.url \(broker.url)")
        let subscriber = try await broker.listen("hydration/#", as: "subscriber")
        func isAvailable(_ text: String) async -> Bool {
            await eventually { subscriber.payloads(at: "hydration/availability").last == text }
        }
        var service = try pair.serve()
        await service.says("MQTT: connected")
        try await pair.sip(100)
        service.send(signal: SIGHUP)
        #expect(await eventually { !subscriber.payloads(at: "hydration/sip").isEmpty }, "\(service.error)")
        try await service.kill()
        #expect(await isAvailable("offline"), "the last will")
        try await broker.stop()
        for (ml, total) in [(110, 210), (120, 330)] {
            service = try pair.serve()
            await service.says("MQTT: ")
            try await pair.sip(ml)
            service.send(signal: SIGHUP)
            await service.says("Today: \(total) ml")
            try await service.kill()
        }
        try await broker.start()
        service = try pair.serve()
        let published: [String]? = await event {
            let sips = subscriber.payloads(at: "hydration/sip")
            return Set(sips.compactMap { $0.jsonObject?["id"] as? String }).count == 3 ? sips : nil
        }
        let sips = try #require(published, "\(subscriber.output) \(service.error)").compactMap(\.jsonObject)
        var first: [Int] = []
        for ml in sips.compactMap({ $0["ml"] as? Int }) where !first.contains(ml) { first.append(ml) }
        #expect(first == [100, 110, 120])
        let day = try await pair.tracker("history --day today --json").object()
        let stored = (day["drinks"] as? [[String: Any]])?.compactMap { $0["at"] as? String }
        #expect(Set(sips.compactMap { $0["at"] as? String }) == Set(stored ?? []), "\(day)")
        #expect(await isAvailable("online"))
        let end = try await service.stop()
        #expect(!end.error.contains("error:"), "\(end.error)")
        #expect(await isAvailable("offline"))
    }

    /// The store is locked when a command arrives, and the service is killed. The broker resends the command, and it
    /// runs once.
    @Test func `an MQTT command waits for a locked store`() async throws {
        let (broker, pair) = (try await Broker { _ in ["allow_anonymous true", "log_type all"] }, try await Pair())
        try await pair.tracker("settings set mqtt.url \(broker.url) mqtt.commands true")
        var service = try pair.serve()
        await service.says("MQTT: connected")
        let lock = try await StoreLock(pair.store)
        try await broker.publish("hydration/cmd/log", "250")
        #expect(
            await eventually {
                broker.log.contains("Sending PUBLISH to waterh") && broker.log.contains("hydration/cmd/log")
            }, "\(broker.log)")
        // The broker serves other clients while the command waits.
        for _ in 0..<2 { try await broker.publish("d", "y") }
        try await service.kill()
        try await lock.release()
        service = try pair.serve()
        func isLogged() async throws -> Bool { try await pair.tracker("status").output.contains("250 ml") }
        #expect(try await eventually(within: 60) { try await isLogged() }, "\(service.error)")
        try await service.stop()
        #expect(try await isLogged())
    }

    /// A service that is stopped must not run all queued commands first. A killed one must not run commands twice.
    @Test func `queued MQTT commands run once when the service stops`() async throws {
        let (broker, pair, count) = (try await Broker(), try await Pair(), 100)
        try await pair.tracker("settings set mqtt.url \(broker.url) mqtt.commands true day.zone UTC")
        func storedCount(_ ml: Int = 7) async throws -> Int {
            try await pair.tracker("export --format csv").lines.count { $0.contains(",\(ml),") }
        }
        var service = try pair.serve()
        await service.says("MQTT: connected")
        try await service.stop()
        let lines = String(repeating: "7\n", count: count)
        try await #require(Program(system: "mosquitto_pub")).succeed(
            "-p \(broker.port) -q 1 -t hydration/cmd/log -l", input: Array(lines.utf8))
        service = try pair.serve()
        #expect(try await eventually { try await storedCount() >= 1 }, "\(service.error)")
        try await service.stop()
        #expect(try await storedCount() < count, "the service stopped before it processed all commands")
        service = try pair.serve()
        #expect(try await eventually(within: 120) { try await storedCount() >= count }, "\(service.error)")
        // A duplicate would arrive before this one.
        try await broker.publish("hydration/cmd/log", "8")
        #expect(try await eventually { try await storedCount(8) == 1 })
        #expect(try await storedCount() == count)
        try await service.stop()
    }

    private static func identity(_ store: String, _ choice: String = "") async throws -> String {
        let result = try await Program.gateway.succeed("identity \(choice) --store \(store)")
        return result.lines.first.map(String.init) ?? ""
    }

    private static func copyStore(in folder: TemporaryFolder) async throws {
        try await Program(path: "/bin/sh").succeed(
            ["-c", "for f in a.sqlite*; do cp $f b${f#a}; done"], directory: folder.path)
    }

    /// Neither disconnects the first service from the broker.
    @Test(arguments: [true, false]) func `a second service and a copied store are reported`(isCopy: Bool) async throws {
        let (broker, folder) = (try await Broker(), try TemporaryFolder())
        let environment = ["XDG_STATE_HOME": folder.file("state")]
        func start(_ store: String, _ prefix: String) throws -> RunningProgram {
            let config = try Self.configure(
                folder, "\(prefix).toml", store: store, mqtt: "url = \"\(broker.url)\"\nprefix = \"\(prefix)\"")
            return try Program.gateway.start("run --config \(config)", environment: environment)
        }
        let first = try start("a.sqlite", "one")
        await first.says("MQTT: connected")
        let hasSocket: Bool = await eventually(within: 60) {
            (try? await Program.gateway.succeed("nudge --config \(folder.file("one.toml"))")) != nil
        }
        #expect(hasSocket)
        if isCopy { try await Self.copyStore(in: folder) }
        let second = try start(isCopy ? "b.sqlite" : "a.sqlite", "two")
        await second.says(
            isCopy ? "MQTT: This store is a copy" : "MQTT: Another service uses the MQTT client ID waterh-")
        #expect(second.error.contains("Another service uses this store") != isCopy, "\(second.error)")
        #expect(
            !first.error.contains("disconnected") && !second.error.contains("MQTT: connected"),
            "\(first.error) \(second.error)")
        try await first.stop()
        if isCopy {
            // While the original is stopped, the copy does not take its identity until the user assigns it.
            let (original, copy) = (folder.file("a.sqlite"), folder.file("b.sqlite"))
            let name = try await Self.identity(original)
            let copied = try await Self.identity(copy)
            #expect(name.hasPrefix("waterh-") && name == copied)
            #expect(!second.error.contains("MQTT: connected"), "\(second.error)")
            #expect(second.error.contains(" identity new --store \(copy)"), "\(second.error)")
            // A known store needs no new identity.
            let needless = try await Program.gateway.run("identity new --store \(original)")
            needless.expect(3, error: "keeps its client ID")
            let newIdentity = try await Self.identity(copy, "new")
            #expect(
                newIdentity.hasPrefix("waterh-") && newIdentity.prefix { $0 != "," } != name.prefix { $0 != "," }
                    && newIdentity.hasSuffix("b.sqlite"))
        }
        await second.says("MQTT: connected", within: 60)
        try await second.stop()
    }

    /// With the original's prefix the copy would overwrite the retained topics of its original. It gets no identity
    /// before it has a prefix of its own, whatever the source of the prefix.
    @Test(arguments: ["nowhere", "settings", "file"]) func `a copied store does not publish to the original's topics`(
        _ prefixSource: String
    ) async throws {
        let (broker, folder) = (try await Broker(), try TemporaryFolder())
        func config(_ store: String, _ prefix: String) throws -> String {
            let line = prefixSource == "file" ? "prefix = \"\(prefix)\"" : ""
            return try Self.configure(folder, store: store, mqtt: "url = \"\(broker.url)\"\n\(line)")
        }
        // A state folder for each service: the service of the copy has no data of the original's clients.
        func serve(_ config: String, as name: String) throws -> RunningProgram {
            try Program.gateway.start(
                "run --config \(config)", environment: ["XDG_STATE_HOME": folder.file("state-\(name)")])
        }
        func setPrefix(_ prefix: String, _ store: String) async throws {
            try await Program.tracker.succeed("settings set mqtt.prefix \(prefix) --store \(folder.file(store))")
        }
        if prefixSource == "settings" { try await setPrefix("water", "a.sqlite") }
        let service = try serve(config("a.sqlite", "water"), as: "a")
        let subscriber = try await broker.listen("#")
        let prefix = prefixSource == "nowhere" ? "hydration" : "water"
        #expect(
            await eventually { subscriber.payloads(at: "\(prefix)/availability").last == "online" }, "\(service.error)")
        try await service.stop()
        try await Self.copyStore(in: folder)
        let rejected = try await Program.gateway.run("identity new --config \(config("b.sqlite", "water"))")
        rejected.expect(3, error: "\(prefix)/…", prefixSource == "file" ? "[mqtt]" : "settings set mqtt.prefix NAME")
        // The identity is still unassigned, and the original's topics are unchanged.
        let shown = try await Program.gateway.run("identity --config \(config("b.sqlite", "water"))")
        #expect(shown.output.contains("a.sqlite"), "\(shown.output)")
        if prefixSource != "file" { try await setPrefix("mine", "b.sqlite") }
        let newIdentity = try await Program.gateway.succeed("identity new --config \(config("b.sqlite", "mine"))")
        #expect(newIdentity.output.contains("b.sqlite"))
        let second = try serve(config("b.sqlite", "mine"), as: "b")
        await second.says("MQTT: connected")
        try await second.stop()
        #expect(
            subscriber.payloads(at: "\(prefix)/state").last?.isEmpty == false
                && subscriber.payloads(at: "\(prefix)/availability").last == "offline")
    }

    @Test func `showing the MQTT identity changes nothing`() async throws {
        let folder = try TemporaryFolder()
        let store = folder.file("a.sqlite")
        try await Release09Store.unpack(to: store)
        try StoreFile(store).execute("INSERT INTO outlet (name, id, position) VALUES ('mqtt', 'abc', 0)")
        #expect(try await Self.identity(store) == "waterh-abc")
        #expect(try StoreFile(store).rows("PRAGMA user_version") == [["30"]])
    }

    /// A possible password appears in no message and in no list of settings, wherever it is configured.
    @Test(arguments: [
        "password = \"two\ts3cr3t\"", "url = \"mqtt://me:s3cr3t@h\"", "url = \"me:s3cr3t@h\"",
        "passwort = \"s3cr3t\"",
    ])
    func `no message or log line contains the MQTT password`(_ line: String) async throws {
        let folder = try TemporaryFolder()
        let config = try Self.configure(folder, store: "s.sqlite", mqtt: line)
        let read = try await Program.gateway.run("run --config \(config)")
        #expect(
            read.exitCode == 4 && !(read.error + read.output).contains("s3cr3t")
                && read.error.contains("'\(line.split(separator: " ")[0])' of [mqtt]"), "\(read.error)")
        let parts = line.components(separatedBy: " = ")
        let (key, value) = (parts[0], parts[1].replacing("\"", with: ""))
        guard key == "url" || key == "password" else { return }
        let store = ["--store", folder.file("t.sqlite")]
        let set = try await Program.tracker.run(["settings", "set", "mqtt.\(key)", value] + store)
        #expect(set.exitCode != 0 && !(set.error + set.output).contains("s3cr3t"), "\(set.error)")
        if value.contains("://") { #expect(set.error.contains("mqtt.passwordFile"), "\(set.error)") }
        let all = try await Program.tracker.succeed(["settings", "get"] + store)
        #expect(!all.output.contains("s3cr3t"))
    }

    @Test func `a running service applies changed MQTT settings, except those of its file`() async throws {
        let (broker, pair) = (try await Broker(), try await Pair())
        var service = try Program.gateway.start("run --config \(pair.configure())")
        try await pair.sip(50)
        await service.says("1 received")
        try await pair.tracker("settings set mqtt.url \(broker.url)")
        await service.says("MQTT: connected with \(broker.url) at hydration")
        let config = try pair.configure("[mqtt]\nprefix = \"home/water\"\ncommands = true")
        try await service.stop()
        service = try Program.gateway.start("run --config \(config)")
        await service.says("at home/water, commands")
        try await broker.publish("home/water/cmd/log", "cup")
        #expect(try await eventually { try await pair.tracker("status").output.contains("300 ml") })
        try await pair.tracker("settings set mqtt.url unset")
        await service.says("no broker is configured now")
        try await service.stop()
    }
}
