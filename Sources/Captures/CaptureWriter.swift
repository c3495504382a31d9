package import Bluetooth

/// Writes a capture as a stream: packets in, bytes out. Rejects packets of another protocol layer.
package struct CaptureWriter {
    package let format: CaptureFormat
    /// The bytes written since the last `takeOutput`.
    package private(set) var output: [UInt8] = []
    /// The number of records with a changed time, because the format cannot store the original time. The first of them
    /// gets the format's earliest time (1970), and the others keep their distance from the first.
    package private(set) var retimedRecords = 0
    private var firstRetimed: Duration?
    private var encoder: any FormatEncoder

    /// - Parameter info: name, address and profile for the header of a text capture.
    package init(_ format: CaptureFormat, info: CaptureFileInfo = CaptureFileInfo()) {
        self.format = format
        switch format.container {
        case .btsnoop: encoder = BtsnoopEncoder(linkType: format.linkType)
        case .pcap: encoder = PcapEncoder(linkType: format.linkType, isBigEndian: format.isBigEndian)
        case .pcapng: encoder = PcapngEncoder(linkType: format.linkType, isBigEndian: format.isBigEndian)
        case .packetLogger: encoder = PacketLoggerEncoder(isBigEndian: format.isBigEndian)
        case .hexText: encoder = HexTextEncoder(info)
        case .nrfConnect: encoder = NRFConnectEncoder(info)
        case .hexDump, .monitorText, .tsharkJSON:
            preconditionFailure("\(format.container.rawValue) is only read (see isWritable)")
        }
        encoder.begin(&output)
    }

    /// Appends one packet. Its number is not used.
    /// - Returns: `false` if the packet was skipped because it has no LE traffic (notes of another format, audio in H1,
    ///   unreadable records).
    /// - Throws: `CaptureError` of kind `notStorable` if traffic would be lost: a packet of another layer, or a
    ///   truncated packet that the format cannot mark as truncated.
    @discardableResult
    package mutating func write(_ packet: CapturePacket, _ bytes: RawSpan) throws(CaptureError) -> Bool {
        switch packet.content {
        case .unknown: return false
        case .note where format.layer != .hci: return false
        default: return try encoder.write(withStorableTime(packet), bytes, &output)
        }
    }

    /// Changes a time that the format cannot store, such as a time before 1970 from a recorder without a clock.
    private mutating func withStorableTime(_ packet: CapturePacket) -> CapturePacket {
        let timeRange = format.container.timeRange
        guard let time = packet.time, !timeRange.contains(time) else { return packet }
        let start = firstRetimed ?? time
        firstRetimed = start
        retimedRecords += 1
        var packet = packet
        packet.time = min(timeRange.upperBound, max(max(.zero, timeRange.lowerBound), time - start))
        return packet
    }

    package mutating func takeOutput() -> [UInt8] {
        var taken: [UInt8] = []
        swap(&taken, &output)
        output.reserveCapacity(taken.capacity)
        return taken
    }
}

protocol FormatEncoder {
    mutating func begin(_ output: inout [UInt8])
    mutating func write(_ packet: CapturePacket, _ bytes: RawSpan, _ output: inout [UInt8]) throws(CaptureError) -> Bool
}

extension CaptureFormat.Container {
    /// The times since 1970 that the container can store.
    fileprivate var timeRange: ClosedRange<Duration> {
        switch self {
        case .pcap, .packetLogger: .zero ... .seconds(Int64(UInt32.max))
        // Microseconds in 64 bits, since the year 0.
        case .btsnoop: .seconds(-9_160_000_000_000) ... .seconds(9_160_000_000_000)
        // The date has a year of four digits.
        case .nrfConnect: .zero ... .seconds(253_402_300_799)
        // Nanoseconds in 64 bits.
        case .pcapng: .zero ... .seconds(9_223_372_035)
        // A time without a date is written in seconds.
        case .hexText, .hexDump, .monitorText, .tsharkJSON: .seconds(-1 << 60) ... .seconds(1 << 60)
        }
    }
}

