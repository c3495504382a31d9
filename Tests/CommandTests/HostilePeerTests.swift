import Bluetooth
import Foundation
import Support
import Testing

/// Malicious peripherals over the real socket against the built command: one clear line and the correct exit code in
/// bounded time.
@Suite struct GatewayHostileTests {
    @Test func `a peer that does not speak ATT is reported`() async throws {
        try await concurrently(
            [
                [], [0x03], [0x03, 0xFF], [0xFF, 0xFF, 0xFF], Array(repeating: 0x09, count: 600),
                [0x01, 0x02, 0x00, 0x00, 0x01],
            ] as [[UInt8]]
        ) { bytes in
            let folder = try TemporaryFolder()
            let unixSocket = try UnixSocket(path: folder.file("raw.sock"))
            let listener = try unixSocket.listen().descriptor
            Thread.detachNewThread {
                for _ in 0..<4 {
                    let descriptor = accept4(listener)
                    guard descriptor >= 0 else { return }
                    var buffer = [UInt8](repeating: 0, count: 1024)
                    _ = recv(descriptor, &buffer, buffer.count, 0)
                    _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
                    _ = recv(descriptor, &buffer, buffer.count, 0)
                    Glibc.close(descriptor)
                }
            }
            let result = try await Program.gateway.run(
                "poll --link unix:\(unixSocket.path) --store \(folder.file("s.sqlite")) --json", limit: 40)
            shutdown(listener, Int32(SHUT_RDWR))
            Glibc.close(listener)
            #expect([1, 4, 5].contains(result.exitCode), "\(bytes): \(result.error)")
            #expect(result.error.hasPrefix("error: ") || result.error.contains("\nerror: "), "\(result.error)")
            #expect(!result.signalled)
        }
    }

    /// Waits at most 30 seconds for a connection on a non-blocking listener.
    private func accept4(_ listener: Int32) -> Int32 {
        var ready = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
        guard Glibc.poll(&ready, 1, 30_000) > 0 else { return -1 }
        return accept(listener, nil, nil)
    }
}

/// The commands against independent peers: see `Tests/Foreign`.
@Suite struct ForeignPeerCommandTests {
    private static let scripts = Program.repository + "/Tests/Foreign/"

    // MARK: A foreign central at our emulator

    private func withEmulator(
        _ profile: String, sips: [Int], _ body: (_ ask: ([String]) async throws -> [String: Any]) async throws -> Void
    ) async throws {
        let pair = try await Pair(["--profile", profile])
        let link = String(pair.socket.dropFirst("unix:".count))
        for ml in sips { try await pair.sip(ml) }
        try await body { arguments in
            let result = try await Program.python.run([Self.scripts + "att_central.py", link] + arguments)
            #expect(result.exitCode == 0, "\(result.error)\n\(pair.emulator.error)")
            return try result.object()
        }
        try await pair.emulator.stop()
        #expect(!FileManager.default.fileExists(atPath: link))
    }

    /// The amounts of 13-byte records in hex: bytes 6 and 7.
    private func amounts(_ answer: [String: Any]) throws -> [Int] {
        try #require(answer["records"] as? [String]).map { try #require(Int($0.dropFirst(12).prefix(4), radix: 16)) }
    }

    @Test func `an independent central reads the retail bottle's log`() async throws {
        try await withEmulator("retail", sips: [120, 80, 45]) { ask in
            let first = try await ask(["drain", "retail"])
            let second = try await ask(["drain", "retail"])
            #expect(try amounts(first) == [120, 80, 45])
            #expect(first["battery"] as? Int == 97)
            #expect(try amounts(second) == [])
        }
    }

    @Test func `an independent central reads the draft bottle's log`() async throws {
        try await withEmulator("draft", sips: [120, 80, 45]) { ask in
            for way in [["drain", "draft"], ["founding"]] {
                let answer = try await ask(way)
                #expect(try amounts(answer) == [120, 80, 45])
            }
        }
    }

    @Test(arguments: ["retail", "draft"]) func `the emulator survives a misbehaving central`(profile: String)
        async throws
    {
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
        _ body: (_ poll: () async throws -> Program.Result, _ bottleReport: () -> [String: Any]?) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let path = folder.url("b").path
        let bottle = try Program.python.start(
            [Self.scripts + "att_bottle.py", path, "--connections", "20"] + arguments)
        _ = try await bottle.line { $0 == "ready" }
        try await body(
            {
                try await Program.gateway.run(
                    ["poll", "--link", "unix:" + path, "--store", folder.url("s").path, "--json"], limit: 90)
            }, { bottle.output.split(separator: "\n").last.flatMap(\.jsonObject) })
        bottle.send(signal: SIGKILL)
    }

    @Test(arguments: [20, 500]) func `the gateway reads the log of an independent bottle emulator`(records: Int)
        async throws
    {
        try await withBottle(["--records", "\(records)"]) { poll, bottleReport in
            let first = try await poll().object()
            #expect(first["new"] as? Int == records)
            #expect(first["acknowledged"] as? Int == records)
            #expect(first["complete"] as? Bool == true)
            #expect(first["quarantined"] as? Int == 0)
            #expect(first["batteryPercent"] as? Int == 90)
            #expect(first["bottle"] as? String == "A4:C1:38:0F:0E:0D")
            let second = try await poll().object()
            #expect(second["received"] as? Int == 0)
            let bottle = try #require(bottleReport())
            #expect(bottle["acknowledged"] as? Int == records)
            #expect(bottle["left"] as? Int == 0)
        }
    }

    @Test func `a bottle that sends responses without a request is polled`() async throws {
        try await withBottle(["--lie", "unasked"]) { poll, bottleReport in
            let result = try await poll()
            #expect(result.exitCode == 0, "\(result.error)")
            #expect((bottleReport()?["acknowledged"] as? Int ?? 0) > 0)
        }
    }

    /// The bottles are polled at the same time, because most of them keep silent.
    @Test func `the gateway acknowledges nothing of a malicious bottle`() async throws {
        try await concurrently(
            [
                ("no-mtu", "MTU is 23"), ("mute", "did not answer"), ("endless-services", "more than 256 services"),
                ("wrong-lengths", "malformed Read By Group Type Response"),
                ("short-values", "malformed Handle Value Notification"), ("endless-notifications", "error: "),
                ("hang-up", "closed the connection"), ("half-log", "the log transfer stopped"),
            ], atOnce: 8
        ) { lie, words in
            try await withBottle(["--lie", lie]) { poll, bottleReport in
                let result = try await poll()
                #expect([1, 4].contains(result.exitCode) && !result.signalled, "\(lie): \(result.exitCode)")
                #expect(result.error.lowercased().contains(words.lowercased()), "\(lie): \(result.error)")
                #expect((bottleReport()?["acknowledged"] as? Int ?? 0) == 0, "\(lie)")
            }
        }
    }
}

@Suite struct LossyLinkCommandTests {
    @Test func `a poll reports records with a corrected date once`() async throws {
        let pair = try await Pair(["--profile", "retail", "--faults", "split=20,drop=3", "--seed", "3"])
        for ml in 100..<115 { try await pair.sip(ml) }
        let poll = try await Program.gateway.run(pair.pollArguments)
        let drinks = poll.lines.filter { $0.contains(/1[01]\d ml/) && !$0.contains("Today") }
        #expect(drinks.count == 15 && !drinks.contains { $0.contains("quarantined") }, "\(poll.output)")
    }
}
