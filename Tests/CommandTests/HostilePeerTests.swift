import Bluetooth
import BottleProtocol
import Foundation
import Support
import Testing

/// Malicious peripherals over the real socket against the built command: one clear line, the correct exit code, bounded
/// time and memory.
@Suite(.serialized) struct GatewayHostileTests {
    /// A GATT peripheral with a bottle's attribute table. It notifies what the test supplies when a central requests
    /// the log.
    final class Liar: Sendable {
        let link: ATTPeripheralLink
        let socket: String
        private let folder: TemporaryFolder
        private let work: Task<Void, Never>

        init(_ answer: @escaping @Sendable (Int) -> [UInt8]?) async throws {
            folder = try TemporaryFolder()
            let path = folder.file("liar.sock")
            socket = "unix:" + path
            let link = ATTPeripheralLink(try UnixSocket(path: path))
            self.link = link
            try await link.open(
                GATTApplication(
                    name: String(repeating: "W", count: 248),
                    services: [
                        LocalService(
                            uuid: 0xFFE5,
                            characteristics: [LocalCharacteristic(uuid: 0xFFE9, properties: [.writeWithoutResponse])]),
                        LocalService(
                            uuid: 0xFFE0, characteristics: [LocalCharacteristic(uuid: 0xFFE4, properties: [.notify])]),
                    ]))
            work = Task {
                var sent = 0
                for await event in link.events {
                    let isExplicit =
                        if case .write(_, 0xFFE9, HostCommand.drinkLog.encoded, _) = event { true } else { false }
                    let isGone = if case .notified = event { true } else { false }
                    guard isExplicit && sent == 0 || isGone else { continue }
                    if let value = answer(sent) { link.perform(.notify(0xFFE4, value: value)) }
                    sent += 1
                }
            }
        }

        func close() async {
            await link.close()
            work.cancel()
        }
    }

    private func poll(_ socket: String) async throws -> (Program.Result, seconds: Double) {
        let folder = try TemporaryFolder()
        let clock = ContinuousClock()
        var result: Program.Result?
        let time = try await clock.measure {
            result = try await Program.gateway.run(
                "poll --link \(socket) --store \(folder.file("s.sqlite")) --json", limit: 60)
        }
        return (try #require(result), Double(time.components.seconds))
    }

    @Test func `a poll ends at its limit when notifications are endless`() async throws {
        let liar = try await Liar { [0xEE, UInt8($0 & 0xFF), UInt8($0 >> 8 & 0xFF)] }
        let (result, seconds) = try await poll(liar.socket)
        await liar.close()
        #expect(result.exitCode == 4)
        #expect(result.error.contains("Unexpected bottle response"))
        #expect(seconds < 40)
    }

    @Test func `a poll reads a part of an endless log`() async throws {
        // An endless sequence of frames, each with one different record.
        let liar = try await Liar { number in
            [
                0x50, 0x54, 0, 15, 14, 6, 26, 6, 15, UInt8(number / 3600 % 24), UInt8(number / 60 % 60),
                UInt8(number % 60), 0, 100, 0, 0, 1, 97, 0,
            ]
        }
        let (result, seconds) = try await poll(liar.socket)
        await liar.close()
        let object = try JSONSerialization.jsonObject(with: Data(result.outputBytes)) as? [String: Any]
        // Records that differ in each reading are not acknowledged. On a busy machine the peripheral can be silent for
        // seconds. That ends a reading, and the result can be "complete".
        #expect(object?["acknowledged"] as? Int == 0)
        // The poll ends at its limit, or after eight readings that differ, depending on the speed of the machine.
        #expect((1...9137).contains(object?["received"] as? Int ?? 0))
        #expect(seconds < 40)
    }

    @Test func `an endless frame ends the poll`() async throws {
        let liar = try await Liar {
            $0 == 0 ? [0x50, 0x54, 0xFF, 0xFF, 14, 6] + Array(repeating: 0x1A, count: 13) : nil
        }
        let (result, seconds) = try await poll(liar.socket)
        await liar.close()
        #expect(result.exitCode == 1 || result.exitCode == 4)
        #expect(!result.error.isEmpty)
        #expect(seconds < 40)
    }

    @Test func `a peer that does not speak ATT is reported`() async throws {
        try await concurrently(
            [
                [], [0x03], [0x03, 0xFF], [0xFF, 0xFF, 0xFF], Array(repeating: 0x09, count: 600),
                [0x01, 0x02, 0x00, 0x00, 0x01],
            ] as [[UInt8]]
        ) { bytes in
            let folder = try TemporaryFolder()
            let place = try UnixSocket(path: folder.file("raw.sock"))
            let listener = try place.listen()
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
            let (result, seconds) = try await poll("unix:" + place.path)
            shutdown(listener, Int32(SHUT_RDWR))
            Glibc.close(listener)
            #expect([1, 4, 5].contains(result.exitCode), "\(bytes): \(result.error)")
            #expect(result.error.hasPrefix("error: ") || result.error.contains("\nerror: "), "\(result.error)")
            #expect(!result.signalled && seconds < 40)
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
    private let emulator = Program.emulator
    private let gateway = Program.gateway

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
        let (link, control) = (folder.file("e"), "unix:" + folder.file("c"))
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
            }, { bottle.output.split(separator: "\n").last.flatMap { try? json($0) } })
        bottle.send(signal: SIGKILL)
    }