/// A packet encoded for a link type: the header bytes, then the bytes of the packet.
private struct LinkRecord {
    /// The header, at most 10 bytes.
    var header: [UInt8] = []
    /// The range of the packet's bytes without those that the link type does not store (251: the coding indicator).
    var range: Range<Int>
    var length: Int { header.count + range.count }

    /// Returns `nil` if the link type cannot store the packet and the packet has no LE traffic.
    init?(_ packet: CapturePacket, _ bytes: RawSpan, as linkType: LinkType) throws(CaptureError) {
        range = 0..<bytes.byteCount
        switch (linkType, packet.content) {
        case (.h1, .hci(let type)):
            guard type == .command || type == .event || type == .acl else { return nil }
        case (.h4, .hci(let type)):
            header = [type.rawValue]
        case (.h4WithDirection, .hci(let type)):
            header = [0, 0, 0, packet.requiredDirection == .received ? 1 : 0, type.rawValue]
        case (.monitor, .hci(let type)):
            guard let opcode = PacketKind.monitor.number(of: type, packet.requiredDirection) else { return nil }
            header = Self.monitorHeader(packet.shortAdapter, opcode)
        case (.monitor, .note(.monitor(let opcode))):
            header = Self.monitorHeader(packet.shortAdapter, opcode)
        case (.linkLayer, .linkLayer(let info)), (.linkLayerWithRadio, .linkLayer(let info)):
            if linkType == .linkLayerWithRadio {
                header = RadioHeader.encode(info, direction: packet.direction, bytes)
            } else if info.phy == .coded, bytes.byteCount > 5 {
                // Without a PHY field, a reader would parse the coding indicator as the packet header.
                header = (0..<4).map { bytes.u8($0) }
                range = 5..<bytes.byteCount
            }
        case (_, .note): return nil
        default: throw .notStorable("\(linkType) cannot store \(packet.content.kindName)")
        }
    }

    private static func monitorHeader(_ adapter: UInt16, _ opcode: UInt16) -> [UInt8] {
        [UInt8(adapter >> 8), UInt8(adapter & 0xFF), UInt8(opcode >> 8), UInt8(opcode & 0xFF)]
    }
}

extension CapturePacket {
    /// The direction for formats that require one. An unknown direction counts as received, as in tshark.
    fileprivate var requiredDirection: TrafficDirection {
        switch content {
        case .hci(.command): .sent
        case .hci(.event): .received
        default: direction ?? .received
        }
    }
}

extension PacketContent {
    var kindName: String {
        switch self {
        case .hci: "an HCI packet"
        case .note: "a note of the recorder"
        case .linkLayer: "a link-layer packet"
        case .value: "a characteristic's value"
        case .connection: "a connection event from text"
        case .unknown: "an unreadable record"
        }
    }
}

extension Array where Element == UInt8 {
    mutating func append(_ value: some FixedWidthInteger, bigEndian: Bool) {
        Swift.withUnsafeBytes(of: bigEndian ? value.bigEndian : value.littleEndian) { append(contentsOf: $0) }
    }

    mutating func append(_ bytes: RawSpan) {
        bytes.withUnsafeBytes { append(contentsOf: $0) }
    }
}

// MARK: binary formats, with the layouts documented at their parsers

private struct BtsnoopEncoder: FormatEncoder {
    let linkType: LinkType

    func begin(_ output: inout [UInt8]) {
        output += Array("btsnoop\0".utf8)
        output.append(UInt32(1), bigEndian: true)
        output.append(UInt32(linkType == .h1 ? 1001 : linkType == .monitor ? 2001 : 1002), bigEndian: true)
    }

