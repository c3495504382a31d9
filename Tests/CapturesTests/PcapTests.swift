import Bluetooth
import Captures
import Testing

@Suite struct PcapTests {
    private static func file(
        _ magic: [UInt8] = bytes("d4c3b2a1"), isBigEndian: Bool = false, link: UInt32 = 201,
        records: [(UInt32, UInt32, [UInt8])]
    ) -> [UInt8] {
        func n(_ value: some FixedWidthInteger) -> [UInt8] { isBigEndian ? be(value) : le(value) }
        var file = magic + n(UInt16(2)) + n(UInt16(4)) + n(UInt64(0))
        file += n(UInt32(65_535)) + n(link)
        for (seconds, fraction, bytes) in records {
            file += n(seconds) + n(fraction)
            file += n(UInt32(bytes.count)) + n(UInt32(bytes.count)) + bytes
        }
        return file
    }

    @Test(arguments: [("a1b2c3d4", true), ("d4c3b2a1", false), ("a1b23c4d", true), ("4d3cb2a1", false)])
    func `both byte orders and both time resolutions are read`(number: String, isBigEndian: Bool) {
        let magic = bytes(number)
        let isNanoseconds = magic.contains(0x3C)
        let fraction: UInt32 = isNanoseconds ? 5000 : 5
        let reading = Reading(
            Self.file(magic, isBigEndian: isBigEndian, records: [(100, fraction, bytes("00000001 04 0e 00"))]))
        #expect(reading.times.first == "100.000005000")
        #expect(reading.packets.first?.packet.direction == .received)
        #expect(reading.packets.first?.bytes == bytes("0e 00"))
    }

    @Test func `only bit 0 of the direction field counts`() {
        let reading = Reading(
            Self.file(
                records: [
                    (1, 0, bytes("fffffffe 02 00")), (1, 0, bytes("80000001 02 00")), (1, 0, bytes("0000")), (1, 0, []),
                ]))
        #expect(reading.directions == [.sent, .received, nil, nil])
        #expect(reading.contents == [.hci(.acl), .hci(.acl), .unknown, .unknown])
    }

    @Test func `the upper bits of the link type field are ignored`() {
        let reading = Reading(
            Self.file(
                link: 0xF400_0000 | 187, records: [(1, 0, bytes("04 0e 00"))]))
        #expect(reading.info.format?.linkType == .h4)
        #expect(reading.packets.first?.packet.content == .hci(.event))
        #expect(reading.packets.first?.packet.direction == nil)
    }

    /// 254: adapter and opcode are 16 bits each, big-endian in every file.
    @Test func `the monitor header is read`() {
        let reading = Reading(
            Self.file(
                link: 254,
                records: [(1, 0, bytes("0002 0005 40 20 00 00")), (1, 0, bytes("ffff 000c 00"))]))
        #expect(reading.adapters == [2, 0xFFFF])
        #expect(reading.contents == [.hci(.acl), .note(.monitor(12))])
        #expect(reading.packets.first?.bytes == bytes("40 20 00 00"))
    }

    /// 256: flags have direction, decryption and CRC; the channel is the RF channel.
    @Test func `the radio header is read`() {
        let air = bytes("87b6c72b 01 00 010203")
        let cases: [(flags: UInt16, direction: TrafficDirection?, info: LinkLayerInfo)] = [
            (0x0103, .sent, LinkLayerInfo(rfChannel: 12, signal: -50)),
            (0x0D83, .received, LinkLayerInfo(rfChannel: 12, signal: -50, isCRCValid: true)),
            (0x0403, nil, LinkLayerInfo(rfChannel: 12, signal: -50, isCRCValid: false)),
            (0x0109, .sent, LinkLayerInfo(rfChannel: 12, isDecrypted: true)),
            (0x4101, .sent, LinkLayerInfo(rfChannel: 12, phy: .le2M)),
        ]
        let reading = Reading(
            Self.file(
                link: 256,
                records: cases.map {
                    (1, 0, [12, 0xCE, 0, 0, 0, 0, 0, 0] + le($0.flags) + air)
                }))
        #expect(reading.directions == cases.map(\.direction))
        #expect(reading.contents == cases.map { .linkLayer($0.info) })
        #expect(reading.packets.allSatisfy { $0.bytes == air })
    }

    /// Ubertooth's packets (user 0, with and without its field), packets of link type 251, of others, and wrong
    /// headers.
    @Test func `the per-packet information header is read`() {
        let air = bytes("87b6c72b 01 00 010203")
        let field = bytes("3675 0c00 00 6609 00 00000000 e8dcee3c")
        let reading = Reading(
            Self.file(
                link: 192,
                records: [
                    (1, 0, bytes("00 00 1800 93000000") + field + air), (2, 0, bytes("00 00 0800 fb000000") + air),
                    (3, 0, bytes("00 00 0800 69000000") + air), (4, 0, bytes("00 00 ff00 fb000000") + air),
                    (5, 0, bytes("00 00 0400 fb000000") + air),
                    (6, 0, bytes("01 00 0800 fb000000") + air), (7, 0, bytes("00 00 08")),
                    (8, 0, bytes("00 00 0800 c0000000") + air),
                ]))
        #expect(reading.error == nil && reading.info.packets == 8 && reading.info.unreadableRecords == 6)
        #expect(
            reading.contents == [
                .linkLayer(LinkLayerInfo(rfChannel: 2)), .linkLayer(LinkLayerInfo()),
            ] + [PacketContent](repeating: .unknown, count: 6))
        #expect(reading.packets.prefix(2).allSatisfy { $0.bytes == air })
        #expect(reading.info.remarks.contains { $0.contains("Wi-Fi") })
    }

    /// Nordic's sniffer, protocol version 2 and 3: channel index 37 is RF channel 0.
    @Test func `the Nordic header is read`() {
        let air = bytes("87b6c72b 01 00 010203")
        let reading = Reading(
            Self.file(
                link: 272,
                records: [
                    (1, 0, bytes("05 06 14 02 0100 06  0a 03 25 2d 0000 00000000") + air),
                    (1, 0, bytes("05 1400 03 0100 06  0a 00 00 2d 0000 00000000") + air),
                    (1, 0, bytes("05 1400 09 0100 06")),
                ]))
        #expect(
            reading.contents == [
                .linkLayer(LinkLayerInfo(rfChannel: 0, signal: -45, isCRCValid: true)),
                .linkLayer(LinkLayerInfo(rfChannel: 1, signal: -45, isCRCValid: false)), .unknown,
            ])
        #expect(reading.directions == [.sent, .received, nil])
        #expect(reading.packets.prefix(2).allSatisfy { $0.bytes == air })
    }
}
