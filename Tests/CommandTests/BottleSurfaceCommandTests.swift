import Foundation
import Support
import Testing

/// Light and screen of the bottle as the emulator reports them, controlled by the running service.
@Suite struct BottleSurfaceCommandTests {
    @Test func `the light follows the day and is written only on a change`() async throws {
        let pair = try await Pair()
        // A zone in which it is afternoon now: with nothing drunk, the day has a deficit.
        let hour = Int(Date().timeIntervalSince1970) / 3600 % 24
        let east = (15 - hour + 36) % 24 - 12
        let environment = [
            "WATERH_STORE": pair.store, "WATERH_ZONE": "Etc/GMT\(east > 0 ? "-" : "+")\(abs(east))",
            "HOME": pair.folder.path, "DBUS_SESSION_BUS_ADDRESS": "",
        ]
        func tracker(_ words: String...) async throws {
            let result = try await Program("waterh-tracker").run(words, environment: environment)
            #expect(result.exitCode == 0, "\(result.error)")
        }
        func bottle() async throws -> [String: Any] {
            let result = try await Program("waterh-emulator").run([
                "control", "--control", pair.control, "status", "--json",
            ])
            let reply = try #require(
                try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any],
                "\(result.output)\(result.error)")
            return reply["status"] as? [String: Any] ?? reply
        }
        func until(_ light: String) async throws -> [String: Any] {
            let found = await event(within: 30) { () async -> Bool? in
                (try? await bottle()["light"] as? String)?.hasPrefix(light) == true ? true : nil
            }
            let seen = try await bottle()
            #expect(found == true, "\(seen)")
            return seen
        }
        let untouched = try await bottle()["light"] as? String
        let service = try Program("waterh-gateway").start(
            ["run", "--link", pair.socket, "--listen", "off"], environment: environment)
        defer { service.send(signal: SIGTERM) }
        #expect(
            await event(within: 20) {
                service.error.contains("Adopted:") || service.error.contains("The bottle") ? true : nil
            } == true, "\(service.error)")
        _ = try await bottle()
        #expect(try await bottle()["light"] as? String == untouched)
        try await tracker(
            "settings", "set", "bottle.light", "true", "bottle.showGoal", "true", "hydration.goalMl", "2200")
        service.send(signal: SIGHUP)
        let strong = try await until("breathe, colour E5 39 35")
        // A manual entry below the goal, then one that reaches it.
        try await tracker("log", "200")
        #expect((try await bottle()["light"] as? String)?.hasPrefix("breathe") == true)
        try await tracker("log", "2000")
        let dark = try await until("blue, colour 00 00 00")
        #expect(dark["goalMl"] as? Int == 2200)
        #expect(try #require(dark["blinks"] as? Int) > #require(strong["blinks"] as? Int))
        let blinks = await event(within: 20) { () async -> Int? in
            guard let seen = try? await bottle(), seen["amountMl"] as? Int == 2200 else { return nil }
            return seen["blinks"] as? Int
        }
        for _ in 0..<3 {
            let connections = try await bottle()["connections"] as? Int
            let nudge = try await Program("waterh-gateway").run(["nudge"], environment: environment)
            #expect(nudge.exitCode == 0, "\(nudge.error)")
            _ = await event(within: 20) { () async -> Bool? in
                guard let seen = try? await bottle() else { return nil }
                return seen["connections"] as? Int != connections && seen["connected"] as? Bool == false ? true : nil
            }
        }
        #expect(try await bottle()["blinks"] as? Int == blinks)
    }
}
