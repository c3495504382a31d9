import Foundation
import Support
import Testing

/// The real programs with a real mosquitto.
@Suite struct ServiceMQTTTests {
    private func set(_ store: String, _ settings: [String: String]) async throws {
        for (name, value) in settings {
            let result = try await Program("waterh-tracker").run(["settings", "set", name, value, "--store", store])
            #expect(result.exitCode == 0, "\(result.error)")
        }
    }

    private func json(_ text: String) -> [String: Any] { (try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]) ?? [:] }

    /// Sips with the broker away, and the service killed in between: all of them arrive, in order, with their own times; and who looks meanwhile
    /// learns that nobody is there.
    @Test func theBrokerGoesAndTheServiceIsKilled() async throws {
        let (broker, pair) = (try await Broker(), try await Pair())
        try await set(pair.store, ["mqtt.url": broker.url])
        let ear = try broker.listen("hydration/#", as: "ear")
        func serve() throws -> RunningProgram { try Program("waterh-gateway").start(["run", "--link", pair.socket, "--store", pair.store]) }
        var service = try serve()
        #expect(await event { service.error.contains("MQTT: connected") ? true : nil } == true, "\(service.error)")
        try await pair.sip(100)
        service.send(signal: SIGHUP)
        #expect(await event { ear.payloads(at: "hydration/sip").isEmpty ? nil : true } == true, "\(service.error)")

        service.send(signal: SIGKILL)
        _ = try await service.finish()
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
            #expect(await event { service.error.contains("Today: \(total) ml") ? true : nil } == true, "\(service.error)")
            service.send(signal: SIGKILL)
            _ = try await service.finish()
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
        let drinks = try await Program("waterh-tracker").run(["history", "--day", "today", "--json", "--store", pair.store])
        let stored = (json(drinks.output)["drinks"] as? [[String: Any]])?.compactMap { $0["at"] as? String }
        #expect(Set(sips.compactMap { $0["at"] as? String }) == Set(stored ?? []), "\(drinks.output) \(drinks.error)")
        #expect(await event { ear.payloads(at: "hydration/availability").last == "online" ? true : nil } == true)
        service.send(signal: SIGTERM)
        let end = try await service.finish(limit: 20)
        #expect(end.exitCode == 0 && !end.error.contains("error:"), "\(end.error)")
        #expect(await event { ear.payloads(at: "hydration/availability").last == "offline" ? true : nil } == true)
    }

    /// Settings of a running service, and what its file says over them.
    @Test func theServiceFollowsSettingsAndFile() async throws {
        let (broker, pair) = (try await Broker(), try await Pair())
        let config = pair.folder.url("waterh.toml")
        func write(_ more: String) throws { try Data("link = \"\(pair.socket)\"\nstore = \"\(pair.store)\"\n\(more)".utf8).write(to: config) }
        try write("")
        let service = try Program("waterh-gateway").start(["run", "--config", config.path])
        try await pair.sip(50)
        #expect(await event { service.error.contains("1 received") ? true : nil } == true, "\(service.error)")
        try await set(pair.store, ["mqtt.url": broker.url])
        #expect(await event { service.error.contains("MQTT: connected with \(broker.url) at hydration") ? true : nil } == true, "\(service.error)")
        try write("[mqtt]\nprefix = \"home/water\"\ncommands = true\n")
        service.send(signal: SIGHUP)
        #expect(await event { service.error.contains("at home/water, commands") ? true : nil } == true, "\(service.error)")
        try await broker.publish("home/water/cmd/log", "cup")
        #expect(try await event { try await Program("waterh-tracker").run(["status", "--store", pair.store]).output.contains("300 ml") ? true : nil } == true)
        // A file that is wrong changes nothing.
        try write("[mqtt]\nprefix = \"a/#\"\n")
        service.send(signal: SIGHUP)
        #expect(await event { service.error.contains("'prefix' of [mqtt]") ? true : nil } == true, "\(service.error)")
        try write("")
        try await set(pair.store, ["mqtt.url": "unset"])
        service.send(signal: SIGHUP)
        #expect(await event { service.error.contains("name no broker any more") ? true : nil } == true, "\(service.error)")
        service.send(signal: SIGTERM)
        #expect(try await service.finish(limit: 20).exitCode == 0)
    }
}
