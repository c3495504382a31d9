package import Bluetooth

// Parsers of the headers that each link type puts before the packet.

extension CapturePacket {
    /// H4: one type byte (1 command, 2 ACL, 3 SCO, 4 event, 5 ISO), then the packet.
    func deliverH4(_ data: RawSpan, info: inout CaptureFileInfo, _ body: PacketSink) throws {
        guard data.byteCount >= 1, (1...5).contains(data.u8(0)) else {
            return try deliverUnread(data, info: &info, body)
        }
        var packet = self
        packet.content = .hci(HCIPacketType(rawValue: data.u8(0)))
        try body(packet, data.extracting(1..<data.byteCount))
    }

    /// The adapter in 16 bits: the low byte of the interface number, then the low byte of the adapter number.
    package var shortAdapter: UInt16 { UInt16(truncatingIfNeeded: (adapter >> 16) << 8 | adapter) }

    /// Sets the packet type and direction from an opcode of the Linux monitor, whose data have no H4 type byte. Equal
    /// adapter numbers of two interfaces are two adapters.
    package mutating func setMonitor(opcode: UInt16, adapter: UInt16) {
        self.adapter = self.adapter << 16 | UInt32(adapter)
        if let kind = PacketKind.monitor.first(where: { $0.number == opcode }) {
            (content, direction) = (.hci(kind.type), kind.direction)
        } else {
            (content, direction) = (.note(.monitor(opcode)), nil)
        }
    }

    /// Sets the packet type and direction from PacketLogger's type byte.
    mutating func setPacketLogger(type: UInt8) {
        if let kind = PacketKind.packetLogger.first(where: { $0.number == type }) {
            (content, direction) = (.hci(kind.type), kind.direction)
        } else {
            content = .note(.packetLogger(type))
        }
    }

    /// Parses the header of a pcap link type, and delivers the packet without it.
    func deliver(_ linkType: LinkType, _ data: RawSpan, info: inout CaptureFileInfo, _ body: PacketSink) throws {
        var packet = self
        switch linkType {
        case .h4:
            return try packet.deliverH4(data, info: &info, body)
        case .h4WithDirection where data.byteCount >= 4:
            // Only bit 0 counts: 1 is received.
            packet.direction = data.u32(0, bigEndian: true) & 1 == 0 ? .sent : .received
            return try packet.deliverH4(data.extracting(4..<data.byteCount), info: &info, body)
        case .monitor where data.byteCount >= 4:
            packet.setMonitor(opcode: data.u16(2, bigEndian: true), adapter: data.u16(0, bigEndian: true))
            return try body(packet, data.extracting(4..<data.byteCount))
        case .linkLayer where data.byteCount >= 4:
            packet.content = .linkLayer(LinkLayerInfo())
            // In link-layer captures, epb_flags only state that the sniffer received the packet.
            packet.direction = nil
            return try body(packet, data)
        case .linkLayerWithRadio where data.byteCount >= RadioHeader.length + 4:
            RadioHeader.read(data, into: &packet)
            return try body(packet, data.extracting(RadioHeader.length..<data.byteCount))
        case .nordic:
            guard NordicHeader.read(data, into: &packet) else { break }
            return try body(packet, data.extracting(NordicHeader.length..<data.byteCount))
        case .ppi:
            return try PPIHeader.deliver(packet, data, info: &info, body)
        default: break
        }
        try deliverUnread(data, info: &info, body)
    }

    /// Delivers a packet that is too short for its header, or of an unsupported link type.
    func deliverUnread(_ data: RawSpan, info: inout CaptureFileInfo, _ body: PacketSink) throws {
        info.unreadableRecords += 1
        try body(self, data)
    }
}

/// The number that a format uses for an HCI packet type and direction.
struct PacketKind {
    var number: UInt16
    var type: HCIPacketType
    var direction: TrafficDirection

    /// Linux monitor opcodes (BlueZ `monitor/bt.h`).
    static let monitor = [
        Self(number: 2, type: .command, direction: .sent), Self(number: 3, type: .event, direction: .received),
        Self(number: 4, type: .acl, direction: .sent), Self(number: 5, type: .acl, direction: .received),
        Self(number: 6, type: .sco, direction: .sent), Self(number: 7, type: .sco, direction: .received),
        Self(number: 18, type: .iso, direction: .sent), Self(number: 19, type: .iso, direction: .received),
    ]

    /// The type bytes of PacketLogger.
    static let packetLogger = [
        Self(number: 0, type: .command, direction: .sent), Self(number: 1, type: .event, direction: .received),
        Self(number: 2, type: .acl, direction: .sent), Self(number: 3, type: .acl, direction: .received),
        Self(number: 8, type: .sco, direction: .sent), Self(number: 9, type: .sco, direction: .received),
    ]
}

extension [PacketKind] {
    /// The number for an HCI packet; `nil` if the format has none.
    func number(of type: HCIPacketType, _ direction: TrafficDirection) -> UInt16? {
        first { $0.type == type && $0.direction == direction }?.number
    }
}

/// The 10 bytes of LINKTYPE_BLUETOOTH_LE_LL_WITH_PHDR (256): RF channel, signal (dBm), noise, access address offences,
/// reference access address (4, LE), flags (2, LE).
enum RadioHeader {
    static let length = 10

