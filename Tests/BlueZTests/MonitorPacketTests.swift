import Bluetooth
import Glibc
import Testing

@testable import BlueZ

@Suite struct MonitorPacketTests {
    /// A message, and the opcode, adapter and bytes of its packet.
    static let messages: [(name: String, bytes: [UInt8], opcode: UInt16, adapter: UInt16, content: [UInt8])] = [
        ("a new adapter", [0, 0, 1, 0, 4, 0, 0, 1, 2, 3], 0, 1, [0, 1, 2, 3]),
        ("a reset command", [2, 0, 0, 0, 3, 0, 0x03, 0x0C, 0x00], 2, 0, [0x03, 0x0C, 0x00]),
        ("a command complete", [3, 0, 0, 0, 6, 0, 0x0E, 4, 1, 3, 0x0C, 0], 3, 0, [0x0E, 4, 1, 3, 0x0C, 0]),
        ("of no adapter", [0x0D, 0, 0xFF, 0xFF, 1, 0, 7], 13, 0xFFFF, [7]),
        ("without content", [1, 0, 2, 0, 0, 0], 1, 2, []),
        ("with bytes after its length", [5, 0, 0, 0, 2, 0, 8, 9, 10], 5, 0, [8, 9]),
        (
            "of maximum length", [4, 0, 0, 0, 0xFF, 0xFF] + Array(repeating: 5, count: 0xFFFF), 4, 0,
            Array(repeating: 5, count: 0xFFFF)
        ),
    ]

    @Test(arguments: messages.indices) func `a monitor packet is decoded`(index: Int) throws {
        let (name, bytes, opcode, adapter, content) = Self.messages[index]
        let packet = try MonitorPacket(decoding: bytes, at: .seconds(3))
        #expect(
            packet == MonitorPacket(opcode: opcode, adapter: adapter, time: .seconds(3), bytes: content), "\(name)")
        #expect(try MonitorPacket(decoding: ([0xAA] + bytes)[1...], at: .seconds(3)) == packet, "\(name)")
    }

    @Test(arguments: messages.indices) func `a truncated monitor packet is rejected`(index: Int) {
        let message = Self.messages[index]
        let fullLength = 6 + message.content.count
        let lengths = fullLength > 100 ? Array(0..<50) + [fullLength - 1] : Array(0..<fullLength)
        for length in lengths {
            let needed = length < 6 ? 6 : fullLength
            let error = #expect(throws: LinkError.self) {
                try MonitorPacket(decoding: message.bytes[..<length], at: .zero)
            }
            #expect(error?.sentence.hasSuffix("channel: \(length) bytes, expected \(needed)") == true)
        }
    }
}

/// Advertising and scan response data of the `l2cap:` link: 31 bytes each, whatever the name and the services.
@Suite struct AdvertisingBytesTests {
    @Test(
        arguments: [
            ("WaterH-Boost-24oz", [], [2, 1, 6], [18, 0x09] + Array("WaterH-Boost-24oz".utf8)),
            ("", [0xFF00], [2, 1, 6, 3, 3, 0x00, 0xFF], []),
            ("x", [0xFF00, 0x180A], [2, 1, 6, 5, 3, 0x00, 0xFF, 0x0A, 0x18], [2, 0x09, 0x78]),
            // A name is cut between characters and has the type of a shortened name.
            (
                String(repeating: "ä", count: 20), [], [2, 1, 6],
                [29, 0x08] + Array(String(repeating: "ä", count: 14).utf8)
            ),
            (String(repeating: "n", count: 248), [], [2, 1, 6], [30, 0x08] + Array(repeating: 0x6E, count: 29)),
            // Fourteen services do not fit; 128-bit ones never do.
            (
                "y",
                (0..<14).map { BluetoothUUID(UInt16($0)) } + [BluetoothUUID("00010203-0405-0607-0809-0A0B0C0D1912")!],
                [2, 1, 6, 27, 3] + (0..<13).flatMap { [UInt8($0), 0] }, [2, 0x09, 0x79]
            ),
        ] as [(String, [BluetoothUUID], [UInt8], [UInt8])])
    func `advertising data has the services and the name that fit`(
        _ name: String, _ services: [BluetoothUUID], _ data: [UInt8], _ response: [UInt8]
    ) {
        let bytes = AdvertisingBytes(name: name, services: services)
        #expect(bytes.data == data && bytes.scanResponse == response)
        #expect(bytes.startCommands().map(\.parameters.count) == [15, 32, 32, 1])
    }
}

/// The syntax after `l2cap:`, and the meaning of system errors.
@Suite struct L2CAPDialerTests {
    @Test(arguments: [
        ("A4:C1:38:01:02:03", "l2cap:A4:C1:38:01:02:03", false),
        ("a4:c1:38:01:02:03/random", "l2cap:A4:C1:38:01:02:03/random", true),
    ])
    func `an l2cap address is parsed`(_ text: String, _ name: String, _ isRandom: Bool) throws {
        let dialer = try L2CAPDialer(text)
        #expect(dialer.name == name && dialer.isRandom == isRandom && !dialer.hasRadio)
        #expect(try dialer.peer().address?.description == "A4:C1:38:01:02:03")
    }

    @Test(arguments: [
        "", "hci0", "A4:C1:38:01:02", "A4:C1:38:01:02:03/public", "A4:C1:38:01:02:03/", "/random",
        "A4:C1:38:01:02:03/random/x",
    ])
    func `a text that is not an address is rejected`(_ text: String) {
        #expect { try L2CAPDialer(text) } throws: {
            ($0 as? LinkError)?.code == .notFound && "\($0)".contains("A4:C1:38:00:00:01")
        }
    }

    @Test(arguments: [
        (EHOSTUNREACH, LinkError.Code.noAdapter, true), (ENODEV, .noAdapter, true), (EHOSTDOWN, .connectFailed, true),
        (ETIMEDOUT, .connectFailed, true),
        (ECONNREFUSED, .connectFailed, true), (ECONNRESET, .disconnected, true), (ENETDOWN, .poweredOff, true),
        (EIO, .connectFailed, true),
        (EPERM, .permissionDenied, false), (EACCES, .permissionDenied, false),
    ])
    func `a system error becomes a link error`(_ number: Int32, _ code: LinkError.Code, _ isTransient: Bool) throws {
        let error = try L2CAPDialer("A4:C1:38:01:02:03").explain(number)
        #expect(error.code == code && error.isTransient == isTransient && error.cause != nil)
    }
}
