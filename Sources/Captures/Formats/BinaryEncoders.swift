// The writers of the binary formats; the layouts stand at their readers.

struct BtsnoopEncoder {
    let linkType: LinkType

    init(linkType: LinkType, _ output: inout [UInt8]) {
        self.linkType = linkType
        let datalink: UInt32 = linkType == .h1 ? 1001 : linkType == .monitor ? 2001 : 1002
        output += Array("btsnoop\0".utf8)
        output.append(UInt32(1), bigEndian: true)
        output.append(datalink, bigEndian: true)
    }

    func write(_ packet: CapturePacket, _ bytes: RawSpan, _ output: inout [UInt8]) throws(CaptureError) -> Bool {
        guard var record = try LinkRecord(packet, bytes, as: linkType) else { return false }
        var flags: UInt32
        if linkType == .monitor {
            // Adapter and opcode are the flags here; the header of link type 254 holds the same two.
            flags = record.header.reduce(0) { $0 << 8 | UInt32($1) }
            record.header = []
        } else {
            flags = packet.statedDirection == .received ? 1 : 0
            if packet.content == .hci(.command) || packet.content == .hci(.event) { flags |= 2 }
        }
        let time = packet.time?.microseconds ?? (packet.time == nil ? 0 : nil)
        guard let time, let stamp = Self.stamp(time) else {
            throw CaptureError(.cannotCarry, at: 0, "btsnoop cannot hold so distant a time")
        }
        output.append(UInt32(clamping: record.length + packet.missing), bigEndian: true)
        output.append(UInt32(clamping: record.length), bigEndian: true)
        output.append(flags, bigEndian: true)
        output.append(UInt32(0), bigEndian: true)
        output.append(stamp, bigEndian: true)
        output += record.header
        output.append(bytes.extracting(record.range))
        return true
    }

    private static func stamp(_ microseconds: Int64) -> Int64? {
        let (sum, overflow) = microseconds.addingReportingOverflow(BtsnoopParser.epoch)
        return overflow ? nil : sum
    }
}

/// Nanoseconds, so that no digit of any other format is lost.
struct PcapEncoder {
    let linkType: LinkType
    let isBigEndian: Bool

    init(linkType: LinkType, isBigEndian: Bool, _ output: inout [UInt8]) {
        self.linkType = linkType
        self.isBigEndian = isBigEndian
        output.append(UInt32(0xA1B2_3C4D), bigEndian: isBigEndian)
        output.append(UInt16(2), bigEndian: isBigEndian)
        output.append(UInt16(4), bigEndian: isBigEndian)
        output.append(UInt64(0), bigEndian: isBigEndian)
        output.append(longestPacket, bigEndian: isBigEndian)
        output.append(linkType.rawValue, bigEndian: isBigEndian)
    }

    func write(_ packet: CapturePacket, _ bytes: RawSpan, _ output: inout [UInt8]) throws(CaptureError) -> Bool {
        guard let record = try LinkRecord(packet, bytes, as: linkType) else { return false }
        let time = packet.time ?? CaptureTime(seconds: 0)
        let seconds = try time.seconds32(in: "pcap")
        output.append(seconds, bigEndian: isBigEndian)
        output.append(UInt32(truncatingIfNeeded: time.nanosecond), bigEndian: isBigEndian)
        output.append(UInt32(clamping: record.length), bigEndian: isBigEndian)
        output.append(UInt32(clamping: record.length + packet.missing), bigEndian: isBigEndian)
        output += record.header
        output.append(bytes.extracting(record.range))
        return true
    }
}

/// One section; an interface with nanoseconds for each adapter, described when it is first met.
struct PcapngEncoder {
    let linkType: LinkType
    let isBigEndian: Bool
    private var interfaces: [Interface: UInt32] = [:]

    private struct Interface: Hashable {
        var adapter: UInt32
        /// Whole seconds to add to its times: 0 from 1970 to 2262, a multiple of that span elsewhere.
        var offset: Int64
    }
    private static let span: Int64 = 9_223_372_036

    init(linkType: LinkType, isBigEndian: Bool, _ output: inout [UInt8]) {
        self.linkType = linkType
        self.isBigEndian = isBigEndian
        var body: [UInt8] = []
        body.append(UInt32(0x1A2B_3C4D), bigEndian: isBigEndian)
        body.append(UInt16(1), bigEndian: isBigEndian)
        body.append(UInt16(0), bigEndian: isBigEndian)
        // Length of the section: not known beforehand.
        body.append(Int64(-1), bigEndian: isBigEndian)
        block(0x0A0D_0D0A, body, &output)
    }

