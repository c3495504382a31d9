/// Classic pcap.
///
///     file   = magic(4) major(2) minor(2) zone(4) sigfigs(4) snapLength(4) linkType(4)  record*
///     record = seconds(4) fraction(4) includedLength(4) originalLength(4) data(includedLength)
///
/// Magic A1B2C3D4 (microseconds) or A1B23C4D (nanoseconds), in the byte order of everything else in the file. Of the
/// link type only the low 16 bits count. Source: draft-ietf-opsawg-pcap.
struct PcapParser: FormatParser {
    static let headerLength = 24
    static let recordHeaderLength = 16

    private struct Shape {
        var isBigEndian: Bool
        var nanosecondsPerTick: Int64
        var linkType: LinkType
    }
    private var shape: Shape?

    static func sniff(_ head: RawSpan, isLast: Bool) -> Sniff {
        guard head.byteCount >= 4 else { return isLast ? .notMine : .undecided }
        guard let isBigEndian = byteOrder(head) else { return .notMine }
        guard head.byteCount >= headerLength else {
            return isLast ? .broken(.cut(record: nil, start: 0, end: head.byteCount, needed: headerLength)) : .undecided
        }
        let linkType = LinkType(rawValue: head.u32(20, bigEndian: isBigEndian) & 0xFFFF)
        guard linkType.isReadInPcap else { return .broken(.linkType(linkType, at: 20)) }
        return .mine
    }

    private static func byteOrder(_ head: RawSpan) -> Bool? {
        switch head.u32(0, bigEndian: true) {
        case 0xA1B2_C3D4, 0xA1B2_3C4D: true
        case 0xD4C3_B2A1, 0x4D3C_B2A1: false
        default: nil
        }
    }

    mutating func read(
        _ window: RawSpan, isLast: Bool, facts: inout CaptureFileFacts, _ body: (CapturePacket, RawSpan) throws -> Void
    ) throws -> Int {
        var at = 0
        if shape == nil {
            guard window.byteCount >= Self.headerLength, let isBigEndian = Self.byteOrder(window) else { return 0 }
            let linkType = LinkType(rawValue: window.u32(20, bigEndian: isBigEndian) & 0xFFFF)
            let isNanoseconds = window.u32(0, bigEndian: isBigEndian) == 0xA1B2_3C4D
            shape = Shape(isBigEndian: isBigEndian, nanosecondsPerTick: isNanoseconds ? 1 : 1000, linkType: linkType)
            facts.format = CaptureFormat(.pcap, linkType, isBigEndian: isBigEndian)
            facts.linkTypes = [linkType]
            at = Self.headerLength
        }
        guard let shape else { return at }
        while window.byteCount - at >= Self.recordHeaderLength {
            let included = window.u32(at + 8, bigEndian: shape.isBigEndian)
            guard included <= longestPacket else {
                throw CaptureError.tooLong(
                    record: facts.packets + 1, start: facts.offset + at, length: UInt64(included))
            }
            let end = at + Self.recordHeaderLength + Int(included)
            guard end <= window.byteCount else { break }
            facts.packets += 1
            let packet = CapturePacket(
                number: facts.packets,
                time: CaptureTime(
                    seconds: Int64(window.u32(at, bigEndian: shape.isBigEndian)),
                    nanoseconds: Int64(window.u32(at + 4, bigEndian: shape.isBigEndian)) * shape.nanosecondsPerTick),
                direction: nil, missing: max(0, Int(window.u32(at + 12, bigEndian: shape.isBigEndian)) - Int(included)),
                content: .unknown)
            try packet.deliver(
                shape.linkType, window.extracting(at + Self.recordHeaderLength..<end), facts: &facts, body)
            at = end
        }
        if isLast, at < window.byteCount {
            let needed =
                window.byteCount - at < Self.recordHeaderLength
                ? Self.recordHeaderLength
                : Self.recordHeaderLength + Int(window.u32(at + 8, bigEndian: shape.isBigEndian))
            throw CaptureError.cut(
                record: facts.packets + 1, start: facts.offset + at, end: facts.offset + window.byteCount,
                needed: needed)
        }
        return at
    }
}

extension LinkType {
    /// Whether packets of this pcap link type are read.
    var isReadInPcap: Bool {
        switch self {
        case .h4, .h4WithDirection, .monitor, .linkLayer, .linkLayerWithRadio, .nordic, .ppi: true
        default: false
        }
    }

    /// The name of other link types that people try, for the sentence that refuses them.
    var nameOfUnread: String? {
        switch rawValue {
        case 1: "Ethernet"
        case 105, 127: "Wi-Fi"
        case 113, 276: "Linux cooked network packets"
        case 161, 255: "classic Bluetooth baseband"
        case 189, 220: "Linux USB"
        case 195, 215, 230, 283: "IEEE 802.15.4"
        case 249: "USBPcap"
        default: nil
        }
    }
}

extension CaptureError {
    static func linkType(_ linkType: LinkType, at offset: Int) -> CaptureError {
        let name =
            linkType.nameOfUnread.map { "\($0) (link type \(linkType.rawValue))" } ?? "link type \(linkType.rawValue)"
        return CaptureError(
            .unsupported, at: offset,
            "this file holds \(name), which is not read: Bluetooth is link type 187, 192, 201, 251, 254, 256 or 272")
    }
}
