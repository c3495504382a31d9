import Bluetooth
import CommandSupport
import Foundation
import Support
import Testing
import Emulator

@Suite struct ProfileCommandTests {
    static let replay = Program("waterh-replay")
    static let capture = Program.repository + "/captures/boost_two-days.btsnoop"

    /// Two peripherals on one adapter, in hex text.
    static let two = """
        2026-02-02T22:21:20.000Z connected C0:FF:EE:00:00:01
        2026-02-02T22:21:20.100Z = 2A00 48 69
        2026-02-02T22:21:20.200Z disconnected
        2026-02-02T22:21:21.000Z connected C0:FF:EE:00:00:02
        2026-02-02T22:21:21.100Z = 2A19 4D
        2026-02-02T22:21:21.200Z disconnected

        """

    @Test func `clone prints a summary and writes a document`() async throws {
        let folder = try TemporaryFolder()
        let result = try await Self.replay.run(["clone", Self.capture, "-o", folder.file("g.json")])
        #expect(
            result.output == """
                A4:C1:38:31:D1:D2 WaterH-Boost-24oz to \(folder.file("g.json")): 6 services, 7 characteristics (7 \
                discovered); 12 requests and 15 values in 2 conversations
                  gap: no advertisement in the capture
                  gap: the values of 2 readable characteristics were never read

                """)
        #expect(result.exitCode == 0 && result.error == "")
        let streamed = try await Self.replay.run(["clone", Self.capture, "-o", "-"])
        #expect(try streamed.outputBytes == [UInt8](Data(contentsOf: folder.url("g.json"))))
        #expect(streamed.error.hasPrefix("A4:C1:38:31:D1:D2 WaterH-Boost-24oz to standard output: 6 services"))
        let document = try #require(
            try JSONSerialization.jsonObject(with: Data(streamed.outputBytes)) as? [String: Any])
        #expect(document["gadget"] as? Int == 1)
    }

    @Test func `several peripherals are listed and selected by address or number`() async throws {
        let none = try await Self.replay.run(["clone", "-", "-o", "-"], input: Array(Self.two.utf8))
        #expect(none.exitCode == 2)
        #expect(
            none.error == """
                error: standard input has 2 peripherals
                  Select one with --device: 1 is C0:FF:EE:00:00:01 Hi (1 connection, 3 ATT PDUs from it); 2 is \
                C0:FF:EE:00:00:02 (1 connection, 3 ATT PDUs from it).

                """)
        for device in ["C0:FF:EE:00:00:02", "2"] {
            let one = try await Self.replay.run(
                ["clone", "-", "--device", device, "-o", "-"], input: Array(Self.two.utf8))
            #expect(one.exitCode == 0 && one.output.contains(#""address" : "C0:FF:EE:00:00:02""#), "\(one.error)")
        }
        let absent = try await Self.replay.run(
            ["clone", "-", "--device", "C0:FF:EE:00:00:09", "-o", "-"], input: Array(Self.two.utf8))
        #expect(absent.exitCode == 5 && absent.error.contains("no device C0:FF:EE:00:00:09 in standard input"))
        let wrong = try await Self.replay.run(["clone", "-", "--device", "Hi", "-o", "-"], input: Array(Self.two.utf8))
        #expect(wrong.exitCode == 2)
    }

    @Test func `a busy recording lists active peers and counts the others`() async throws {
        // 40 advertising reports with 40 addresses, in btsnoop.
        var busy: [UInt8] = Array("btsnoop\0".utf8) + [0, 0, 0, 1, 0, 0, 3, 0xEA]
        for number in UInt8(0)..<40 {
            let packet: [UInt8] = [4, 0x3E, 12, 2, 1, 0, 1, number, 1, 0, 0, 0xEE, 0xC1, 0, 0xC0]
            busy +=
                [
                    0, 0, 0, UInt8(packet.count), 0, 0, 0, UInt8(packet.count), 0, 0, 0, 3, 0, 0, 0, 0, 0, 0xE2, 0x4B,
                    0x66, 0, 0, 0, number,
                ] + packet
        }
        let folder = try TemporaryFolder()
        try Data(busy).write(to: folder.url("busy.btsnoop"))
        let none = try await Self.replay.run(
            ["clone", folder.file("busy.btsnoop"), "-", "-o", "-"], input: Array(Self.two.utf8))
        #expect(none.exitCode == 2)
        #expect(none.error.contains("have 42 peripherals"), "\(none.error)")
        #expect(
            none.error.hasSuffix(
                "2 is C0:FF:EE:00:00:02 (1 connection, 3 ATT PDUs from it); and 40 without a response.\n"),
            "\(none.error)")
    }

    @Test func `a truncated capture yields a clone of its valid part and an error`() async throws {
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: Self.capture)))
        let result = try await Self.replay.run(["clone", "-", "-o", "-"], input: Array(whole.prefix(3000)))
        #expect(result.exitCode == 4 && result.output.hasPrefix("{"))
        let nothing = try await Self.replay.run(["clone", "-", "-o", "-"], input: Array("hello\n".utf8))
        #expect(nothing.exitCode == 4 && nothing.output == "")
    }

    // MARK: the emulator

    /// One capture of each kind: HCI, text, and where available a real one of HCI and one from the air. RoundTripTests
    /// has random profiles.
    static let captures: [String] = {
        let shipped = [capture, "\(Program.repository)/captures/boost_one-record.hex"]
        let folder = ["/../shared/captures/real", "/../../shared/captures/real"].map { Program.repository + $0 }.first {
            FileManager.default.fileExists(atPath: $0)
        }
        guard let folder else {
            print("the real captures (../shared/captures/real) are not here: the clones of them are skipped")
            return shipped
        }
        return shipped + ["darkelf-h4.btsnoop", "whad-pairing-llphdr.pcap"].map { "\(folder)/\($0)" }
    }()

    /// Attributes that tshark finds and the clone lacks: in captures from the air the direction of a packet can be
    /// wrong, so that a response appears as a request (`docs/captures.md`, known limits).
    private static let missed: [String: Set<String>] = [
        "whad-pairing-llphdr.pcap": ["0x000c", "0x0010", "0x1800", "0x1801", "0x180a"]
    ]

    /// Handles and UUIDs as tshark reads them from a file's discovery.
    private func table(_ path: String, of address: BluetoothAddress?) async throws -> Set<String> {
        let tshark = try #require(Program(system: "tshark"), "tshark is not installed: run hardware/bench setup")
        let peer = address.map { " && (bthci_acl.src.bd_addr == \($0) || btle.slave_bd_addr == \($0))" } ?? ""
        let result = try await tshark.run(
            [
                "-r", path, "-Y", "(btatt.opcode == 0x09 || btatt.opcode == 0x11 || btatt.opcode == 0x05)\(peer)", "-T",
                "fields", "-E", "occurrence=a",
            ]
                + ["btatt.handle", "btatt.uuid16", "btatt.uuid128"].flatMap { ["-e", $0] }, limit: 120)
        #expect(!result.error.contains("aren't valid"), "\(result.error)")
        var rows: Set<String> = []
        for line in result.lines {
            let columns = line.split(separator: "\t", omittingEmptySubsequences: false).map {
                $0.split(separator: ",").map(String.init)
            }
            guard columns.count == 3 else { continue }
            for found in columns.joined() where !found.isEmpty { rows.insert(Self.shortened(found)) }
        }
        return rows
    }

    /// A UUID on the Bluetooth base has a 128-bit and a 16-bit form.
    private static func shortened(_ found: String) -> String {
        guard found.count == 32, found.hasPrefix("fb349b5f8000008000100000"), found.hasSuffix("0000") else {
            return found
        }
        let low = found.dropFirst(24).prefix(4)
        return "0x\(low.suffix(2))\(low.prefix(2))"
    }

    /// Clones, emulates over the socket, repeats the exchanges, records, and clones the recording: the same device
    /// profile, and the same table for tshark.
    @Test(arguments: captures) func `the emulated clone gives the same profile`(capture: String) async throws {
        let folder = try TemporaryFolder()
        let (document, link, recording) = (folder.file("g.json"), folder.file("g.sock"), folder.file("r.btsnoop"))
        let made = try await Self.replay.run(["clone", capture, "-o", document])
        #expect(made.exitCode == 0, "\(made.error)")
        let profile = try ProfileFile.load(document)
        let emulator = try Program("waterh-emulator").start([
            "run", "--link", "unix:" + link, "--gadget", document, "--gadget-mode", "strict", "--record", recording,
        ])
        let ready = try await emulator.line { $0.hasPrefix("ready ") }
        #expect(
            ready.hasSuffix(
                """
                mode=strict services=\(profile.services.count) characteristics=\(profile.characteristics.count) \
                exchanges=\(profile.exchangeCount)
                """
            ), "\(ready)")
        // Hours of recorded waiting are not repeated.
        let conversations = Array(profile.conversations.prefix(2).map { Array($0.exchanges.prefix(40)) })
        let complaints = try await Task.detached {
            var complaints: [String] = []
            for (number, exchanges) in (conversations.isEmpty ? [[]] : conversations).enumerated() {
                let socket = try RawSocket(link)
                let host = Host(send: { try #require(socket.send($0)) }, receive: { try #require(socket.receive()) })
                try host.exchangeMTU()
                if number == 0 { try host.discover() }
                for exchange in exchanges {
                    var exchange = exchange
                    if let values = exchange.values, values.last?.afterMs ?? 0 > 500 {
                        exchange.values = values.filter { $0.afterMs <= 500 }
                    }
                    complaints += try host.repeatExchange(exchange)
                }
            }
            return complaints
        }.value
        emulator.send(signal: SIGTERM)
        let end = try await emulator.finish()
        #expect(end.exitCode == 0, "\(end.error)")
        #expect(complaints == [], "\(end.output)\(end.error)")
        let again = try await Self.replay.run(["clone", recording, "-o", folder.file("again.json")])
        #expect(again.exitCode == 0, "\(again.error)")
        let clone = try ProfileFile.load(folder.file("again.json"))
        func handles(_ profile: PeripheralProfile) -> [String] {
            profile.services.map { "\($0.uuid ?? PeripheralProfile.placeholder(at: $0.handle)) \($0.handle)-\($0.end)" }
                + profile.characteristics.map {
                    """
                    \($0.uuid ?? PeripheralProfile.placeholder(at: $0.handle)) \($0.declaration) \($0.handle) \
                    \($0.properties.rawValue)
                    """
                }
        }
        #expect(handles(clone) == handles(profile))
        // tshark finds the capture's attributes in the recording as well, if the capture has packets.
        guard !capture.hasSuffix(".hex") else { return }
        let (before, after) = try await (table(capture, of: profile.address), table(recording, of: nil))
        #expect(
            before.isEmpty == !profile.services.contains { $0.source == .discovered },
            "tshark reads \(before.count) handles and UUIDs")
        let missed = Self.missed[URL(fileURLWithPath: capture).lastPathComponent] ?? []
        #expect(before.subtracting(after) == missed, "\(before.count) of the capture, \(after.count) of the recording")
    }

    @Test func `bottle options with a profile and files without a profile are rejected`() async throws {
        let folder = try TemporaryFolder()
        let emulator = Program("waterh-emulator")
        for (arguments, code, words) in [
            (["--gadget", "g.json", "--name", "x"], 2, "--name cannot be used with --gadget"),
            (["--gadget-mode", "loop"], 2, "--gadget-mode requires --gadget FILE"),
            (["--gadget", folder.file("absent.json")], 1, "cannot be read: No such file or directory"),
            (["--gadget", Self.capture], 4, "is not valid JSON of a device profile"),
        ] {
            let result = try await emulator.run(["run", "--link", "unix:" + folder.file("s")] + arguments)
            #expect(result.exitCode == Int32(code) && result.error.contains(words), "\(arguments): \(result.error)")
        }
    }
}
