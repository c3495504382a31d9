import Bluetooth
import Glibc
import Testing

@testable import BlueZ

@Suite struct MonitorPacketTests {
    struct Message: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var bytes: [UInt8]
        var opcode: UInt16
        var adapter: UInt16
        var content: [UInt8]
    }

    static let messages: [Message] = [
        Message(
            testDescription: "a new adapter", bytes: [0, 0, 1, 0, 4, 0, 0, 1, 2, 3], opcode: 0, adapter: 1,
            content: [0, 1, 2, 3]),
        Message(
            testDescription: "a reset command", bytes: [2, 0, 0, 0, 3, 0, 0x03, 0x0C, 0x00], opcode: 2, adapter: 0,
            content: [0x03, 0x0C, 0x00]),
        Message(
            testDescription: "a command complete", bytes: [3, 0, 0, 0, 6, 0, 0x0E, 4, 1, 3, 0x0C, 0], opcode: 3,
            adapter: 0, content: [0x0E, 4, 1, 3, 0x0C, 0]),
        Message(
            testDescription: "of no adapter", bytes: [0x0D, 0, 0xFF, 0xFF, 1, 0, 7], opcode: 13, adapter: 0xFFFF,
            content: [7]),
        Message(testDescription: "nothing in it", bytes: [1, 0, 2, 0, 0, 0], opcode: 1, adapter: 2, content: []),
        Message(
            testDescription: "the longest", bytes: [4, 0, 0, 0, 0xFF, 0xFF] + Array(repeating: 5, count: 0xFFFF),
            opcode: 4, adapter: 0, content: Array(repeating: 5, count: 0xFFFF)),
        Message(
            testDescription: "more than it says", bytes: [5, 0, 0, 0, 2, 0, 8, 9, 10], opcode: 5, adapter: 0,
            content: [8, 9]),
    ]

    @Test(arguments: messages) func `a monitor packet is decoded`(_ message: Message) throws {
        let packet = try MonitorPacket(decoding: message.bytes, at: .seconds(3))
        #expect(
            packet
                == MonitorPacket(
                    opcode: message.opcode, adapter: message.adapter, time: .seconds(3), bytes: message.content))
        let slice = ([0xAA] + message.bytes)[1...]
        #expect(try MonitorPacket(decoding: slice, at: .seconds(3)) == packet)
    }

    @Test(arguments: messages) func `a truncated monitor packet is rejected`(_ message: Message) {
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
    func `a text that is no address is rejected`(_ text: String) {
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