    mutating func write(_ packet: CapturePacket, _ bytes: RawSpan, _ output: inout [UInt8]) throws(CaptureError) -> Bool
    {
        guard let record = try LinkRecord(packet, bytes, as: linkType) else { return false }
        let time = packet.time ?? CaptureTime(seconds: 0)
        let offset =
            time.seconds >= 0 ? time.seconds / Self.span * Self.span : ((time.seconds + 1) / Self.span - 1) * Self.span
        let nanoseconds = (time.seconds - offset) * 1_000_000_000 + time.nanosecond
        // The monitor's records name their adapter themselves.
        let interface = interface(
            Interface(adapter: linkType == .monitor ? 0 : packet.adapter, offset: offset), &output)
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
            // H4 has no direction of its own: epb_flags has one.
            body.append(UInt16(2), bigEndian: isBigEndian)
            body.append(UInt16(4), bigEndian: isBigEndian)
            body.append(UInt32(direction == .received ? 1 : 2), bigEndian: isBigEndian)
            body.append(UInt32(0), bigEndian: isBigEndian)
        }
        block(isSimple ? 3 : 6, body, &output)
        return true
    }

    private mutating func interface(_ wanted: Interface, _ output: inout [UInt8]) -> UInt32 {
        if let known = interfaces[wanted] { return known }
        let index = UInt32(interfaces.count)
        interfaces[wanted] = index
        var body: [UInt8] = []
        body.append(UInt16(truncatingIfNeeded: linkType.rawValue), bigEndian: isBigEndian)
        body.append(UInt16(0), bigEndian: isBigEndian)
        body.append(longestPacket, bigEndian: isBigEndian)
        if linkType != .monitor, wanted.adapter != 0 {
            // if_name: two adapters at one time are not two parts of one capture.
            let name = Array("adapter\(wanted.adapter)".utf8)
            body.append(UInt16(2), bigEndian: isBigEndian)
            body.append(UInt16(name.count), bigEndian: isBigEndian)
            body += name + [UInt8](repeating: 0, count: (4 - name.count % 4) % 4)
        }
        // if_tsresol: 10^-9.
        body.append(UInt16(9), bigEndian: isBigEndian)
        body.append(UInt16(1), bigEndian: isBigEndian)
        body += [9, 0, 0, 0]
        if wanted.offset != 0 {
            // if_tsoffset.
            body.append(UInt16(14), bigEndian: isBigEndian)
            body.append(UInt16(8), bigEndian: isBigEndian)
            body.append(wanted.offset, bigEndian: isBigEndian)
        }
        // End of options.
        body.append(UInt32(0), bigEndian: isBigEndian)
        block(1, body, &output)
        return index
    }

    /// - Parameter body: padded to 4.
    private func block(_ type: UInt32, _ body: [UInt8], _ output: inout [UInt8]) {
        let length = UInt32(clamping: 12 + body.count)
        output.append(type, bigEndian: isBigEndian)
        output.append(length, bigEndian: isBigEndian)
        output += body
        output.append(length, bigEndian: isBigEndian)
    }
}

struct PacketLoggerEncoder {
    let isBigEndian: Bool

    func write(_ packet: CapturePacket, _ bytes: RawSpan, _ output: inout [UInt8]) throws(CaptureError) -> Bool {
        let isReceived = packet.statedDirection == .received
        let type: UInt8
        switch packet.content {
        case .hci(.command): type = 0
        case .hci(.event): type = 1
        case .hci(.acl): type = isReceived ? 3 : 2
        case .hci(.sco): type = isReceived ? 9 : 8
        case .hci: return false
        case .note(.packetLogger(let note)): type = note
        case .note, .unknown: return false
        default: throw CaptureError(.cannotCarry, at: 0, "PacketLogger has no place for \(packet.content.kindInWords)")
        }
        guard !packet.isCut else {
            throw CaptureError(
                .cannotCarry, at: 0,
                """
                record \(packet.number) was cut when it was captured, which PacketLogger cannot say: it would be \
                taken for whole
                """
            )
        }
        let time = packet.time ?? CaptureTime(seconds: 0)
        let seconds = try time.seconds32(in: "PacketLogger")
        output.append(UInt32(clamping: 9 + bytes.byteCount), bigEndian: isBigEndian)
        output.append(seconds, bigEndian: isBigEndian)
        output.append(UInt32(truncatingIfNeeded: time.nanosecond / 1000), bigEndian: isBigEndian)
        output.append(type)
        output.append(bytes)
        return true
    }
}
