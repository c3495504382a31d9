import Bluetooth
import Captures
import Testing

@Suite struct BtsnoopTests {
    private static func file(_ datalink: UInt32, _ records: [[UInt8]]) -> [UInt8] {
        Array("btsnoop\0".utf8) + be(UInt32(1)) + be(datalink) + records.joined()
    }

    private static func record(
        _ data: [UInt8], original: UInt32? = nil, flags: UInt32, time: Int64 = 0x00DC_DDB3_0F2F_8000
    ) -> [UInt8] {
        be(original ?? UInt32(data.count)) + be(UInt32(data.count)) + be(flags) + be(UInt32(0)) + be(time) + data
    }

    @Test func `btsnoop times count from the year 0`() throws {
        let reading = Reading(
            Self.file(
                1002,
                [
                    Self.record(bytes("01 03 0c 00"), flags: 2, time: 0x00DC_DDB3_0F2F_8000 + 1_612_150_079_092_423),
                    // The other constant in use is the year 2000.
                    Self.record(bytes("01 03 0c 00"), flags: 2, time: 0x00E0_3AB4_4A67_6000),
                    Self.record(bytes("01 03 0c 00"), flags: 2, time: 0x00DC_DDB3_0F2F_8000 - 1),
                    Self.record(bytes("01 03 0c 00"), flags: 2, time: .min),
                ]))
        #expect(reading.times == ["1612150079.092423000", "946684800.000000000", "-0.000001000", nil])
    }

    @Test func `the packet type of H1 records is read from the flags`() {
        let reading = Reading(Self.file(1001, (0..<4).map { Self.record([1, 2, 3, 4], flags: $0) }))
        #expect(reading.contents == [.hci(.acl), .hci(.acl), .hci(.command), .hci(.event)])
        #expect(reading.directions == [.sent, .received, .sent, .received])
        #expect(reading.payloads == Array(repeating: [1, 2, 3, 4], count: 4))
    }

    /// In link type 2001 the flags are opcode and adapter: bit 0 is not a direction.
    @Test func `the flags of monitor records are read as opcode and adapter`() {
        let cases: [(UInt32, PacketContent, TrafficDirection?)] = [
            (0, .note(.monitor(0)), nil), (1, .note(.monitor(1)), nil), (2, .hci(.command), .sent),
            (3, .hci(.event), .received),
            (4, .hci(.acl), .sent), (5, .hci(.acl), .received), (6, .hci(.sco), .sent), (7, .hci(.sco), .received),
            (8, .note(.monitor(8)), nil), (12, .note(.monitor(12)), nil), (17, .note(.monitor(17)), nil),
            (18, .hci(.iso), .sent), (19, .hci(.iso), .received),
        ]
        let reading = Reading(
            Self.file(
                2001,
                cases.map { Self.record([9, 9, 9, 9], flags: 3 << 16 | $0.0) } + [Self.record([], flags: 0xFFFF_000C)]))
        #expect(reading.packets.dropLast().map(\.packet.content) == cases.map(\.1))
        #expect(reading.packets.dropLast().map(\.packet.direction) == cases.map(\.2))
        #expect(reading.adapters == Array(repeating: 3, count: cases.count) + [0xFFFF])
    }

    /// A snap length, as in Android's filtered log.
    @Test func `an included length below the original marks a truncated packet`() {
        let reading = Reading(
            Self.file(
                1002,
                [
                    Self.record(bytes("02 40 20 0b 00 07 00 04 00"), original: 16, flags: 1),
                    Self.record([4, 0x0E], flags: 3),
                ]))
        #expect(reading.packets.map(\.packet.isTruncated) == [true, false])
        #expect(reading.packets.first?.packet.missing == 7)
    }

    @Test func `an impossible record length is rejected immediately`() throws {
        let lying = be(UInt32(0x7FFF_FFFF)) + be(UInt32(0x7FFF_FFFF)) + be(UInt32(0)) + be(UInt32(0)) + be(Int64(0))
        let reading = Reading(Self.file(1002, [Self.record([1, 3, 12, 0], flags: 2), lying]))
        #expect(reading.packets.count == 1)
        #expect(reading.error?.kind == .malformed)
        #expect(reading.error?.offset == 16 + 28)
    }

    @Test func `a record with an unknown H4 type counts as unreadable and keeps its number`() {
        let reading = Reading(
            Self.file(
                1002,
                [Self.record([0x77, 1], flags: 0), Self.record([], flags: 0), Self.record([1, 3, 12, 0], flags: 2)]))
        #expect(reading.contents == [.unknown, .unknown, .hci(.command)])
        #expect(reading.packets.map(\.packet.number) == [1, 2, 3])
        #expect(reading.info.unreadableRecords == 2)
    }
}
