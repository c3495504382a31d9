@testable import Bluetooth
import Testing

/// Failure cases of recordings from the air, by name.
@Suite struct AirTraps {
    private static let accessAddress: UInt32 = 0x92DD_A6F5
    private static let seed: UInt32 = 0x123456

    /// A data packet with a valid CRC. Header: LLID, NESN 4, SN 8.
    private func data(
        _ header: UInt8, _ payload: String, _ direction: TrafficDirection? = nil, at time: Duration? = nil,
        facts: LinkLayerFacts = .init(),
        damaged: Bool = false, frame: Int = 1, accessAddress: UInt32 = AirTraps.accessAddress
    ) -> (CapturePacket, [UInt8]) {
        let pdu = [header, UInt8(bytes(payload).count)] + bytes(payload)
        let crc = CRC24.of(pdu.span.bytes, seed: Self.seed) ^ (damaged ? 0x10 : 0)
        return (
            CapturePacket(number: frame, time: time, direction: direction, content: .linkLayer(facts)),
            le(accessAddress) + pdu + Array(le(crc).prefix(3))
        )
    }

    private func connectInd(_ last: UInt8 = 1, accessAddress: UInt32 = AirTraps.accessAddress) -> (
        CapturePacket, [UInt8]
    ) {
        let payload =
            bytes("0600000000c0") + [last] + bytes("0000 38c1a4") + le(accessAddress) + Array(le(Self.seed).prefix(3))
            + bytes("01 0000 1800 0000 f401 ffffffff1f 07")
        let pdu = [0x45, UInt8(payload.count)] + payload
        return (
            CapturePacket(number: 1, time: nil, direction: nil, content: .linkLayer(.init())),
            le(ConversationReassembler.advertisingAccessAddress) + pdu
                + Array(le(CRC24.of(pdu.span.bytes, seed: CRC24.advertisingInit)).prefix(3))
        )
    }

    private func seen(_ packets: [(CapturePacket, [UInt8])]) -> Observed { Observed(packets: packets) }
    private func pdus(_ packets: [(CapturePacket, [UInt8])]) -> [String] { seen(packets).pdus.map { hex($0.pdu) } }

    @Test func `CONNECT_IND has both addresses`() {
        let observed = seen([connectInd(), data(2, "0400 0400 1b220001", .received)])
        let connection = observed.pdus.first?.att.connection
        #expect(connection?.peer?.description == "A4:C1:38:00:00:01")
        #expect(connection?.central?.description == "C0:00:00:00:00:06")
        #expect(connection?.isPeerRandom == false)
        #expect(connection?.handle == Self.accessAddress)
    }

    @Test func `a retransmission is detected by SN`() {
        let observed = seen([
            connectInd(), data(2, "0400 0400 1b220001", .received), data(2, "0400 0400 1b220001", .received),
            data(2 | 4, "0400 0400 1b220001", .received), data(2 | 8, "0400 0400 1b220001", .received),
            data(2, "0300 0400 520000", .sent),
        ])
        // A retransmission can differ in NESN. A new SN with equal content is not a retransmission. Each side counts
        // separately.
        #expect(observed.pdus.map { hex($0.pdu) } == ["1b220001", "1b220001", "520000"])
        #expect(observed.drops == [.retransmission: 2])
    }