    func write(_ packet: CapturePacket, _ bytes: RawSpan, _ output: inout [UInt8]) throws(CaptureError) -> Bool {
        guard var record = try LinkRecord(packet, bytes, as: linkType) else { return false }
        var flags: UInt32
        if linkType == .monitor {
            // The flags are adapter and opcode, as in the header of link type 254.
            flags = record.header.reduce(0) { $0 << 8 | UInt32($1) }
            record.header = []
        } else {
            flags = packet.requiredDirection == .received ? 1 : 0
            if packet.content == .hci(.command) || packet.content == .hci(.event) { flags |= 2 }
        }
        let time = packet.time ?? .zero
        let stamp = time.wholeSeconds * 1_000_000 + time.nanosecond / 1000 + BtsnoopParser.epoch
        output.append(UInt32(clamping: record.length + packet.missing), bigEndian: true)
        output.append(UInt32(clamping: record.length), bigEndian: true)
        output.append(flags, bigEndian: true)
        output.append(UInt32(0), bigEndian: true)
        output.append(stamp, bigEndian: true)
        output += record.header
        output.append(bytes.extracting(record.range))
        return true
    }
}

/// pcap with nanoseconds, so that times of all other formats fit.
private struct PcapEncoder: FormatEncoder {
    let linkType: LinkType
    let isBigEndian: Bool

    func begin(_ output: inout [UInt8]) {
        output.append(UInt32(0xA1B2_3C4D), bigEndian: isBigEndian)
        output.append(UInt16(2), bigEndian: isBigEndian)
        output.append(UInt16(4), bigEndian: isBigEndian)
        output.append(UInt64(0), bigEndian: isBigEndian)
        output.append(longestPacket, bigEndian: isBigEndian)
        output.append(linkType.rawValue, bigEndian: isBigEndian)
    }

    func write(_ packet: CapturePacket, _ bytes: RawSpan, _ output: inout [UInt8]) throws(CaptureError) -> Bool {
        guard let record = try LinkRecord(packet, bytes, as: linkType) else { return false }
        let time = packet.time ?? .zero
        output.append(UInt32(truncatingIfNeeded: time.wholeSeconds), bigEndian: isBigEndian)
        output.append(UInt32(truncatingIfNeeded: time.nanosecond), bigEndian: isBigEndian)
        output.append(UInt32(clamping: record.length), bigEndian: isBigEndian)
        output.append(UInt32(clamping: record.length + packet.missing), bigEndian: isBigEndian)
        output += record.header
        output.append(bytes.extracting(record.range))
        return true
    }
}

/// pcapng with one section, and one interface (in nanoseconds) per adapter, described before its first packet.
private struct PcapngEncoder: FormatEncoder {
    let linkType: LinkType
    let isBigEndian: Bool
    /// The interface numbers by adapter.
    private var interfaces: [UInt32: UInt32] = [:]

    init(linkType: LinkType, isBigEndian: Bool) { (self.linkType, self.isBigEndian) = (linkType, isBigEndian) }

    func begin(_ output: inout [UInt8]) {
        var body: [UInt8] = []
        body.append(UInt32(0x1A2B_3C4D), bigEndian: isBigEndian)
        body.append(UInt16(1), bigEndian: isBigEndian)
        body.append(UInt16(0), bigEndian: isBigEndian)
        // The section length is unknown.
        body.append(Int64(-1), bigEndian: isBigEndian)
        block(0x0A0D_0D0A, body, &output)
    }

