/// Writes a capture: packets in, bytes out, streaming.
///
/// Packets of the format's level are written as they are; for another level, Replay goes by way of the conversation.
package struct CaptureWriter {
    /// What is written; packets of another level are refused.
    package let format: CaptureFormat
    /// Bytes written and not yet taken.
    package private(set) var output: [UInt8] = []
    /// How many records got another time, because the format cannot say theirs: they are counted from the first of them
    /// on, which is given the format's first instant (1970).
    package private(set) var retimed = 0
    private var firstRetimed: Duration?
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
    package init(_ format: CaptureFormat, facts: CaptureFileFacts = CaptureFileFacts()) {
        self.format = format
        switch format.container {
        case .btsnoop: encoder = .btsnoop(BtsnoopEncoder(linkType: format.linkType, &output))
        case .pcap: encoder = .pcap(PcapEncoder(linkType: format.linkType, isBigEndian: format.isBigEndian, &output))
        case .pcapng:
            encoder = .pcapng(PcapngEncoder(linkType: format.linkType, isBigEndian: format.isBigEndian, &output))
        case .packetLogger: encoder = .packetLogger(PacketLoggerEncoder(isBigEndian: format.isBigEndian))
        case .hexText: encoder = .hexText(HexTextEncoder(facts: facts, &output))
        case .nrfConnect: encoder = .nrfConnect(NRFConnectEncoder(facts: facts))
        case .hexDump, .monitorText, .tsharkJSON:
            preconditionFailure("\(format.container.rawValue) is only read: isWritable tells before")
        }
    }

    /// Appends one packet. Its number is not used.
    ///
    /// - Returns: `false` where the packet was left out because the format has no place for it and no traffic is lost
    ///   (notes of another format, audio in H1, records that were unreadable).
    /// - Throws: `CaptureError` of kind `cannotCarry` where traffic would be lost: a packet of another level, a stump
    ///   that the format could not mark as one.
    @discardableResult
    package mutating func write(_ packet: CapturePacket, _ bytes: RawSpan) throws(CaptureError) -> Bool {
        switch packet.content {
        case .unknown: return false
        case .note where format.level != .hci: return false
        default: break
        }
        let packet = withTimeThatFits(packet)
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

    /// A recorder without a clock counts from anywhere: before 1970, or the year 0. Distances are kept then.
    private mutating func withTimeThatFits(_ packet: CapturePacket) -> CapturePacket {
        guard let time = packet.time, !format.container.times.contains(time.sinceEpoch) else { return packet }
        let start = firstRetimed ?? time.sinceEpoch
        firstRetimed = start
        retimed += 1
        var packet = packet
        let times = format.container.times
        packet.time = CaptureTime(
            sinceEpoch: min(times.upperBound, max(max(.zero, times.lowerBound), time.sinceEpoch - start)))
        return packet
    }

    /// The bytes written since the last call.
    package mutating func takeOutput() -> [UInt8] {
        var taken: [UInt8] = []
        swap(&taken, &output)
        output.reserveCapacity(taken.capacity)
        return taken
    }
}

extension CaptureFormat {
    /// Whether the format tells packets of several adapters apart. Where it does not, two adapters with one handle
    /// would become one: such a capture has to be converted by way of the conversation, which gives new handles.
    package var keepsAdapters: Bool {
        switch (container, linkType) {
        case (.pcapng, _), (_, .monitor): true
        default: level != .hci
        }
    }

    /// Whether reading a file of this format back gives the packets' directions.
    package var keepsDirection: Bool {
        switch (container, linkType) {
        case (.pcap, .h4), (_, .linkLayer): false
        default: true
        }
    }

    /// A format that `CaptureWriter` writes.
    package var isWritable: Bool {
        Self.named.contains { $0.format.container == container && $0.format.linkType == linkType }
    }
}

extension CaptureFormat.Container {
    /// The times since 1970 that it can say.
    var times: ClosedRange<Duration> {
        switch self {
        // Unsigned seconds.
        case .pcap, .packetLogger: .zero ... .seconds(Int64(UInt32.max))
        // Nanoseconds here, in 64 bits, with whole seconds to add.
        case .pcapng: .seconds(-1 << 60) ... .seconds(1 << 60)
        // Microseconds in 64 bits, since the year 0.
        case .btsnoop: .seconds(-9_160_000_000_000) ... .seconds(9_160_000_000_000)
        // Seconds where there is no date of four digits.
        case .hexText, .hexDump, .monitorText, .tsharkJSON: .seconds(-1 << 60) ... .seconds(1 << 60)
        // A date, which the line does not say after the year 9999.
        case .nrfConnect: .zero ... .seconds(253_402_300_799)
        }
    }
}
