import Foundation
import Support
import Testing

@Suite struct HoldCommandTests {
    /// A client of the event stream until it is deallocated.
    private func watcher(_ pair: Pair, _ page: String) async throws -> RunningProgram {
        let signedIn = try await Pair.signedIn(pair.store)
        return try Program(path: "/usr/bin/curl").start([
            "-sS", "-N", "--max-time", "60", signedIn[0], signedIn[1],
            page + "api/v1/events?fields=dailyTotalMl,service",
        ])
    }

    private func isConnected(_ pair: Pair) async throws -> Bool {
        let result = try await Program("waterh-emulator").run([
            "control", "--control", pair.control, "status", "--json",
        ])
        let status = try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any]
        return status?["connected"] as? Bool == true
    }

    private func served(_ pair: Pair, _ more: [String] = []) async throws -> (service: RunningProgram, page: String) {
        let service = try Program("waterh-gateway").start(
            ["run", "--link", pair.socket, "--store", pair.store, "--listen", "127.0.0.1:0", "--verbose"] + more,
            environment: [
                "XDG_RUNTIME_DIR": pair.folder.path, "TMPDIR": pair.folder.path, "DBUS_SESSION_BUS_ADDRESS": "",
            ])
        let line = try #require(
            await event { service.error.firstMatch(of: /http:\/\/[0-9.:]+\//).map { String($0.0) } }, "\(service.error)"
        )
        return (service, line)
    }

    @Test(arguments: ["retail", "draft"]) func `a drink appears in the event stream while a viewer is active`(
        profile: String
    ) async throws {
        let pair = try await Pair(["--profile", profile])
        let (service, page) = try await served(pair)
        let stream = try await watcher(pair, page)
        #expect(
            await event { stream.output.contains(#""stage":"connected""#) ? true : nil } == true, "\(service.error)")
        #expect(try await isConnected(pair))
        for total in [250, 500, 750] {
            let start = ContinuousClock.now
            try await pair.sip(250)
            #expect(
                await event { stream.output.contains("\"dailyTotalMl\":\(total)") ? true : nil } == true,
                "\(service.error)")
            // Draft bottles send no notifications: the service polls them every few seconds. The test allows for a busy
            // machine. HoldTests has the exact times.
            #expect(ContinuousClock.now - start < .seconds(profile == "draft" ? 20 : 10))
        }
        #expect(try await service.stop(limit: 60).exitCode == 0)
        #expect(try await !isConnected(pair))
        stream.send(signal: SIGTERM)
    }

    @Test func `a service that never holds disconnects also while a viewer is active`() async throws {
        let pair = try await Pair()
        _ = try await Program("waterh-tracker").run(["settings", "set", "bottle.hold", "never", "--store", pair.store])
        let (service, page) = try await served(pair)
        let stream = try await watcher(pair, page)
        #expect(await event { stream.output.contains("\"lastPoll\":1") ? true : nil } == true, "\(service.error)")
        #expect(try await event { try await !isConnected(pair) ? true : nil } == true)
        #expect(!stream.output.contains(#""stage":"connected""#))
        #expect(try await service.stop(limit: 60).exitCode == 0)
        stream.send(signal: SIGTERM)
    }

    @Test func `a command uses the open connection`() async throws {
        let pair = try await Pair()
        let (service, page) = try await served(pair)
        let stream = try await watcher(pair, page)
        #expect(
            await event { stream.output.contains(#""stage":"connected""#) ? true : nil } == true, "\(service.error)")
        let command = [
            "-sS", "--max-time", "20", "-H", "Content-Type: application/json", "-d",
            #"{"command":"goal","arguments":["1900"]}"#, page + "api/v1/bottle/commands",
        ]
        let reply = try await Program(path: "/usr/bin/curl").run(command + Pair.signedIn(pair.store))
        #expect(reply.output.contains("1900"), "\(reply.output)")
        #expect(try await isConnected(pair))
        // The bottle disconnects, and the service reconnects.
        _ = try await Program("waterh-emulator").run(["control", "--control", pair.control, "drop"])
        try await pair.sip(120)
        #expect(
            await event(within: 40) { stream.output.contains("\"dailyTotalMl\":120") ? true : nil } == true,
            "\(service.error)")
        #expect(try await service.stop(limit: 60).exitCode == 0)
        stream.send(signal: SIGTERM)
    }
}
