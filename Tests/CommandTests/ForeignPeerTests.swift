import Foundation
import Support
import Testing

/// The commands against independent peers: see `Tests/Foreign`.
@Suite struct ForeignPeerCommandTests {
    private static let scripts = Program.repository + "/Tests/Foreign/"
    private let emulator = Program("waterh-emulator")
    private let gateway = Program("waterh-gateway")

    private func python() throws -> Program {
        try #require(Program(system: "python3"), "python3 is not installed: run hardware/bench setup")
    }

    private func json(_ text: some StringProtocol) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "\(text)")
    }

    // MARK: A foreign central at our emulator

    private func withEmulator(
        _ profile: String, sips: [Int], _ body: (_ ask: ([String]) async throws -> [String: Any]) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let (link, control) = (folder.url("e").path, "unix:" + folder.url("c").path)
        let bottle = try emulator.start(["run", "--link", "unix:" + link, "--profile", profile, "--control", control])
        _ = try await bottle.line { $0.hasPrefix("ready ") }
        for sip in sips {
            let result = try await emulator.run(["control", "--control", control, "sip", "\(sip)"])
            #expect(result.exitCode == 0, "\(result.error)")
        }
        try await body { arguments in
            let result = try await python().run([Self.scripts + "att_central.py", link] + arguments)
            #expect(result.exitCode == 0, "\(result.error)\n\(bottle.error)")
            return try json(result.output)
        }
        bottle.send(signal: SIGTERM)
        let end = try await bottle.finish()
        #expect(end.exitCode == 0, "\(end.error)")
        #expect(!FileManager.default.fileExists(atPath: link))
    }

    /// The amounts of 13-byte records in hex: bytes 6 and 7.
    private func amounts(_ answer: [String: Any]) throws -> [Int] {
        try #require(answer["records"] as? [String]).map { try #require(Int($0.dropFirst(12).prefix(4), radix: 16)) }
    }

    @Test func `a foreign central reads the retail bottle's log`() async throws {
        try await withEmulator("retail", sips: [120, 80, 45]) { ask in
            let first = try await ask(["drain", "retail"])
            let second = try await ask(["drain", "retail"])
            #expect(try amounts(first) == [120, 80, 45])
            #expect(first["battery"] as? Int == 97)
            #expect(try amounts(second) == [])
        }
    }

    @Test func `a foreign central reads the draft bottle's log`() async throws {
        try await withEmulator("draft", sips: [120, 80, 45]) { ask in
            for way in [["drain", "draft"], ["founding"]] {
                let answer = try await ask(way)
                #expect(try amounts(answer) == [120, 80, 45])
            }
        }
    }

    @Test(arguments: ["retail", "draft"])
    func `the emulator survives a misbehaving central`(profile: String) async throws {
        try await withEmulator(profile, sips: [100]) { ask in
            let survived = try await ask(["misuse"])["survived"] as? [String]
            let answer = try await ask(["drain", profile])
            #expect(survived?.count == 7)
            #expect(try amounts(answer) == [100])
        }
    }

    // MARK: Our gateway at a foreign bottle

    private func withBottle(
        _ arguments: [String],
        _ body: (_ poll: () async throws -> Program.Result, _ heard: () -> [String: Any]?) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let path = folder.url("b").path
        let bottle = try python().start([Self.scripts + "att_bottle.py", path, "--connections", "20"] + arguments)
        _ = try await bottle.line { $0 == "ready" }
        try await body(
            {
                try await gateway.run(
                    ["poll", "--link", "unix:" + path, "--store", folder.url("s").path, "--json"], limit: 90)
            },
            { bottle.output.split(separator: "\n").last.flatMap { try? json($0) } })
        bottle.send(signal: SIGKILL)
    }

    @Test(arguments: [1, 8, 20, 500])
    func `the gateway reads the log of a foreign bottle`(records: Int) async throws {
        try await withBottle(["--records", "\(records)"]) { poll, heard in
            let first = try json(try await poll().output)
            #expect(first["new"] as? Int == records)
            #expect(first["acknowledged"] as? Int == records)
            #expect(first["complete"] as? Bool == true)
            #expect(first["quarantined"] as? Int == 0)
            #expect(first["batteryPercent"] as? Int == 90)
            #expect(first["bottle"] as? String == "A4:C1:38:0F:0E:0D")
            let second = try json(try await poll().output)
            #expect(second["received"] as? Int == 0)
            let bottle = try #require(heard())
            #expect(bottle["acknowledged"] as? Int == records)
            #expect(bottle["left"] as? Int == 0)
        }
    }

    @Test func `a bottle that sends responses without a request is polled`() async throws {
        try await withBottle(["--lie", "unasked"]) { poll, heard in
            let result = try await poll()
            #expect(result.exitCode == 0, "\(result.error)")
            #expect((heard()?["acknowledged"] as? Int ?? 0) > 0)
        }
    }

    @Test(arguments: [
        ("no-mtu", "MTU is 23"), ("mute", "did not answer"), ("endless-services", "more than 256 services"),
        ("wrong-lengths", "malformed Read By Group Type Response"),
        ("short-values", "malformed Handle Value Notification"), ("endless-notifications", "error: "),
        ("hang-up", "closed the connection"),
        ("half-log", "the log broke off"),
    ])
    func `the gateway acknowledges nothing of a malicious bottle`(lie: String, words: String) async throws {
        try await withBottle(["--lie", lie]) { poll, heard in
            let result = try await poll()
            #expect([1, 4].contains(result.exitCode) && !result.signalled, "\(result.exitCode)")
            #expect(result.error.lowercased().contains(words.lowercased()), "\(result.error)")
            #expect((heard()?["acknowledged"] as? Int ?? 0) == 0)
        }
    }
}
