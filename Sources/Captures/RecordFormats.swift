import Bluetooth

/// A binary format with a file header, then records that each start with a header of fixed size.
protocol RecordParser: FormatParser {
    static var headerLength: Int { get }
    static var recordHeaderLength: Int { get }
    mutating func begin(_ window: RawSpan, isLast: Bool, info: inout CaptureFileInfo)
    /// The length of a record in bytes, with its header. - Throws: if no record can have this length.
    func length(_ window: RawSpan, at: Int, info: CaptureFileInfo) throws -> Int
    func deliver(_ window: RawSpan, at: Int, _ data: RawSpan, info: inout CaptureFileInfo, _ body: PacketSink) throws
}

extension RecordParser {
    mutating func read(_ window: RawSpan, isLast: Bool, info: inout CaptureFileInfo, _ body: PacketSink) throws -> Int {
        var at = 0
        if info.format == nil {
            guard window.byteCount >= Self.headerLength else { return 0 }
            begin(window, isLast: isLast, info: &info)
            at = Self.headerLength
        }
        while window.byteCount - at >= Self.recordHeaderLength {
            let end = at + (try length(window, at: at, info: info))
            guard end <= window.byteCount else { break }
            info.packets += 1
            try deliver(window, at: at, window.extracting(at + Self.recordHeaderLength..<end), info: &info, body)
            at = end
        }
        if isLast, at < window.byteCount {
            let isHeaderTruncated = window.byteCount - at < Self.recordHeaderLength
            throw CaptureError.truncated(
                record: info.packets + 1, start: info.offset + at, end: info.offset + window.byteCount,
                needed: isHeaderTruncated ? Self.recordHeaderLength : try length(window, at: at, info: info))
        }
        return at
    }

    /// The result for a file that is shorter than the file header; `nil` if the header is complete.
    static func headerDetection(_ head: RawSpan, isLast: Bool) -> Detection? {
        if head.byteCount >= headerLength { return nil }
        return isLast
            ? .invalid(.truncated(record: nil, start: 0, end: head.byteCount, needed: headerLength)) : .undecided
    }

    func checked(_ included: UInt32, at: Int, info: CaptureFileInfo) throws -> Int {
        guard included <= longestPacket else {
            throw CaptureError.tooLong(record: info.packets + 1, start: info.offset + at, length: UInt64(included))
        }
        return Self.recordHeaderLength + Int(included)
    }
}

/// btsnoop: Android, BlueZ (`btmon -w`), Symbian.
///
///     file   = "btsnoop" 00  version(4) = 1  datalink(4)  record*
///     record = originalLength(4) includedLength(4) flags(4) drops(4) time(8) data(includedLength)
///
/// Big-endian throughout. Time: microseconds since midnight, 1 January of the year 0; 1970 is 0x00DCDDB30F2F8000.
/// Datalinks: 1001 H1 (kind from the flags), 1002 H4, 2001 Linux monitor (flags: adapter << 16 | opcode). Flags of 1001
/// and 1002: bit 0 received, bit 1 command or event. Source: RFC 1761 with Symbian's changes, Wireshark's btsnoop.c.
struct BtsnoopParser: RecordParser {
    /// Microseconds from the year 0 to 1970.
    static let epoch: Int64 = 0x00DC_DDB3_0F2F_8000
    static let headerLength = 16
    static let recordHeaderLength = 24
    private var linkType = LinkType.h4

    static func detect(_ head: RawSpan, isLast: Bool) -> Detection {
        guard head.byteCount >= 8 else { return isLast ? .noMatch : .undecided }
        guard head.has("btsnoop\0", at: 0) else { return .noMatch }
        if let early = headerDetection(head, isLast: isLast) { return early }
        let version = head.u32(8, bigEndian: true), datalink = head.u32(12, bigEndian: true)
        guard version == 1 else {
            return .invalid(
                CaptureError(
                    .unsupported, at: 8,
                    "unsupported btsnoop version \(version), expected 1: the file is damaged or of another kind"
                ))
        }
        guard linkType(datalink) == nil else { return .match }
        let reason =
            switch datalink {
            case 1003: "has BCSP packets (datalink 1003), which are not supported: capture H4 instead"
            case 1004: "has H5 three-wire packets (datalink 1004), which are not supported: capture H4 instead"
            case 2002: "has packets of a simulator (datalink 2002), which are not supported"
            default:
                """
                has the unknown datalink \(datalink): a transfer in text mode probably damaged it (bytes above 0x7F \
                are lost); transfer it again as binary
                """
            }
        return .invalid(CaptureError(.unsupported, at: 12, "this btsnoop file \(reason)"))
    }

