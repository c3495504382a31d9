/// LINKTYPE_NORDIC_BLE (272), what Nordic's sniffer for Wireshark writes, protocol versions 1 to 3:
///
///     board(1)  length(2)  version(1)  counter(2)  packetId(1)
///     headerLength(1) = 10  flags(1)  channelIndex(1)  rssi(1, -dBm)  eventCounter(2)  time(4)
///     access address(4)  header(2)  payload  CRC(3)
///
/// Flags: bit 0 CRC valid; of data packets bit 1 central to peripheral, bit 2 encrypted (decrypted by the sniffer when
/// bit 3, MIC valid, is set too); bits 4 to 6 the PHY. Source: Wireshark's packet-nordic_ble.c.
enum NordicHeader {
    static let length = 17
    private static let advertisingAccessAddress: UInt32 = 0x8E89_BED6

    static func deliver(
        _ packet: CapturePacket, _ data: RawSpan, facts: inout CaptureFileFacts,
        _ body: (CapturePacket, RawSpan) throws -> Void
    ) throws {
        var packet = packet
        guard data.byteCount >= length + 4, (1...3).contains(data.u8(3)), data.u8(7) == 10 else {
            // Not a packet from the air (the sniffer's own messages), or a version that is not known.
            facts.unreadable += 1
            packet.content = .unknown
            return try body(packet, data)
        }
        let flags = data.u8(8)
        let air = data.extracting(length..<data.byteCount)
        let isData = air.u32(0, bigEndian: false) != advertisingAccessAddress
        if isData { packet.direction = flags & 0x02 != 0 ? .sent : .received }
        let phy: LinkLayerFacts.PHY =
            switch flags >> 4 & 7 {
            case 1: .le2M
            case 2: .coded
            default: .le1M
            }
        packet.content = .linkLayer(
            LinkLayerFacts(
                rfChannel: rfChannel(index: data.u8(9)), signal: Int8(clamping: -Int(data.u8(10))),
                isDecrypted: isData && flags & 0x0C == 0x0C, isCRCValid: flags & 0x01 != 0, phy: phy))
        try body(packet, air)
    }

    /// The RF channel of a channel index: 37, 38, 39 are RF 0, 12, 39; data channels fill the gaps (Core 5.4, Vol 6
    /// Part B, 1.4.1).
    static func rfChannel(index: UInt8) -> UInt8? {
        switch index {
        case 0...10: index + 1
        case 11...36: index + 2
        case 37: 0
        case 38: 12
        case 39: 39
        default: nil
        }
    }
}
