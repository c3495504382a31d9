// What stands before the packet proper in each link type, taken off in one place for all containers.

extension CapturePacket {
    /// H4: one type byte (1 command, 2 ACL, 3 SCO, 4 event, 5 ISO), then the packet.
    func deliverH4(_ data: RawSpan, facts: inout CaptureFileFacts, _ body: (CapturePacket, RawSpan) throws -> Void)
        throws
    {
        var packet = self
        guard data.byteCount >= 1, (1...5).contains(data.u8(0)) else {
            facts.unreadable += 1
            packet.content = .unknown
            return try body(packet, data)
        }
        packet.content = .hci(HCIPacketType(rawValue: data.u8(0)))
        try body(packet, data.extracting(1..<data.byteCount))
    }

    /// Linux monitor opcodes (BlueZ `monitor/bt.h`); the data have no type byte.
    mutating func setMonitor(opcode: UInt16, adapter: UInt16) {
        self.adapter = UInt32(adapter)
        switch opcode {
        case 2: (content, direction) = (.hci(.command), .sent)
        case 3: (content, direction) = (.hci(.event), .received)
        case 4: (content, direction) = (.hci(.acl), .sent)
        case 5: (content, direction) = (.hci(.acl), .received)
        case 6: (content, direction) = (.hci(.sco), .sent)
        case 7: (content, direction) = (.hci(.sco), .received)
        case 18: (content, direction) = (.hci(.iso), .sent)
        case 19: (content, direction) = (.hci(.iso), .received)
        default: (content, direction) = (.note(.monitor(opcode)), nil)
        }
    }

    /// Takes off what the pcap link type puts before the packet, and says it in fields.
    func deliver(
        _ linkType: LinkType, _ data: RawSpan, facts: inout CaptureFileFacts,
        _ body: (CapturePacket, RawSpan) throws -> Void
    ) throws {
        var packet = self
        switch linkType {
        case .h4:
            return try packet.deliverH4(data, facts: &facts, body)
        case .h4WithDirection where data.byteCount >= 4:
            // Only bit 0 counts: 1 is received.
            packet.direction = data.u32(0, bigEndian: true) & 1 == 0 ? .sent : .received
            return try packet.deliverH4(data.extracting(4..<data.byteCount), facts: &facts, body)
        case .monitor where data.byteCount >= 4:
            packet.setMonitor(opcode: data.u16(2, bigEndian: true), adapter: data.u16(0, bigEndian: true))
            return try body(packet, data.extracting(4..<data.byteCount))
        case .linkLayer where data.byteCount >= 4:
            packet.content = .linkLayer(LinkLayerFacts())
            // What epb_flags say of a packet from the air is that the sniffer received it.
            packet.direction = nil
            return try body(packet, data)
        case .linkLayerWithRadio where data.byteCount >= RadioHeader.length + 4:
            RadioHeader.read(data, into: &packet)
            return try body(packet, data.extracting(RadioHeader.length..<data.byteCount))
        case .nordic:
            return try NordicHeader.deliver(packet, data, facts: &facts, body)
        case .ppi:
            return try PPIHeader.deliver(packet, data, facts: &facts, body)
        default:
            return try packet.deliverUnread(data, facts: &facts, body)
        }
    }

    /// Too short for its own header, or a link type that is not read.
    func deliverUnread(_ data: RawSpan, facts: inout CaptureFileFacts, _ body: (CapturePacket, RawSpan) throws -> Void)
        throws
    {
        var packet = self
        facts.unreadable += 1
        packet.content = .unknown
        try body(packet, data)
    }
}

/// The 10 bytes of LINKTYPE_BLUETOOTH_LE_LL_WITH_PHDR (256):
/// RF channel, signal (dBm), noise, access address offences, reference access address (4, LE), flags (2, LE).
enum RadioHeader {
    static let length = 10

    static func read(_ data: RawSpan, into packet: inout CapturePacket) {
        let flags = data.u16(8, bigEndian: false)
        let phy: LinkLayerFacts.PHY =
            switch flags >> 14 {
            case 1: .le2M
            case 2: .coded
            default: .le1M
            }
        switch flags >> 7 & 7 {
        case 2: packet.direction = .sent
        case 3: packet.direction = .received
        case 4, 5, 6:
            // Isochronous data and broadcast groups: no ATT.
            packet.content = .unknown
            return
        default: packet.direction = nil
        }
        packet.content = .linkLayer(
            LinkLayerFacts(
                rfChannel: data.u8(0), signal: flags & 0x0002 != 0 ? Int8(bitPattern: data.u8(1)) : nil,
                isDecrypted: flags & 0x0008 != 0,
                isCRCValid: flags & 0x0400 != 0 ? flags & 0x0800 != 0 : nil, phy: phy))
    }
}
