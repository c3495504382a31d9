import Support
import Testing
@testable import Bluetooth

/// Tests the HCI host with a scripted controller.
@Suite struct HCIHostTests {
    /// Command Complete with a status and return parameters.
    static func complete(_ opcode: UInt16, status: UInt8 = 0, _ more: [UInt8] = []) -> [UInt8] {
        [4, 0x0E, UInt8(4 + more.count), 1] + opcode.littleEndianBytes(2) + [status] + more
    }

    /// A host whose controller has two buffers of 27 bytes.
    static func ready(address: [UInt8] = [1, 0, 0, 0x38, 0xC1, 0xA4], credits: UInt8 = 2) -> (HCIHost, [HCIHost.Effect])
    {
        var host = HCIHost(fallback: BluetoothAddress(0x1234))
        var effects = host.handle(.opened)
        for _ in 0..<12 {
            guard case .send(let command)? = effects.last(where: { if case .send = $0 { true } else { false } }),
                host.isWaitingForResponse
            else { break }
            let opcode = UInt16(command[1]) | UInt16(command[2]) << 8
            let more: [UInt8] =
                switch opcode {
                case 0x1009: address
                case 0x2002: [27, 0, credits]
                default: []
                }
            effects += host.handle(.received(complete(opcode, more)))
        }
        return (host, effects)
    }

    static func connected(_ handle: UInt16 = 0x40, isCentral: Bool = false) -> [UInt8] {
        [4, 0x3E, 19, 1, 0] + handle.littleEndianBytes(2) + [
            isCentral ? 0 : 1, 0, 6, 5, 4, 3, 2, 0xF1, 24, 0, 0, 0, 0xF4, 1, 0,
        ]
    }

    static func acl(_ handle: UInt16, _ frame: [UInt8], isContinuation: Bool = false) -> [UInt8] {
        [2] + (handle | (isContinuation ? 1 << 12 : 2 << 12)).littleEndianBytes(2) + frame.count.littleEndianBytes(2)
            + frame
    }

    @Test func `the host sends one command at a time and reports the controller's address`() {
        let (host, effects) = Self.ready()
        let commands: [UInt16] = effects.compactMap {
            if case .send(let bytes) = $0 { UInt16(bytes[1]) | UInt16(bytes[2]) << 8 } else { nil }
        }
        #expect(commands == [0x0C03, 0x0C01, 0x2001, 0x1009, 0x2002])
        #expect(effects.last == .ready(BluetoothAddress(0xA4C1_3800_0001)))
        #expect(!host.isWaitingForResponse)
    }

    @Test func `a controller without an address gets a static random one`() {
        let (_, effects) = Self.ready(address: [0, 0, 0, 0, 0, 0])
        #expect(effects.contains(.send([1, 0x05, 0x20, 6, 0x34, 0x12, 0, 0, 0, 0xC0])))
        #expect(effects.contains(.ready(BluetoothAddress(0xC000_0000_1234))))
    }