    private static func linkType(_ datalink: UInt32) -> LinkType? {
        switch datalink {
        case 1001: .h1
        case 1002: .h4
        case 2001: .monitor
        default: nil
        }
    }

    mutating func begin(_ window: RawSpan, isLast: Bool, info: inout CaptureFileInfo) {
        linkType = Self.linkType(window.u32(12, bigEndian: true)) ?? .h4
        info.addLinkType(linkType, of: .btsnoop)
    }

    func length(_ window: RawSpan, at: Int, info: CaptureFileInfo) throws -> Int {
        try checked(window.u32(at + 4, bigEndian: true), at: at, info: info)
    }

    func deliver(_ window: RawSpan, at: Int, _ data: RawSpan, info: inout CaptureFileInfo, _ body: PacketSink) throws {
        let flags = window.u32(at + 8, bigEndian: true)
        // A time that does not fit in 64 bits of microseconds since 1970 is treated as missing.
        let (time, overflow) = window.i64(at + 16, bigEndian: true).subtractingReportingOverflow(Self.epoch)
        var packet = CapturePacket(
            number: info.packets, time: overflow ? nil : .microseconds(time),
            direction: flags & 1 == 0 ? .sent : .received,
            missing: max(0, Int(window.u32(at, bigEndian: true)) - data.byteCount), content: .unknown)
        switch linkType {
        case .h1:
            packet.content = .hci(flags & 2 == 0 ? .acl : flags & 1 == 0 ? .command : .event)
            try body(packet, data)
        case .monitor:
            packet.setMonitor(opcode: UInt16(flags & 0xFFFF), adapter: UInt16(flags >> 16))
            try body(packet, data)
        default:
            try packet.deliverH4(data, info: &info, body)
        }
    }
}

/// Classic pcap.
///
///     file   = magic(4) major(2) minor(2) zone(4) sigfigs(4) snapLength(4) linkType(4)  record*
///     record = seconds(4) fraction(4) includedLength(4) originalLength(4) data(includedLength)
///
/// Magic A1B2C3D4 (microseconds) or A1B23C4D (nanoseconds), in the byte order of the other fields. Only the low 16 bits
/// of the link type count. Source: draft-ietf-opsawg-pcap.
struct PcapParser: RecordParser {
    static let headerLength = 24
    static let recordHeaderLength = 16
    private var isBigEndian = false
    private var nanosecondsPerTick: Int64 = 1
    private var linkType = LinkType.h4

    static func detect(_ head: RawSpan, isLast: Bool) -> Detection {
        guard head.byteCount >= 4 else { return isLast ? .noMatch : .undecided }
        guard let isBigEndian = byteOrder(head) else { return .noMatch }
        if let early = headerDetection(head, isLast: isLast) { return early }
        let linkType = linkType(head, isBigEndian)
        return linkType.isReadInPcap ? .match : .invalid(.linkType(linkType, at: 20))
    }

    private static func byteOrder(_ head: RawSpan) -> Bool? {
        switch head.u32(0, bigEndian: true) {
        case 0xA1B2_C3D4, 0xA1B2_3C4D: true
        case 0xD4C3_B2A1, 0x4D3C_B2A1: false
        default: nil
        }
    }

    private static func linkType(_ head: RawSpan, _ isBigEndian: Bool) -> LinkType {
        LinkType(rawValue: head.u32(20, bigEndian: isBigEndian) & 0xFFFF)
    }

    mutating func begin(_ window: RawSpan, isLast: Bool, info: inout CaptureFileInfo) {
        isBigEndian = Self.byteOrder(window) ?? false
        nanosecondsPerTick = window.u32(0, bigEndian: isBigEndian) == 0xA1B2_3C4D ? 1 : 1000
        linkType = Self.linkType(window, isBigEndian)
        info.addLinkType(linkType, of: .pcap, isBigEndian: isBigEndian)
    }

