/// Apple's PacketLogger (`.pklg`): iPhones' and Macs' own Bluetooth log.
///
///     record = length(4) seconds(4) microseconds(4) type(1) data       length counts from the seconds on: 9 + data
///
/// No magic and no file header; both byte orders exist. So the first records decide: a file is taken for PacketLogger
/// when (up to) five of them look right. Source: Wireshark's packetlogger.c, and captures of both byte orders.
struct PacketLoggerParser: FormatParser {
    static let recordHeaderLength = 13

    private var isBigEndian: Bool?

    static func sniff(_ head: RawSpan, isLast: Bool) -> Sniff {
        guard head.byteCount >= recordHeaderLength else { return isLast ? .notMine : .undecided }
        for isBigEndian in [true, false] {
            switch looksRight(head, isBigEndian: isBigEndian, isLast: isLast) {
            case true?: return .mine
            case nil: return .undecided
            case false?: continue
            }
        }
        return .notMine
    }

    /// Whether the first records look right in this byte order; `nil`: more bytes are needed to tell.
    private static func looksRight(_ head: RawSpan, isBigEndian: Bool, isLast: Bool) -> Bool? {
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

    mutating func read(
        _ window: RawSpan, isLast: Bool, facts: inout CaptureFileFacts, _ body: (CapturePacket, RawSpan) throws -> Void
    ) throws -> Int {
        if isBigEndian == nil {
            // The sniffer has accepted one of the two; big-endian first, as there.
            let order = Self.looksRight(window, isBigEndian: true, isLast: isLast) == true
            isBigEndian = order
            facts.format = CaptureFormat(.packetLogger, .packetLogger, isBigEndian: order)
            facts.linkTypes = [.packetLogger]
        }
        let isBigEndian = isBigEndian ?? true
        var at = 0
        while window.byteCount - at >= Self.recordHeaderLength {
            let length = window.u32(at, bigEndian: isBigEndian)
            guard length >= 9 else {
                throw CaptureError(
                    .broken, at: facts.offset + at,
                    """
                    record \(facts.packets + 1) says that it is \(length) bytes long, shorter than its own header: \
                    the file is damaged here; everything before it was read
                    """
                )
            }
            guard length <= longestPacket else {
                throw CaptureError.tooLong(record: facts.packets + 1, start: facts.offset + at, length: UInt64(length))
            }
            let end = at + 4 + Int(length)
            guard end <= window.byteCount else { break }
            facts.packets += 1
            var packet = CapturePacket(
                number: facts.packets,
                time: CaptureTime(
                    seconds: Int64(window.u32(at + 4, bigEndian: isBigEndian)),
                    nanoseconds: Int64(window.u32(at + 8, bigEndian: isBigEndian)) * 1000),
                direction: nil, content: .unknown)
            packet.setPacketLogger(type: window.u8(at + 12))
            try body(packet, window.extracting(at + Self.recordHeaderLength..<end))
            at = end
        }
        if isLast, at < window.byteCount {
            let needed =
                window.byteCount - at < 4 ? Self.recordHeaderLength : 4 + Int(window.u32(at, bigEndian: isBigEndian))
            throw CaptureError.cut(
                record: facts.packets + 1, start: facts.offset + at, end: facts.offset + window.byteCount,
                needed: max(needed, Self.recordHeaderLength))
        }
        return at
    }
}

extension CapturePacket {
    /// Kind and direction by PacketLogger's type byte.
    mutating func setPacketLogger(type: UInt8) {
        switch type {
        case 0: (content, direction) = (.hci(.command), .sent)
        case 1: (content, direction) = (.hci(.event), .received)
        case 2: (content, direction) = (.hci(.acl), .sent)
        case 3: (content, direction) = (.hci(.acl), .received)
        case 8: (content, direction) = (.hci(.sco), .sent)
        case 9: (content, direction) = (.hci(.sco), .received)
        default: content = .note(.packetLogger(type))
        }
    }
}