    @Test func `HCI packets split at any byte have the same effects`() {
        let traffic =
            Self.connected() + Self.acl(0x40, [7, 0, 4, 0, 0x52, 3])
            + Self.acl(0x40, [0, 1, 2, 3, 4], isContinuation: true) + [4, 0x05, 4, 0, 0x40, 0, 0x13]
        let expected: [HCIHost.Effect] = [
            .connected(0x40, BluetoothAddress(0xF102_0304_0506), isCentral: false),
            .received(connection: 0x40, [0x52, 3, 0, 1, 2, 3, 4]),
            .disconnected(0x40, reason: 0x13),
        ]
        for cut in 0...traffic.count {
            var (host, _) = Self.ready()
            #expect(
                host.handle(.received(Array(traffic[..<cut]))) + host.handle(.received(Array(traffic[cut...])))
                    == expected, "cut at \(cut)")
        }
    }

    @Test func `fragments wait for controller buffers, and congestion is reported`() {
        var (host, _) = Self.ready()
        _ = host.handle(.received(Self.connected()))
        // 4 + 50 bytes: two fragments, which fill the controller.
        let first = host.handle(.send(connection: 0x40, [UInt8](repeating: 7, count: 50)))
        #expect(first.map { if case .send(let bytes) = $0 { bytes.count } else { 0 } } == [5 + 27, 5 + 27])
        var effects: [HCIHost.Effect] = []
        for _ in 0..<64 { effects += host.handle(.send(connection: 0x40, [1])) }
        #expect(effects == [.congested(0x40)])
        effects = []
        for _ in 0..<40 { effects += host.handle(.received([4, 0x13, 5, 1, 0x40, 0, 2, 0])) }
        #expect(effects.count == 65 && effects.last == .drained(0x40))
    }

    @Test func `a connection whose peer receives nothing is closed once`() {
        var (host, _) = Self.ready()
        _ = host.handle(.received(Self.connected()))
        var sent: [[UInt8]] = []
        for _ in 0..<6000 {
            for case .send(let bytes) in host.handle(.send(connection: 0x40, [1])) { sent.append(bytes) }
        }
        #expect(sent.filter { $0[0] == 1 } == [[1, 0x06, 0x04, 3, 0x40, 0, 0x13]] && sent.count == 3)
    }

    @Test func `the end of a cancelled attempt does not fail a later one`() {
        var (host, _) = Self.ready()
        #expect(host.handle(.received([4, 0x3E, 19, 1, 0x02] + [UInt8](repeating: 0, count: 17))) == [])
        #expect(
            host.handle(.received([4, 0x3E, 19, 1, 0x3E] + [UInt8](repeating: 0, count: 17))) == [
                .connectFailed(status: 0x3E)
            ])
    }

    @Test func `advertising reports have name, services and an optional signal strength`() throws {
        var (host, _) = Self.ready()
        let data: [UInt8] = [2, 1, 6, 3, 3, 0xE0, 0xFF, 3, 9, 0x48, 0x69]
        let effects = host.handle(
            .received(
                [4, 0x3E, UInt8(12 + data.count), 2, 1, 0, 1, 6, 5, 4, 3, 2, 0xC1, UInt8(data.count)] + data + [127]))
        guard case .advertised(let sighting)? = effects.first else { throw LinkError(.system, "nothing was seen") }
        #expect(sighting.isRandom && sighting.rssi == nil && sighting.address == BluetoothAddress(0xC102_0304_0506))
        var advertisement = Advertisement(peer: PeerID("x"), address: sighting.address)
        advertisement.add(sighting.data)
        #expect(advertisement.name == "Hi" && advertisement.services == [BluetoothUUID(0xFFE0)])
    }

    @Test func `extended and legacy advertising reports are equal, and anonymous reports are ignored`() {
        var (host, _) = Self.ready()
        func report(_ kind: UInt8) -> [UInt8] {
            [1, 0, kind, 6, 5, 4, 3, 2, 0xA1, 1, 0, 0, 0, 0xCE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 2, 1, 6]
        }
        let both: [UInt8] = [2] + report(0xFF) + report(0)
        let effects = host.handle(.received([4, 0x3E, UInt8(1 + both.count), 0x0D] + both))
        #expect(
            effects == [
                .advertised(
                    HCIHost.ReceivedReport(
                        address: BluetoothAddress(0xA102_0304_0506), isRandom: false, rssi: -50, data: [2, 1, 6]))
            ])
    }

    @Test func `pairing, channels and unknown signals are rejected`() {
        var (host, _) = Self.ready(credits: 9)
        _ = host.handle(.received(Self.connected()))
        func answer(_ channel: UInt8, _ payload: [UInt8]) -> [HCIHost.Effect] {
            host.handle(.received(Self.acl(0x40, [UInt8(payload.count), 0, channel, 0] + payload)))
        }
        #expect(answer(6, [1, 3, 0, 1, 16, 1, 1]) == [.send(Self.acl(0x40, [2, 0, 6, 0, 5, 5]).withFirstFragment)])
        #expect(
            answer(5, [0x12, 9, 8, 0, 6, 0, 6, 0, 0, 0, 100, 0]) == [
                .send(Self.acl(0x40, [6, 0, 5, 0, 0x13, 9, 2, 0, 1, 0]).withFirstFragment)
            ])
        #expect(
            answer(5, [0x77, 4, 0, 0]) == [.send(Self.acl(0x40, [6, 0, 5, 0, 1, 4, 2, 0, 0, 0]).withFirstFragment)])
        #expect(answer(5, [0x01, 4, 0, 0]) == [])
    }

    @Test func `a stream that is not HCI is reported and ignored`() {
        var (host, _) = Self.ready()
        #expect(host.handle(.received([0x47, 0x45])) == [.failed("received an HCI packet of the unknown type 71")])
        #expect(host.handle(.received(Self.connected())) == [])
    }

    @Test func `closing the transport ends every connection`() {
        var (host, _) = Self.ready()
        _ = host.handle(.received(Self.connected(0x40) + Self.connected(0x41)))
        #expect(host.handle(.closed) == [.disconnected(0x40, reason: 8), .disconnected(0x41, reason: 8)])
    }

    @Test(arguments: 0..<20) func `the host survives random bytes of a controller`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (host, _) = Self.ready()
        for _ in 0..<400 {
            let type: UInt8 = [2, 4, 4, 4].randomElement(using: &random) ?? 4
            var body = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                UInt8.random(in: 0...(Bool.random(using: &random) ? 5 : 255), using: &random)
            }
            if type == 4 {
                let code: UInt8 = [0x05, 0x0E, 0x0F, 0x13, 0x3E, 0x3E, 0xFF].randomElement(using: &random) ?? 0x3E
                if code == 0x3E, !body.isEmpty { body[0] = [1, 2, 5, 10, 13].randomElement(using: &random) ?? 1 }
                body = [4, code, UInt8(body.count)] + body
            } else {
                body = Self.acl(
                    UInt16.random(in: 0...5, using: &random), body, isContinuation: Bool.random(using: &random))
            }
            _ = host.handle(.received(body))
            _ = host.handle(
                .send(
                    connection: UInt16.random(in: 0...5, using: &random),
                    [UInt8](repeating: 1, count: Int.random(in: 0...600, using: &random))))
        }
        #expect(host.connections.count <= 32)
        #expect(host.inFlight <= host.bufferCount)
    }

    @Test(
        arguments: [
            ("localhost:7300", "localhost", 7300), ("[::1]:7300", "::1", 7300), ("192.0.2.1:1", "192.0.2.1", 1),
        ] as [(String, String, UInt16)])
    func `a host and port are parsed from text`(_ text: String, _ host: String, _ port: UInt16) throws {
        let endpoint = try #require(NetworkEndpoint(text))
        #expect(endpoint.host == host && endpoint.port == port && endpoint.description == text)
        #expect(try LinkName("hci:" + text) == .hci(endpoint) && LinkName("hci:" + text).description == "hci:" + text)
    }

    @Test func `each host and port has a stable fallback address`() throws {
        let places = try (7000..<7400).map { try #require(NetworkEndpoint("localhost:\($0)")) }
        #expect(Set(places.map(\.address)).count == places.count)
        #expect(places[0].address == NetworkEndpoint("localhost:7000")?.address)
        #expect(places.allSatisfy { $0.address.value < 1 << 46 })
    }

    @Test(arguments: [
        "", ":7300", "localhost", "localhost:", "localhost:0", "localhost:65536", "localhost:+1", "::1:7300", "[::1",
        "[::1]7300", "a b:1", "[]:1",
    ])
    func `an invalid host and port is rejected`(_ text: String) {
        #expect(NetworkEndpoint(text) == nil)
        #expect(throws: LinkName.Malformed.self) { try LinkName("hci:" + text) }
    }
}

extension [UInt8] {
    /// The same packet with the boundary flag that the host uses for a first fragment.
    fileprivate var withFirstFragment: [UInt8] {
        var bytes = self
        bytes[2] &= 0x0F
        return bytes
    }
}
