import Foundation
import Support
import Testing

@Suite(.timeLimit(.minutes(5))) struct ReleaseRaceTests {
    private static let (address, other) = ("A4:C1:38:01:02:03", "A4:C1:38:09:09:09")

    /// - Parameter delay: milliseconds after the connection to the bottle.
    @Test(arguments: [0, 150, 400, 900, 1800, 3000])
    func `a bottle released during a poll stays released`(_ delay: Int) async throws {
        let pair = try await Pair([
            "--address", Self.address, "--capture", Program.repository + "/captures/boost_two-days.btsnoop",
            "--restamp", "today", "--faults", "slow=60,gap=120,frame=4",
        ])
        let (broker, gateway) = (try await Broker(), Program("waterh-gateway"))
        for address in [Self.address, Self.other] {
            #expect(try await gateway.run(["adopt", address, "--store", pair.store]).exitCode == 0)
        }
        let config = pair.folder.file("waterh.toml")
        try Data("link = \"\(pair.socket)\"\nstore = \"\(pair.store)\"\n[mqtt]\nurl = \"\(broker.url)\"\n".utf8).write(
            to: URL(fileURLWithPath: config))
        let environment = ["XDG_RUNTIME_DIR": pair.folder.path, "HOME": pair.folder.path]
        let ear = try await broker.listen("homeassistant/#")
        func device() -> String? {
            let own = Self.address.lowercased().filter { $0 != ":" }
            let topics = ear.output.split(separator: "\n").compactMap {
                $0.split(separator: " ").dropFirst().first.map(String.init)
            }
            return topics.first { $0.lowercased().contains(own) }
        }
        let service = try gateway.start(
            ["run", "--config", config, "--listen", "off", "--verbose"], environment: environment)
        #expect(
            await event(within: 60) { service.error.contains("MQTT: connected") && device() != nil ? true : nil }
                == true, "\(service.error) \(ear.output)")
        try await Task.sleep(for: .milliseconds(delay))
        let release = try await gateway.run(
            ["adopt", "--release", Self.address, "--config", config], environment: environment)
        #expect(
            release.exitCode == 0 && release.output.contains("Released \(Self.address)"), "\(release.error)")
        let before = try await records(pair)
        // The running poll ends, and the device is removed.
        let topic = try #require(device())
        #expect(
            await event(within: 60) { ear.payloads(at: topic).last == "" ? true : nil } == true,
            "\(topic): \(ear.payloads(at: topic).map { $0.prefix(40) })")
        #expect(try await event(within: 60) { try await isIdle(pair) ? true : nil } == true, "\(service.error)")
        service.send(signal: SIGHUP)
        let hasChanged: Bool? = try await event(within: 2) {
            try await records(pair) != before || ear.payloads(at: topic).last != "" ? true : nil
        }
        #expect(
            hasChanged == nil, "after the release something is acknowledged, or the device comes back: \(service.error)"
        )
        #expect(
            try await sql(
                pair,
                """
                SELECT isOwn FROM bottle JOIN bottle_name ON bottle.id = bottle_name.bottle WHERE bottle_name.name \
                = '\(Self.address)'
                """
            ) == "0")
        #expect(try await service.stop(limit: 30).exitCode == 0, "\(service.error)")
        // The bottle keeps its records for the next store.
        #expect(try await gateway.run(["adopt", Self.address, "--store", pair.store]).exitCode == 0)
        // A bottle this slow needs several polls. A poll without progress has exit code 1.
        var said = ""
        for _ in 0..<5 {
            let poll = try await gateway.run([
                "poll", "--bottle", Self.address, "--link", pair.socket, "--store", pair.store,
            ])
            said += poll.output + poll.error
            if poll.exitCode == 0, try await records(pair) == 0 { break }
        }
        #expect(try await records(pair) == 0, "\(said)")
        #expect(try await sql(pair, "SELECT count(*) FROM bottle_record") == "40", "\(said)")
        pair.emulator.send(signal: SIGTERM)
    }

    private func status(_ pair: Pair) async throws -> [String: Any] {
        let result = try await Program("waterh-emulator").run([
            "control", "--control", pair.control, "--json", "status",
        ])
        return try #require(
            try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any],
            "\(result.output)\(result.error)")
    }

    /// The number of records in the bottle.
    private func records(_ pair: Pair) async throws -> Int { try #require(try await status(pair)["records"] as? Int) }

    private func isIdle(_ pair: Pair) async throws -> Bool { try await status(pair)["connected"] as? Bool == false }

    private func sql(_ pair: Pair, _ text: String) async throws -> String {
        let tool = try #require(Program(system: "sqlite3"), "this test needs sqlite3: apt-get install sqlite3")
        return try await tool.run([pair.store, text]).output.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
