/// LINKTYPE_PPI (192), Per-Packet Information, which Ubertooth puts before packets from the air; little-endian in every
/// file:
///
///     version(1) = 0  flags(1)  length(2)  linkType(4)  ( fieldType(2) fieldLength(2) field )*
///
/// `length` counts all of that; what follows is a packet of that link type. Ubertooth calls its own LE packets user 0
/// (147), or 251. Its field 30006 begins `version(1) frequency(2, MHz)`. Source: the PPI specification 1.0.10, and
/// Ubertooth's `ubertooth.c`.
enum PPIHeader {
    static let length = 8
    private static let user0: UInt32 = 147
    private static let radioField: UInt16 = 30_006

    static func deliver(
        _ packet: CapturePacket, _ data: RawSpan, facts: inout CaptureFileFacts,
        _ body: (CapturePacket, RawSpan) throws -> Void
    ) throws {
        guard data.byteCount >= length, data.u8(0) == 0, case let end = Int(data.u16(2, bigEndian: false)),
            end >= length, end <= data.byteCount
        else {
            return try packet.deliverUnread(data, facts: &facts, body)
        }
        let number = data.u32(4, bigEndian: false)
        let inner = LinkType(rawValue: number == user0 ? LinkType.linkLayer.rawValue : number)
        guard inner == .linkLayer || inner == .linkLayerWithRadio else {
            let remark = "not all of its packets are Bluetooth: some are \(inner.nameOfUnread ?? inner.description)"
            if !facts.remarks.contains(remark), facts.remarks.count < 8 { facts.remarks.append(remark) }
            return try packet.deliverUnread(data, facts: &facts, body)
        }
        let channel = rfChannel(data, upTo: end)
        try packet.deliver(inner, data.extracting(end..<data.byteCount), facts: &facts) { packet, bytes in
            guard case .linkLayer(var air) = packet.content, air.rfChannel == nil, let channel else {
                return try body(packet, bytes)
            }
            var packet = packet
            air.rfChannel = channel
            packet.content = .linkLayer(air)
            try body(packet, bytes)
        }
    }

    /// The radio's frequency, where its field stands first.
    private static func rfChannel(_ data: RawSpan, upTo end: Int) -> UInt8? {
        guard end >= length + 7, data.u16(length, bigEndian: false) == radioField,
            data.u16(length + 2, bigEndian: false) >= 3
        else { return nil }
        let frequency = data.u16(length + 5, bigEndian: false)
        return (2402...2480).contains(frequency) && frequency % 2 == 0 ? UInt8((frequency - 2402) / 2) : nil
    }
}