    func length(_ window: RawSpan, at: Int, info: CaptureFileInfo) throws -> Int {
        try checked(window.u32(at + 8, bigEndian: isBigEndian), at: at, info: info)
    }

    func deliver(_ window: RawSpan, at: Int, _ data: RawSpan, info: inout CaptureFileInfo, _ body: PacketSink) throws {
        let packet = CapturePacket(
            number: info.packets,
            time: Duration(
                seconds: Int64(window.u32(at, bigEndian: isBigEndian)),
                nanoseconds: Int64(window.u32(at + 4, bigEndian: isBigEndian)) * nanosecondsPerTick),
            direction: nil, missing: max(0, Int(window.u32(at + 12, bigEndian: isBigEndian)) - data.byteCount),
            content: .unknown)
        try packet.deliver(linkType, data, info: &info, body)
    }
}

/// Apple's PacketLogger (`.pklg`), the Bluetooth log of iPhones and Macs.
///
///     record = length(4) seconds(4) microseconds(4) type(1) data       length counts from the seconds: 9 + data
///
/// The format has no magic number and no file header; both byte orders exist. A file is recognised by up to five
/// plausible records at its start. Source: Wireshark's packetlogger.c, and captures of both byte orders.
struct PacketLoggerParser: RecordParser {
    static let headerLength = 0
    static let recordHeaderLength = 13
    private var isBigEndian = true

    static func detect(_ head: RawSpan, isLast: Bool) -> Detection {
        guard head.byteCount >= recordHeaderLength else { return isLast ? .noMatch : .undecided }
        for isBigEndian in [true, false] {
            switch hasPlausibleRecords(head, isBigEndian: isBigEndian, isLast: isLast) {
            case true?: return .match
            case nil: return .undecided
            case false?: continue
            }
        }
        return .noMatch
    }

    /// Whether the first records are plausible in this byte order; `nil` if more bytes are needed.
    private static func hasPlausibleRecords(_ head: RawSpan, isBigEndian: Bool, isLast: Bool) -> Bool? {
        var at = 0
        for record in 0..<5 {
            guard head.byteCount - at >= recordHeaderLength else { return isLast && record > 0 ? true : nil }
            let length = head.u32(at, bigEndian: isBigEndian)
            guard (9...65_535).contains(length), head.u32(at + 8, bigEndian: isBigEndian) < 1_000_000,
                isKnown(head.u8(at + 12))
            else { return false }
            at += 4 + Int(length)
        }
        return true
    }

    private static func isKnown(_ type: UInt8) -> Bool {
        switch type {
        case 0x00...0x03, 0x08...0x0D, 0x10...0x13, 0xF7...0xFE: true
        default: false
        }
    }

    mutating func begin(_ window: RawSpan, isLast: Bool, info: inout CaptureFileInfo) {
        isBigEndian = Self.hasPlausibleRecords(window, isBigEndian: true, isLast: isLast) == true
        info.addLinkType(.packetLogger, of: .packetLogger, isBigEndian: isBigEndian)
    }

    func length(_ window: RawSpan, at: Int, info: CaptureFileInfo) throws -> Int {
        let length = window.u32(at, bigEndian: isBigEndian)
        guard length >= 9 else {
            throw CaptureError.malformed(
                at: info.offset + at,
                "record \(info.packets + 1) has the invalid length \(length), shorter than its own header")
        }
        return try checked(length, at: at, info: info) - Self.recordHeaderLength + 4
    }

    func deliver(_ window: RawSpan, at: Int, _ data: RawSpan, info: inout CaptureFileInfo, _ body: PacketSink) throws {
        var packet = CapturePacket(
            number: info.packets,
            time: Duration(
                seconds: Int64(window.u32(at + 4, bigEndian: isBigEndian)),
                nanoseconds: Int64(window.u32(at + 8, bigEndian: isBigEndian)) * 1000),
            direction: nil, content: .unknown)
        packet.setPacketLogger(type: window.u8(at + 12))
        try body(packet, data)
    }
}