    @Test func `a missed packet is not a retransmission`() {
        #expect(
            pdus([connectInd(), data(2, "0400 0400 1b220001", .received), data(2, "0400 0400 1b220002", .received)])
                == ["1b220001", "1b220002"])
    }

    @Test func `fragments with a retransmission are reassembled`() {
        #expect(
            pdus([
                connectInd(), data(2, "0600 0400 1b22", .received), data(1 | 8, "0001", .received),
                data(1 | 8, "0001", .received), data(1, "0203", .received),
            ]) == ["1b2200010203"])
    }

    @Test func `retransmissions without direction are detected by SN and content`() {
        let start = Duration.seconds(100)
        let observed = seen([
            data(2, "0700 0400 02050208090a0b", at: start),
            data(2 | 4, "0700 0400 02050208090a0b", at: start + .milliseconds(67)),
        ])
        #expect(observed.pdus.count == 1)
        #expect(observed.drops == [.retransmission: 1])
    }

    @Test func `packets after LL_START_ENC_REQ are encrypted`() {
        let observed = seen([
            connectInd(), data(2, "0400 0400 1b220001", .received), data(3, "05", .sent),
            data(2 | 8, "0400 0400 1b220002 aabbccdd", .received),
            data(2 | 8, "0400 0400 0a220002 aabbccdd", .sent),
        ])
        #expect(observed.pdus.map { hex($0.pdu) } == ["1b220001"])
        #expect(observed.drops == [.ciphertext: 2])
        #expect(observed.events.contains { if case .encrypted = $0 { true } else { false } })
    }

    /// Flag 0x0008: the sniffer decrypted the packet and might have kept the MIC.
    @Test func `decrypted packets are read`() {
        let decrypted = LinkLayerFacts(isDecrypted: true)
        let observed = seen([
            connectInd(), data(3, "05", .sent), data(2, "0400 0400 1b220002", .received, facts: decrypted),
            data(2 | 8, "0400 0400 1b220003 aabbccdd", .received, facts: decrypted),
            // Fragments with a MIC each, once the MIC is detected.
            data(2, "0500 0400 1b22 aabbccdd", .received, facts: decrypted),
            data(1 | 8, "000405 aabbccdd", .received, facts: decrypted),
        ])
        #expect(observed.pdus.map { hex($0.pdu) } == ["1b220002", "1b220003", "1b22000405"])
    }

    /// Valid L2CAP is accepted, and only ciphertext is reported as encrypted.
    @Test func `decrypted packets without a flag are read`() {
        let plain = seen([
            connectInd(), data(3, "05", .received), data(2, "0400 0400 1b220002", .received),
            data(2 | 8, "0400 0400 1b220003", .received),
            data(2, "0500 0400 1b22", .received), data(1 | 8, "000405", .received), data(3, "0213", .sent),
        ])
        #expect(plain.pdus.map { hex($0.pdu) } == ["1b220002", "1b220003", "1b22000405"])
        #expect(plain.drops.isEmpty)
        #expect(!plain.events.contains { if case .encrypted = $0 { true } else { false } })
        let cipher = seen([
            connectInd(), data(3, "05", .received), data(2, "9f31 77aa 01020304 aabbccdd", .received),
            data(3 | 8, "55aabbccdd", .received),
            data(1, "0102030405060708", .received),
        ])
        #expect(cipher.pdus.isEmpty)
        #expect(cipher.drops == [.ciphertext: 3])
        #expect(cipher.events.count { if case .encrypted = $0 { true } else { false } } == 1)
    }

    /// Two fragments of a frame are missing, and the next ones fill its length by chance.
    @Test func `fragments of different frames are not joined`() {
        #expect(
            pdus([
                connectInd(), data(2, "0800 0400 1b22 0001", .received), data(1, "0a0b0c0d0e", .received),
                data(2 | 8, "0400 0400 1b220009", .received),
            ]) == ["1b220009"])
        // The same number with other content: a packet is missing in between.
        let gap = seen([connectInd(), data(2, "0800 0400 1b22 00", .received), data(1, "0a0b0c0d0e", .received)])
        #expect(gap.pdus.isEmpty)
        #expect(gap.drops[.missedPart] == 1)
    }

    @Test func `packets with a wrong CRC are dropped in link type 256`() {
        let bad = LinkLayerFacts(isCRCValid: false)
        let observed = seen([
            connectInd(), data(2, "0400 0400 1b220001", .received, facts: bad),
            data(2, "0400 0400 1b220002", .received),
        ])
        #expect(observed.pdus.map { hex($0.pdu) } == ["1b220002"])
        #expect(observed.drops == [.badCRC: 1])
    }

    /// Link type 251 has no flag for it: the CRC is computed with the CRCInit of CONNECT_IND.
    @Test func `packets with a wrong CRC are dropped in link type 251`() {
        let observed = seen([
            connectInd(), data(2, "0400 0400 1b220001", .received, damaged: true),
            data(2, "0400 0400 1b220002", .received),
        ])
        #expect(observed.pdus.map { hex($0.pdu) } == ["1b220002"])
        #expect(observed.drops == [.badCRC: 1])
    }

    /// CRCInit is derived from two packets that agree.
    @Test func `a connection without CONNECT_IND is read`() {
        let observed = seen([
            data(2, "0600 0400 1b22", .received), data(1 | 8, "00010203", .received),
            data(2, "0400 0400 1b220001", .received, damaged: true), data(2, "0400 0400 1b220004", .received),
        ])
        #expect(observed.pdus.map { hex($0.pdu) } == ["1b2200010203", "1b220004"])
        #expect(observed.pdus.first?.att.connection.peer == nil)
        #expect(observed.drops == [.badCRC: 1])
    }

    @Test func `a capture without real CRCs is read`() {
        func zeroed(_ packet: (CapturePacket, [UInt8])) -> (CapturePacket, [UInt8]) {
            (packet.0, packet.1.dropLast(3) + [0, 0, 0])
        }
        #expect(
            pdus([
                zeroed(connectInd()), zeroed(data(2, "0400 0400 1b220001", .received)),
                zeroed(data(2 | 8, "0400 0400 1b220002", .received)),
            ]) == ["1b220001", "1b220002"])
    }

    /// From the response after 150 µs, the start of the connection event, and the sequence bits. Both ends are servers
    /// here.
    @Test func `the direction is derived from the packet times`() {
        var time = Duration.seconds(50)
        var packets = [connectInd()]
        var bit: UInt8 = 0
        func event(_ central: String, _ peripheral: String) {
            time += .milliseconds(30)
            packets.append(data((central.isEmpty ? 1 : 2) | bit << 2 | bit << 3, central, at: time))
            packets.append(
                data(
                    (peripheral.isEmpty ? 1 : 2) | (bit ^ 1) << 2 | bit << 3, peripheral,
                    at: time + .microseconds(80 + 8 * bytes(central).count + 150)))
            bit ^= 1
        }
        for _ in 0..<4 { event("", "") }
        event("0400 0400 1b110001", "")
        event("", "0400 0400 1b220002")
        event("0300 0400 0a0300", "0300 0400 0a0400")
        let observed = seen(packets)
        #expect(observed.pdus.map { hex($0.pdu) } == ["1b110001", "1b220002", "0a0300", "0a0400"])
        #expect(observed.pdus.map(\.att.direction) == [.sent, .received, .sent, .received])
    }

    @Test func `LL_TERMINATE_IND ends the connection once`() {
        let observed = seen([
            connectInd(), data(2, "0600 0400 1b22", .received), data(3, "0213", .sent), data(3, "0213", .sent),
            data(1 | 4 | 8, "", .received),
            connectInd(2), data(1, "00010203", .received), data(2 | 8, "0400 0400 1b220009", .received),
        ])
        #expect(observed.pdus.map { hex($0.pdu) } == ["1b220009"])
        #expect(observed.pdus.first?.att.connection.peer?.description == "A4:C1:38:00:00:02")
        #expect(observed.events.count { if case .disconnected = $0 { true } else { false } } == 1)
        #expect(observed.events.count { if case .connected = $0 { true } else { false } } == 2)
    }

    @Test func `a repeated CONNECT_IND is one connection`() {
        let observed = seen([connectInd(), connectInd(), data(2, "0400 0400 1b220001", .received)])
        #expect(observed.events.count { if case .connected = $0 { true } else { false } } == 1)
    }

    static let lies: [(name: String, header: UInt8, payload: String, cut: Int, reason: DropReason)] = [
        ("LLID 0", 0, "0400 0400 1b220001", 0, .reservedLLID),
        ("a length beyond the packet", 2, "0400 0400 1b220001", 5, .shortPacket),
        ("an L2CAP frame that is cut short", 2, "f000 0400 1b220001", 0, .unfinishedAtEnd),
    ]

    @Test(arguments: lies)
    func `wrong header lengths are rejected`(
        _ name: String, _ header: UInt8, _ payload: String, _ cut: Int, _ reason: DropReason
    ) {
        let packet = data(header, payload, .received)
        let observed = seen([connectInd(), (packet.0, Array(packet.1.dropLast(cut)))])
        #expect(observed.pdus.isEmpty)
        #expect(observed.drops == [reason: 1])
    }

    @Test func `the coding indicator is not part of the header`() {
        var (packet, bytes) = data(2, "0400 0400 1b220001", .received)
        bytes.insert(0x01, at: 4)
        packet.content = .linkLayer(.init(phy: .coded))
        #expect(pdus([(packet, bytes)]) == ["1b220001"])
    }
}
