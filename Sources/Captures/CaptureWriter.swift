/// Writes a capture: packets in, bytes out, streaming.
///
/// Packets of the format's level are written as they are; for another level, Replay goes by way of the conversation.
public struct CaptureWriter {
    public let format: CaptureFormat
    /// Bytes written and not yet taken.
    public private(set) var output: [UInt8] = []
    private var encoder: Encoder

    private enum Encoder {
        case btsnoop(BtsnoopEncoder)
        case pcap(PcapEncoder)
        case pcapng(PcapngEncoder)
        case packetLogger(PacketLoggerEncoder)
        case hexText(HexTextEncoder)
        case nrfConnect(NRFConnectEncoder)
    }

    /// - Parameter facts: name, address and profile for the head of a text capture.
    public init(_ format: CaptureFormat, facts: CaptureFileFacts = CaptureFileFacts()) {
        self.format = format
        switch format.container {
        case .btsnoop: encoder = .btsnoop(BtsnoopEncoder(linkType: format.linkType, &output))
        case .pcap: encoder = .pcap(PcapEncoder(linkType: format.linkType, isBigEndian: format.isBigEndian, &output))
        case .pcapng: encoder = .pcapng(PcapngEncoder(linkType: format.linkType, isBigEndian: format.isBigEndian, &output))
        case .packetLogger: encoder = .packetLogger(PacketLoggerEncoder(isBigEndian: format.isBigEndian))
        case .hexText: encoder = .hexText(HexTextEncoder(facts: facts, &output))
        case .nrfConnect: encoder = .nrfConnect(NRFConnectEncoder(facts: facts))
        }
    }

    /// Appends one packet. Its number is not used.
    ///
    /// - Returns: `false` where the packet was left out because the format has no place for it and no traffic is lost
    ///   (notes of another format, audio in H1, records that were unreadable).
    /// - Throws: `CaptureError` of kind `cannotCarry` where traffic would be lost: a packet of another level, a time that the
    ///   format cannot say, a stump that it could not mark as one.
    @discardableResult
    public mutating func write(_ packet: CapturePacket, _ bytes: RawSpan) throws(CaptureError) -> Bool {
        switch packet.content {
        case .unknown: return false
        case .note where format.level != .hci: return false
        default: break
        }
        switch encoder {
        case .btsnoop(let encoder): return try encoder.write(packet, bytes, &output)
        case .pcap(let encoder): return try encoder.write(packet, bytes, &output)
        case .packetLogger(let encoder): return try encoder.write(packet, bytes, &output)
        case .pcapng(var inner):
            defer { encoder = .pcapng(inner) }
            return try inner.write(packet, bytes, &output)
        case .hexText(var inner):
            defer { encoder = .hexText(inner) }
            return try inner.write(packet, bytes, &output)
        case .nrfConnect(var inner):
            defer { encoder = .nrfConnect(inner) }
            return try inner.write(packet, bytes, &output)
        }
    }

    /// The bytes written since the last call.
    public mutating func takeOutput() -> [UInt8] {
        var taken: [UInt8] = []
        swap(&taken, &output)
        output.reserveCapacity(taken.capacity)
        return taken
    }
}

extension CaptureFormat {
    /// Whether the format tells packets of several adapters apart. Where it does not, two adapters with one handle would
    /// become one: such a capture has to be converted by way of the conversation, which gives new handles.
    public var keepsAdapters: Bool {
        switch (container, linkType) {
        case (.pcapng, _), (_, .monitor): true
        default: level != .hci
        }
    }

    /// Whether reading a file of this format back gives the packets' directions.
    public var keepsDirection: Bool {
        switch (container, linkType) {
        case (.pcap, .h4), (_, .linkLayer): false
        default: true
        }
    }

    /// A format that `CaptureWriter` writes.
    public var isWritable: Bool { Self.named.contains { $0.format.container == container && $0.format.linkType == linkType } }
}
