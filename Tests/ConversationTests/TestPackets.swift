@testable import Bluetooth

typealias TestPacket = (CapturePacket, [UInt8])

/// Builds HCI packets.
enum HCI {
    static func acl(
        _ direction: TrafficDirection?, handle: UInt16 = 0x40, boundary: UInt16, _ data: [UInt8], frame: Int = 1,
        adapter: UInt32 = 0, isTruncated: Bool = false, length: Int? = nil
    ) -> TestPacket {
        let head = le(handle | boundary << 12) + le(UInt16(length ?? data.count))
        return (
            CapturePacket(
                number: frame, time: nil, adapter: adapter, direction: direction, missing: isTruncated ? 1 : 0,
                content: .hci(.acl)), head + data
        )
    }

    static func event(_ text: String, frame: Int = 1, adapter: UInt32 = 0) -> TestPacket {
        (
            CapturePacket(number: frame, time: nil, adapter: adapter, direction: .received, content: .hci(.event)),
            bytes(text)
        )
    }

    /// LE Connection Complete of address A4:C1:38:00:00:`last` on a handle.
    static func connected(
        _ last: String, handle: String = "4000", adapter: UInt32 = 0, subevent: String = "01", status: String = "00"
    ) -> TestPacket {
        let rest =
            subevent == "01"
            ? "1800 0000 f401 00" : "000000000000 000000000000 1800 0000 f401 00" + (subevent == "29" ? "ff ffff" : "")
        let parameters = "\(subevent) \(status) \(handle) 00 01 \(last) 0000 38c1a4 \(rest)"
        return event("3e " + hex([UInt8(bytes(parameters).count)]) + parameters, adapter: adapter)
    }

    static func disconnected(status: String = "00") -> TestPacket { event("05 04 \(status) 4000 13") }

    /// A whole notification in one fragment.
    static func notification(_ value: String, handle: UInt16 = 0x40, frame: Int = 1, adapter: UInt32 = 0) -> (
        CapturePacket, [UInt8]
    ) {
        acl(.received, handle: handle, boundary: 2, l2cap("1b 22 00" + value), frame: frame, adapter: adapter)
    }

    static func l2cap(_ pdu: String, channel: UInt16 = 4) -> [UInt8] {
        le(UInt16(bytes(pdu).count)) + le(channel) + bytes(pdu)
    }
}

/// Builds packets of the link layer.
enum Air {
    static let accessAddress: UInt32 = 0x92DD_A6F5
    private static let seed: UInt32 = 0x123456
    static let decrypted = LinkLayerInfo(isDecrypted: true)

    /// A data packet with a valid CRC. Header: LLID, NESN 4, SN 8.
    static func data(
        _ header: UInt8, _ payload: String, _ direction: TrafficDirection? = nil, at time: Duration? = nil,
        info: LinkLayerInfo = .init(), isDamaged: Bool = false
    ) -> TestPacket {
        let pdu = [header, UInt8(bytes(payload).count)] + bytes(payload)
        let crc = CRC24.of(pdu.span.bytes, crcInit: seed) ^ (isDamaged ? 0x10 : 0)
        return (
            CapturePacket(number: 1, time: time, direction: direction, content: .linkLayer(info)),
            le(accessAddress) + pdu + Array(le(crc).prefix(3))
        )
    }

    /// A whole notification of one byte in one packet.
    static func notification(
        _ value: String, sequence: UInt8 = 0, info: LinkLayerInfo = .init(), isDamaged: Bool = false
    ) -> TestPacket {
        data(2 | sequence << 3, "0400 0400 1b2200" + value, .received, info: info, isDamaged: isDamaged)
    }

    static func connectInd(_ last: UInt8 = 1) -> TestPacket {
        let payload =
            bytes("0600000000c0") + [last] + bytes("0000 38c1a4") + le(accessAddress) + Array(le(seed).prefix(3))
            + bytes("01 0000 1800 0000 f401 ffffffff1f 07")
        let pdu = [0x45, UInt8(payload.count)] + payload
        return (
            CapturePacket(number: 1, time: nil, direction: nil, content: .linkLayer(.init())),
            le(advertisingAccessAddress) + pdu
                + Array(le(CRC24.of(pdu.span.bytes, crcInit: CRC24.advertisingInit)).prefix(3))
        )
    }

    /// The packet with a CRC of zero, as a sniffer without real CRCs writes it.
    static func withoutCRC(_ packet: TestPacket) -> TestPacket { (packet.0, packet.1.dropLast(3) + [0, 0, 0]) }

    /// The packet without its last bytes.
    static func cut(_ packet: TestPacket, by count: Int) -> TestPacket { (packet.0, packet.1.dropLast(count)) }

    /// The packet on the coded PHY, with its coding indicator.
    static func coded(_ packet: TestPacket) -> TestPacket {
        var (packet, bytes) = packet
        bytes.insert(0x01, at: 4)
        packet.content = .linkLayer(.init(phy: .coded))
        return (packet, bytes)
    }
}

func le(_ value: some FixedWidthInteger) -> [UInt8] { Swift.withUnsafeBytes(of: value.littleEndian) { Array($0) } }
