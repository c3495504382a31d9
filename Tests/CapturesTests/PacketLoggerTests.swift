import Bluetooth
import Captures
import Testing

@Suite struct PacketLoggerTests {
    private static func record(_ type: UInt8, _ data: [UInt8], isBigEndian: Bool, microseconds: UInt32 = 5) -> [UInt8] {
        func n(_ value: UInt32) -> [UInt8] { isBigEndian ? be(value) : le(value) }
        return n(UInt32(9 + data.count)) + n(1_465_714_655) + n(microseconds) + [type] + data
    }

    @Test(arguments: [true, false])
    func `packet types are read in both byte orders`(isBigEndian: Bool) {
        let types: [(UInt8, PacketContent, TrafficDirection?)] = [
            (0xFC, .note(.packetLogger(0xFC)), nil), (0, .hci(.command), .sent), (1, .hci(.event), .received),
            (2, .hci(.acl), .sent),
            (3, .hci(.acl), .received), (8, .hci(.sco), .sent), (9, .hci(.sco), .received),
            (0x0A, .note(.packetLogger(0x0A)), nil),
            (0xF7, .note(.packetLogger(0xF7)), nil), (0xFD, .note(.packetLogger(0xFD)), nil),
            (0xFE, .note(.packetLogger(0xFE)), nil),
        ]
        let reading = Reading(types.flatMap { Self.record($0.0, [1, 2, 3], isBigEndian: isBigEndian) })
        #expect(reading.error == nil)
        #expect(reading.info.format == CaptureFormat(.packetLogger, .packetLogger, isBigEndian: isBigEndian))
        #expect(reading.contents == types.map(\.1))
        #expect(reading.directions == types.map(\.2))
        #expect(reading.times.first == "1465714655.000005000")
    }

    /// The first record is often a long note, and its text can look like a frame.
    @Test func `a long note before the first packet is skipped`() {
        let note = [UInt8]("PT\0\u{0F}".utf8) + [UInt8](repeating: 0x20, count: 60_000)
        let file = Self.record(0xFC, note, isBigEndian: false) + Self.record(1, [0x0E, 0], isBigEndian: false)
        #expect(Reading(file).packets.count == 2)
        #expect(Reading(file, step: 4096).packets.count == 2)
    }

    /// Detection uses five records of any length, for a pipe as for a file.
    @Test func `long records from a pipe are read as from a file`() {
        let long = [UInt8](repeating: 0x20, count: 65_526)
        for type: UInt8 in [0xFC, 0x55] {
            let file =
                (0..<4).flatMap { _ in Self.record(0xFC, long, isBigEndian: true) }
                + Self.record(type, long, isBigEndian: true)
            let atOnce = Reading(file)
            #expect((atOnce.error?.kind == .unrecognised) == (type == 0x55))
            #expect(Reading(file, step: 30_000).isEqual(to: atOnce))
        }
    }

    static let notMine: [(String, [UInt8])] = [
        ("a length of 8", be(UInt32(8)) + be(UInt32(1)) + be(UInt32(1)) + [0]),
        ("microseconds of a second", record(0, [1, 2], isBigEndian: true, microseconds: 1_000_000)),
        ("a type that does not exist", record(0x55, [1, 2], isBigEndian: true)),
        (
            "a second record that is none",
            record(0, [1, 2], isBigEndian: true) + record(0x55, [1, 2], isBigEndian: true)
        ),
    ]

    @Test(arguments: notMine)
    func `files of other formats are not recognised as PacketLogger`(_ name: String, _ file: [UInt8]) {
        #expect(Reading(file).error?.kind == .unrecognised)
    }

    @Test func `a short length inside a file is an error`() {
        let good = (0..<6).flatMap { _ in Self.record(1, [0x0E, 0], isBigEndian: true) }
        let reading = Reading(good + be(UInt32(3)) + [UInt8](repeating: 0, count: 20))
        #expect(reading.packets.count == 6)
        #expect(reading.error?.kind == .malformed && reading.error?.offset == good.count)
    }
}