    mutating func write(_ packet: CapturePacket, _ bytes: RawSpan, _ output: inout [UInt8]) throws(CaptureError) -> Bool
    {
        guard let record = try LinkRecord(packet, bytes, as: linkType) else { return false }
        let time = packet.time ?? .zero
        let nanoseconds = time.wholeSeconds * 1_000_000_000 + time.nanosecond
        // Monitor records name the adapter in their own header, so that one interface is enough.
        let interface = interface(linkType == .monitor ? 0 : packet.adapter, &output)
        let isSimple = packet.time == nil && interface == 0
        var body: [UInt8] = []
        body.reserveCapacity(44 + record.length)
        if !isSimple {
            body.append(interface, bigEndian: isBigEndian)
            body.append(UInt32(truncatingIfNeeded: nanoseconds >> 32), bigEndian: isBigEndian)
            body.append(UInt32(truncatingIfNeeded: nanoseconds), bigEndian: isBigEndian)
            body.append(UInt32(clamping: record.length), bigEndian: isBigEndian)
        }
        body.append(UInt32(clamping: record.length + packet.missing), bigEndian: isBigEndian)
        body += record.header
        body.append(bytes.extracting(record.range))
        body += [UInt8](repeating: 0, count: (4 - body.count % 4) % 4)
        if linkType == .h4, let direction = packet.direction, !isSimple {
            // H4 has no direction, so epb_flags stores it.
            body.append(UInt16(2), bigEndian: isBigEndian)
            body.append(UInt16(4), bigEndian: isBigEndian)
            body.append(UInt32(direction == .received ? 1 : 2), bigEndian: isBigEndian)
            body.append(UInt32(0), bigEndian: isBigEndian)
        }
        block(isSimple ? 3 : 6, body, &output)
        return true
    }

    private mutating func interface(_ adapter: UInt32, _ output: inout [UInt8]) -> UInt32 {
        if let known = interfaces[adapter] { return known }
        let index = UInt32(interfaces.count)
        interfaces[adapter] = index
        var body: [UInt8] = []
        body.append(UInt16(truncatingIfNeeded: linkType.rawValue), bigEndian: isBigEndian)
        body.append(UInt16(0), bigEndian: isBigEndian)
        body.append(longestPacket, bigEndian: isBigEndian)
        if linkType != .monitor, adapter != 0 {
            // Option if_name.
            let name = Array("adapter\(adapter)".utf8)
            body.append(UInt16(2), bigEndian: isBigEndian)
            body.append(UInt16(name.count), bigEndian: isBigEndian)
            body += name + [UInt8](repeating: 0, count: (4 - name.count % 4) % 4)
        }
        // Option if_tsresol: nanoseconds.
        body.append(UInt16(9), bigEndian: isBigEndian)
        body.append(UInt16(1), bigEndian: isBigEndian)
        body += [9, 0, 0, 0]
        body.append(UInt32(0), bigEndian: isBigEndian)
        block(1, body, &output)
        return index
    }

    /// Appends a pcapng block.
    /// - Parameter body: the block's content, padded to a multiple of 4 bytes.
    private func block(_ type: UInt32, _ body: [UInt8], _ output: inout [UInt8]) {
        let length = UInt32(clamping: 12 + body.count)
        output.append(type, bigEndian: isBigEndian)
        output.append(length, bigEndian: isBigEndian)
        output += body
        output.append(length, bigEndian: isBigEndian)
    }
}

private struct PacketLoggerEncoder: FormatEncoder {
    let isBigEndian: Bool

    func begin(_ output: inout [UInt8]) {}

    func write(_ packet: CapturePacket, _ bytes: RawSpan, _ output: inout [UInt8]) throws(CaptureError) -> Bool {
        let type: UInt8
        switch packet.content {
        case .hci(let kind):
            guard let number = PacketKind.packetLogger.number(of: kind, packet.requiredDirection) else { return false }
            type = UInt8(number)
        case .note(.packetLogger(let note)): type = note
        case .note, .unknown: return false
        default: throw .notStorable("PacketLogger cannot store \(packet.content.kindName)")
        }
        guard !packet.isTruncated else {
            throw .notStorable("record \(packet.number) was truncated by the recorder, which PacketLogger cannot mark")
        }
        let time = packet.time ?? .zero
        output.append(UInt32(clamping: 9 + bytes.byteCount), bigEndian: isBigEndian)
        output.append(UInt32(truncatingIfNeeded: time.wholeSeconds), bigEndian: isBigEndian)
        output.append(UInt32(truncatingIfNeeded: time.nanosecond / 1000), bigEndian: isBigEndian)
        output.append(type)
        output.append(bytes)
        return true
    }
}