    static func read(_ data: RawSpan, into packet: inout CapturePacket) {
        let flags = data.u16(8, bigEndian: false)
        switch flags >> 7 & 7 {
        case 2: packet.direction = .sent
        case 3: packet.direction = .received
        // Isochronous data and broadcast groups do not carry ATT.
        case 4, 5, 6: return
        default: packet.direction = nil
        }
        packet.content = .linkLayer(
            LinkLayerInfo(
                rfChannel: data.u8(0), signal: flags & 0x0002 != 0 ? Int8(bitPattern: data.u8(1)) : nil,
                isDecrypted: flags & 0x0008 != 0,
                isCRCValid: flags & 0x0400 != 0 ? flags & 0x0800 != 0 : nil,
                phy: LinkLayerInfo.PHY(rawValue: UInt8(flags >> 14)) ?? .le1M))
    }

    static func encode(_ info: LinkLayerInfo, direction: TrafficDirection?, _ bytes: RawSpan) -> [UInt8] {
        let accessAddress = bytes.byteCount >= 4 ? bytes.u32(0, bigEndian: false) : advertisingAccessAddress
        // Flags: dewhitened, reference access address valid.
        var flags: UInt16 = 0x0011
        if info.signal != nil { flags |= 0x0002 }
        if info.isDecrypted { flags |= 0x0008 }
        if accessAddress != advertisingAccessAddress, let direction { flags |= (direction == .sent ? 2 : 3) << 7 }
        if let isValid = info.isCRCValid { flags |= isValid ? 0x0C00 : 0x0400 }
        flags |= UInt16(info.phy.rawValue) << 14
        var header: [UInt8] = [info.rfChannel ?? 0, UInt8(bitPattern: info.signal ?? -128), 0x80, 0]
        header.append(accessAddress, bigEndian: false)
        header.append(flags, bigEndian: false)
        return header
    }
}

/// LINKTYPE_NORDIC_BLE (272), as written by Nordic's sniffer for Wireshark, protocol versions 1 to 3:
///
///     board(1)  length(2)  version(1)  counter(2)  packetId(1)
///     headerLength(1) = 10  flags(1)  channelIndex(1)  rssi(1, -dBm)  eventCounter(2)  time(4)
///     access address(4)  header(2)  payload  CRC(3)
///
/// Flags: bit 0 CRC valid; in data packets bit 1 central to peripheral, bit 2 encrypted (decrypted by the sniffer if
/// bit 3, MIC valid, is also set); bits 4 to 6 the PHY. Source: Wireshark's packet-nordic_ble.c.
private enum NordicHeader {
    static let length = 17

    /// Parses the header. Returns `false` for the sniffer's own messages and for unknown versions.
    static func read(_ data: RawSpan, into packet: inout CapturePacket) -> Bool {
        guard data.byteCount >= length + 4, (1...3).contains(data.u8(3)), data.u8(7) == 10 else { return false }
        let flags = data.u8(8)
        let isData = data.u32(length, bigEndian: false) != advertisingAccessAddress
        if isData { packet.direction = flags & 0x02 != 0 ? .sent : .received }
        packet.content = .linkLayer(
            LinkLayerInfo(
                rfChannel: rfChannel(index: data.u8(9)), signal: Int8(clamping: -Int(data.u8(10))),
                isDecrypted: isData && flags & 0x0C == 0x0C, isCRCValid: flags & 0x01 != 0,
                phy: LinkLayerInfo.PHY(rawValue: flags >> 4 & 7) ?? .le1M))
        return true
    }

    /// The RF channel of a channel index (Core 5.4, Vol 6 Part B, 1.4.1): indices 37, 38, 39 are RF 0, 12, 39.
    private static func rfChannel(index: UInt8) -> UInt8? {
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

/// LINKTYPE_PPI (192), Per-Packet Information, as written by Ubertooth; little-endian in every file:
///
///     version(1) = 0  flags(1)  length(2)  linkType(4)  ( fieldType(2) fieldLength(2) field )*
///
/// `length` is the length of these fields; a packet of that link type follows. Ubertooth writes its LE packets as user
/// 0 (147), or as 251. Its field 30006 starts with `version(1) frequency(2, MHz)`. Source: the PPI specification
/// 1.0.10, and Ubertooth's `ubertooth.c`.
private enum PPIHeader {
    static func deliver(
        _ packet: CapturePacket, _ data: RawSpan, info: inout CaptureFileInfo, _ body: PacketSink
    ) throws {
        guard data.byteCount >= 8, data.u8(0) == 0, case let end = Int(data.u16(2, bigEndian: false)), end >= 8,
            end <= data.byteCount
        else { return try packet.deliverUnread(data, info: &info, body) }
        let number = data.u32(4, bigEndian: false)
        let inner = number == 147 ? LinkType.linkLayer : LinkType(rawValue: number)
        guard inner == .linkLayer || inner == .linkLayerWithRadio else {
            info.addRemark("some packets are not Bluetooth LE and were skipped: \(inner)")
            return try packet.deliverUnread(data, info: &info, body)
        }
        let channel = rfChannel(data, upTo: end)
        try packet.deliver(inner, data.extracting(end..<data.byteCount), info: &info) { packet, bytes in
            var packet = packet
            if case .linkLayer(var linkLayer) = packet.content {
                linkLayer.rfChannel = linkLayer.rfChannel ?? channel
                packet.content = .linkLayer(linkLayer)
            }
            try body(packet, bytes)
        }
    }

    /// The RF channel by the frequency in field 30006; `nil` if the first field is another one.
    private static func rfChannel(_ data: RawSpan, upTo end: Int) -> UInt8? {
        guard end >= 15, data.u16(8, bigEndian: false) == 30_006, data.u16(10, bigEndian: false) >= 3 else {
            return nil
        }
        let frequency = data.u16(13, bigEndian: false)
        return (2402...2480).contains(frequency) && frequency % 2 == 0 ? UInt8((frequency - 2402) / 2) : nil
    }
}