    @Test(arguments: [1, 8, 20, 500]) func `the gateway reads the log of an independent bottle emulator`(records: Int)
        async throws
    {
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
            try await withBottle(["--lie", lie]) { poll, heard in
                let result = try await poll()
                #expect([1, 4].contains(result.exitCode) && !result.signalled, "\(lie): \(result.exitCode)")
                #expect(result.error.lowercased().contains(words.lowercased()), "\(lie): \(result.error)")
                #expect((heard()?["acknowledged"] as? Int ?? 0) == 0, "\(lie)")
            }
        }
    }
}

/// Whatever the emulator's faults drop, each drink is in the journal or still in the bottle.
@Suite struct UnseenLossCommandTests {
    private struct Loss: Sendable {
        var profile: String
        var faults: String
        var seed: Int
        var sips: Int
    }

    @Test func `every drink is stored despite undetected losses`() async throws {
        try await concurrently([
            Loss(profile: "retail", faults: "split=20,drop=3", seed: 16, sips: 15),
            Loss(profile: "draft", faults: "drop=20", seed: 3, sips: 40),
            Loss(profile: "draft", faults: "drop=20", seed: 16, sips: 40),
            Loss(profile: "retail", faults: "frame=16,drop=10", seed: 5, sips: 40),
            Loss(profile: "retail", faults: "counts,ring=20", seed: 1, sips: 25),
        ]) { loss in
            let pair = try await Pair(["--profile", loss.profile, "--faults", loss.faults, "--seed", "\(loss.seed)"])
            for ml in 0..<loss.sips { try await pair.sip(100 + ml) }
            let expected = loss.faults.contains("ring=20") ? 20 : loss.sips
            for _ in 0..<3 {
                let poll = try await pair.poll().object
                func count(_ keys: String...) -> Int { keys.reduce(0) { $0 + (poll[$1] as? Int ?? 0) } }
                let stored = count("new", "duplicates")
                #expect(
                    stored <= count("received") && count("acknowledged", "unconfirmed") <= stored, "\(loss): \(poll)")
                let (drinks, left) = ((poll["state"] as? [String: Any])?["drinkCount"] as? Int, try pair.records())
                #expect((drinks ?? -1) + left >= expected, "\(loss): \(drinks ?? -1) drinks, \(left) in the bottle")
                if left == 0 { break }
            }
        }
    }

    @Test func `records resolved in a poll are reported once`() async throws {
        let pair = try await Pair(["--profile", "retail", "--faults", "split=20,drop=3", "--seed", "3"])
        for ml in 100..<115 { try await pair.sip(ml) }
        let poll = try await Program.gateway.run(pair.pollArguments)
        let drinks = poll.lines.filter { $0.contains(/1[01]\d ml/) && !$0.contains("Today") }
        #expect(drinks.count == 15 && !drinks.contains { $0.contains("quarantined") }, "\(poll.output)")
    }
}
