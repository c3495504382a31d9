/// btsnoop: Android, BlueZ (`btmon -w`), Symbian.
///
///     file   = "btsnoop" 00  version(4) = 1  datalink(4)  record*
///     record = originalLength(4) includedLength(4) flags(4) drops(4) time(8) data(includedLength)
///
/// Big-endian throughout. Time: microseconds since midnight, 1 January of the year 0; 1970 is 0x00DCDDB30F2F8000.
/// Datalinks: 1001 H1 (kind from the flags), 1002 H4, 2001 Linux monitor (flags: adapter << 16 | opcode). Flags of 1001
/// and 1002: bit 0 received, bit 1 command or event. Source: RFC 1761 with Symbian's changes, Wireshark's btsnoop.c.
struct BtsnoopParser: FormatParser {
    /// Microseconds from the year 0 to 1970.
    static let epoch: Int64 = 0x00DC_DDB3_0F2F_8000
    static let headerLength = 16
    static let recordHeaderLength = 24

    private var linkType: LinkType?

    static func sniff(_ head: RawSpan, isLast: Bool) -> Sniff {
        guard head.byteCount >= 8 else { return isLast ? .notMine : .undecided }
        guard head.has("btsnoop\0", at: 0) else { return .notMine }
        guard head.byteCount >= headerLength else {
            return isLast ? .broken(.cut(record: nil, start: 0, end: head.byteCount, needed: headerLength)) : .undecided
        }
        let version = head.u32(8, bigEndian: true)
        guard version == 1 else {
            return .broken(
                CaptureError(
                    .unsupported, at: 8,
                    "this btsnoop file says version \(version), only version 1 exists: it is damaged or of another kind"
                ))
        }
        let datalink = head.u32(12, bigEndian: true)
        guard linkType(datalink: datalink) == nil else { return .mine }
        switch datalink {
        case 1003:
            return .broken(
                CaptureError(
                    .unsupported, at: 12,
                    "this btsnoop file holds BCSP (datalink 1003), which is not read: capture H4 instead"))
        case 1004:
            return .broken(
                CaptureError(
                    .unsupported, at: 12,
                    """
                    this btsnoop file holds H5 three-wire packets (datalink 1004), which are not read: capture H4 \
                    instead
                    """
                ))
        case 2002:
            return .broken(
                CaptureError(
                    .unsupported, at: 12,
                    "this btsnoop file holds a simulator's packets (datalink 2002), which are not read"))
        default:
            return .broken(
                CaptureError(
                    .unsupported, at: 12,
                    """
                    this btsnoop file says datalink \(datalink), which does not exist: it was probably damaged by \
                    a conversion as text (bytes above 0x7F are lost); fetch it again as binary
                    """
                ))
        }
    }

    static func linkType(datalink: UInt32) -> LinkType? {
        switch datalink {
        case 1001: .h1
        case 1002: .h4
        case 2001: .monitor
        default: nil
        }
    }

    mutating func read(
        _ window: RawSpan, isLast: Bool, facts: inout CaptureFileFacts, _ body: (CapturePacket, RawSpan) throws -> Void
    ) throws -> Int {
        var at = 0
        if linkType == nil {
            guard window.byteCount >= Self.headerLength,
                let found = Self.linkType(datalink: window.u32(12, bigEndian: true))
            else { return 0 }
            linkType = found
            facts.format = CaptureFormat(.btsnoop, found)
            facts.linkTypes = [found]
            at = Self.headerLength
        }
        let linkType = linkType ?? .h4
        while window.byteCount - at >= Self.recordHeaderLength {
            let original = window.u32(at, bigEndian: true)
            let included = window.u32(at + 4, bigEndian: true)
            guard included <= longestPacket else {
                throw CaptureError.tooLong(
                    record: facts.packets + 1, start: facts.offset + at, length: UInt64(included))
            }
            let end = at + Self.recordHeaderLength + Int(included)
            guard end <= window.byteCount else { break }
            let flags = window.u32(at + 8, bigEndian: true)
            let microseconds = window.i64(at + 16, bigEndian: true)
            let data = window.extracting(at + Self.recordHeaderLength..<end)
            facts.packets += 1
            var packet = CapturePacket(
                number: facts.packets, time: Self.time(microseconds), direction: flags & 1 == 0 ? .sent : .received,
                missing: max(0, Int(original) - Int(included)), content: .unknown)
            switch linkType {
            case .h1:
                let type: HCIPacketType = flags & 2 == 0 ? .acl : flags & 1 == 0 ? .command : .event
                packet.content = .hci(type)
                try body(packet, data)
            case .monitor:
                packet.setMonitor(opcode: UInt16(flags & 0xFFFF), adapter: UInt16(flags >> 16))
                try body(packet, data)
            default:
                try packet.deliverH4(data, facts: &facts, body)
            }
            at = end
        }
        if isLast, at < window.byteCount {
            let needed =
                window.byteCount - at < Self.recordHeaderLength
                ? Self.recordHeaderLength : Self.recordHeaderLength + Int(window.u32(at + 4, bigEndian: true))
            throw CaptureError.cut(
                record: facts.packets + 1, start: facts.offset + at, end: facts.offset + window.byteCount,
                needed: needed)
        }
        return at
    }

    /// `nil` for a time that is further from 1970 than 64 bits of microseconds can say.
    static func time(_ microseconds: Int64) -> CaptureTime? {
        let (sinceEpoch, overflow) = microseconds.subtractingReportingOverflow(epoch)
        return overflow ? nil : CaptureTime(sinceEpoch: .microseconds(sinceEpoch))
    }
}
