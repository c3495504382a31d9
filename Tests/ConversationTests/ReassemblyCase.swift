import Bluetooth
import Testing

/// Packets, the ATT PDUs that they give, and the reported drops.
struct ReassemblyCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let packets: [TestPacket]
    let pdus: [String]
    /// `nil`: not compared.
    let drops: [DropReason: Int]?

    init(_ name: String, _ packets: [TestPacket], pdus: [String], drops: [DropReason: Int]? = nil) {
        (testDescription, self.packets, self.pdus, self.drops) = (name, packets, pdus, drops)
    }

    private static let long = HCI.l2cap("1b 22 00 01 02 03 04 05")
    private static let down = HCI.l2cap("1b 22 00 01 02 03 04 05 06 07 08 09 0a 0b 0c")
    private static let other = HCI.l2cap("1b 22 00 01 02 03 04 05 06 07 08")
    private static let up = HCI.l2cap("52 22 00 41 42 43 44 45 46")

    static let hci: [ReassemblyCase] = [
        // This occurs in one of six Android logs.
        ReassemblyCase(
            "ACL data on Qualcomm's diagnostic handle is dropped",
            [
                HCI.notification("07", handle: 0xEDC),
                HCI.acl(.received, handle: 0xEDC, boundary: 0, bytes("0102 0304 05")),
            ], pdus: [], drops: [.diagnostics: 2]),
        ReassemblyCase(
            "a connection on that handle is read",
            [HCI.connected("01", handle: "dc0e"), HCI.notification("07", handle: 0xEDC)], pdus: ["1b220007"]),
        ReassemblyCase(
            "BR/EDR channel 4 is not ATT",
            [
                HCI.event("03 0b 00 4000 0102030405a4 01 00"), HCI.notification("01"),
                // A handle whose connection started before the capture: channel 1 is classic signalling.
                HCI.acl(.sent, handle: 0x41, boundary: 0, HCI.l2cap("0a 01 02 00 02 00", channel: 1)),
                HCI.notification("01", handle: 0x41),
            ], pdus: []),
        ReassemblyCase(
            "dynamic channels are not ATT",
            [
                HCI.acl(.received, boundary: 2, HCI.l2cap("1b 22 00 01", channel: 0x40)),
                HCI.acl(.received, boundary: 2, HCI.l2cap("01", channel: 6)),
            ], pdus: []),
        ReassemblyCase(
            "BR/EDR packets are counted as dropped",
            [HCI.event("03 0b 00 40 00 01 02 03 04 05 06 01 00"), HCI.notification("07"), HCI.notification("08")],
            pdus: [], drops: [.classic: 2]),
        ReassemblyCase(
            "a truncated packet is dropped",
            [
                HCI.acl(.received, boundary: 2, Array(long.prefix(9)), isTruncated: true, length: long.count),
                HCI.acl(.received, boundary: 1, [9, 9]), HCI.notification("07"),
            ], pdus: ["1b220007"], drops: [.truncatedRecord: 1, .continuationWithoutStart: 1]),
        ReassemblyCase(
            "a truncated continuation drops its frame",
            [
                HCI.acl(.received, boundary: 2, Array(long.prefix(6))),
                HCI.acl(.received, boundary: 1, [1], isTruncated: true, length: 6),
                HCI.acl(.received, boundary: 1, Array(long.suffix(1))), HCI.notification("07"),
            ], pdus: ["1b220007"]),
        ReassemblyCase(
            "a packet shorter than its ACL data length is dropped",
            [HCI.acl(.received, boundary: 2, HCI.l2cap("1b 22 00 01"), length: 500), HCI.notification("02")],
            pdus: ["1b220002"], drops: [.shortPacket: 1]),
        // Bytes after a wrong L2CAP length are not part of the PDU. A new start replaces an unfinished frame.
        ReassemblyCase(
            "wrong L2CAP lengths are rejected",
            [
                HCI.acl(.received, boundary: 2, bytes("0400 0400 1b220001 ffffffff")),
                HCI.acl(.received, boundary: 2, bytes("ffff 0400 1b2200")), HCI.notification("02"),
                HCI.acl(.received, boundary: 2, bytes("0000 0400")),
            ], pdus: ["1b220001", "1b220002"], drops: [.overrun: 1, .supersededFrame: 1, .emptyPDU: 1]),
        ReassemblyCase(
            "interleaved fragments without directions are dropped",
            [
                HCI.connected("01"), HCI.acl(nil, boundary: 2, Array(other.dropLast(4))),
                HCI.acl(nil, boundary: 0, Array(up.dropLast(4))), HCI.acl(nil, boundary: 1, Array(other.suffix(4))),
                HCI.acl(nil, boundary: 1, Array(up.suffix(4))), HCI.notification("07"),
            ], pdus: ["1b220007"], drops: [.unknownDirection: 1, .continuationWithoutStart: 1]),
        // It is dropped even if it fits the missing length of the other direction.
        ReassemblyCase(
            "the rest of a truncated frame keeps its direction",
            [
                HCI.connected("01"), HCI.acl(nil, boundary: 2, Array(down.prefix(6))),
                HCI.acl(nil, boundary: 1, Array(down[6..<8]), isTruncated: true, length: 6),
                HCI.acl(nil, boundary: 0, Array(up.prefix(6))), HCI.acl(nil, boundary: 1, Array(down.suffix(7))),
            ], pdus: [], drops: [.truncatedRecord: 1, .unknownDirection: 1]),
    ]

    static let air: [ReassemblyCase] = [
        // A retransmission can differ in NESN. A new SN with equal content is not a retransmission. Each side counts
        // separately.
        ReassemblyCase(
            "a retransmission is detected by SN",
            [
                Air.connectInd(), Air.notification("01"), Air.notification("01"),
                Air.data(2 | 4, "0400 0400 1b220001", .received),
                Air.notification("01", sequence: 1), Air.data(2, "0300 0400 520000", .sent),
            ], pdus: ["1b220001", "1b220001", "520000"], drops: [.retransmission: 2]),
        ReassemblyCase(
            "a missed packet is not a retransmission",
            [Air.connectInd(), Air.notification("01"), Air.notification("02")], pdus: ["1b220001", "1b220002"]),
        ReassemblyCase(
            "fragments with a retransmission are reassembled",
            [
                Air.connectInd(), Air.data(2, "0600 0400 1b22", .received), Air.data(1 | 8, "0001", .received),
                Air.data(1 | 8, "0001", .received), Air.data(1, "0203", .received),
            ], pdus: ["1b2200010203"]),
        ReassemblyCase(
            "retransmissions without direction are detected by SN and content",
            [
                Air.data(2, "0700 0400 02050208090a0b", at: .seconds(100)),
                Air.data(2 | 4, "0700 0400 02050208090a0b", at: .milliseconds(100_067)),
            ], pdus: ["02050208090a0b"], drops: [.retransmission: 1]),
        // Flag 0x0008: the sniffer decrypted the packet and might have kept the MIC, then of each fragment.
        ReassemblyCase(
            "decrypted packets are read",
            [
                Air.connectInd(), Air.data(3, "05", .sent), Air.notification("02", info: Air.decrypted),
                Air.data(2 | 8, "0400 0400 1b220003 aabbccdd", .received, info: Air.decrypted),
                Air.data(2, "0500 0400 1b22 aabbccdd", .received, info: Air.decrypted),
                Air.data(1 | 8, "000405 aabbccdd", .received, info: Air.decrypted),
            ], pdus: ["1b220002", "1b220003", "1b22000405"]),
        // Two fragments of a frame are missing, and the next ones fill its length by chance.
        ReassemblyCase(
            "fragments of different frames are not joined",
            [
                Air.connectInd(), Air.data(2, "0800 0400 1b22 0001", .received), Air.data(1, "0a0b0c0d0e", .received),
                Air.notification("09", sequence: 1),
            ], pdus: ["1b220009"]),
        // The same number with other content: a packet is missing in between.
        ReassemblyCase(
            "a fragment after a missed packet is not joined",
            [Air.connectInd(), Air.data(2, "0800 0400 1b22 00", .received), Air.data(1, "0a0b0c0d0e", .received)],
            pdus: [], drops: [.missedPart: 1, .continuationWithoutStart: 1]),
        ReassemblyCase(
            "packets with a wrong CRC are dropped in link type 256",
            [
                Air.connectInd(), Air.notification("01", info: LinkLayerInfo(isCRCValid: false)),
                Air.notification("02"),
            ], pdus: ["1b220002"], drops: [.badCRC: 1]),
        // Link type 251 has no flag for it: the CRC is computed with the CRCInit of CONNECT_IND.
        ReassemblyCase(
            "packets with a wrong CRC are dropped in link type 251",
            [Air.connectInd(), Air.notification("01", isDamaged: true), Air.notification("02")], pdus: ["1b220002"],
            drops: [.badCRC: 1]),
        ReassemblyCase(
            "a capture without real CRCs is read",
            [Air.connectInd(), Air.notification("01"), Air.notification("02", sequence: 1)].map(Air.withoutCRC),
            pdus: ["1b220001", "1b220002"]),
        ReassemblyCase(
            "LLID 0 is rejected", [Air.connectInd(), Air.data(0, "0400 0400 1b220001", .received)], pdus: [],
            drops: [.reservedLLID: 1]),
        ReassemblyCase(
            "a length beyond the packet is rejected", [Air.connectInd(), Air.cut(Air.notification("01"), by: 5)],
            pdus: [], drops: [.shortPacket: 1]),
        ReassemblyCase(
            "an L2CAP frame that is cut short is rejected",
            [Air.connectInd(), Air.data(2, "f000 0400 1b220001", .received)], pdus: [], drops: [.unfinishedAtEnd: 1]),
        ReassemblyCase(
            "the coding indicator is not part of the header", [Air.coded(Air.notification("01"))], pdus: ["1b220001"]),
    ]
}
