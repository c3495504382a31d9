import Bluetooth

/// pcapng: blocks of `type(4) totalLength(4) body totalLength(4)`, padded to 4.
///
/// The byte order is set per section; a section header (0A0D0D0A) resets the interfaces. Interface blocks (1) have link
/// type, time resolution (option 9) and offset (option 14). Packets are in enhanced (6), simple (3) and obsolete (2)
/// blocks. Other blocks are skipped by their length. Source: draft-ietf-opsawg-pcapng.
struct PcapngParser: FormatParser {
    private static let sectionHeader: UInt32 = 0x0A0D_0D0A

    private var isBigEndian = false
    private var interfaces: [Interface] = []
    /// The number of interfaces in earlier sections.
    private var interfacesBefore = 0
    private var adapters: [Interface.Key: UInt32] = [:]
    /// The number of bytes of a skipped block that are still to be read.
    private var bytesToSkip = 0
    private var hasReadableInterface = false
    private var unsupportedInterface: CaptureError?

    private struct Interface {
        /// The identity of an adapter across sections: the index, link type and name of its interface.
        struct Key: Hashable {
            var index: Int
            var linkType: LinkType
            var name: [UInt8]
        }
        var key: Key
        var snapLength: UInt32
        var resolution = TimeResolution(option: 6)
        /// Whole seconds to add to every time.
        var offset: Int64 = 0
        /// The adapter number; `nil` until the first packet.
        var adapter: UInt32?
    }

    static func detect(_ head: RawSpan, isLast: Bool) -> Detection {
        guard head.byteCount >= 4 else { return isLast ? .noMatch : .undecided }
        guard head.u32(0, bigEndian: true) == sectionHeader else { return .noMatch }
        guard head.byteCount >= 12 else {
            return isLast ? .invalid(.truncated(record: nil, start: 0, end: head.byteCount, needed: 28)) : .undecided
        }
        guard byteOrder(head, at: 0) == nil else { return .match }
        return .invalid(.malformed(at: 8, "the byte-order magic of this pcapng file is invalid"))
    }

    private static func byteOrder(_ window: RawSpan, at: Int) -> Bool? {
        switch window.u32(at + 8, bigEndian: true) {
        case 0x1A2B_3C4D: true
        case 0x4D3C_2B1A: false
        default: nil
        }
    }

    mutating func read(_ window: RawSpan, isLast: Bool, info: inout CaptureFileInfo, _ body: PacketSink) throws -> Int {
        var at = min(bytesToSkip, window.byteCount)
        bytesToSkip -= at
        while bytesToSkip == 0, window.byteCount - at >= 12 {
            let start = info.offset + at
            let type = window.u32(at, bigEndian: isBigEndian)
            if type == Self.sectionHeader {
                guard let order = Self.byteOrder(window, at: at) else {
                    throw CaptureError.malformed(at: start, "a section header has an invalid byte-order magic")
                }
                isBigEndian = order
            }
            let length = window.u32(at + 4, bigEndian: isBigEndian)
            guard length >= 12, length % 4 == 0 else {
                throw CaptureError.malformed(at: start, "a pcapng block has the invalid length \(length)")
            }
            guard length <= longestPacket else {
                guard ![Self.sectionHeader, 1, 2, 3, 6].contains(type) else {
                    throw CaptureError.tooLong(record: info.packets + 1, start: start, length: UInt64(length))
                }
                let skippedNow = min(Int(length), window.byteCount - at)
                bytesToSkip = Int(length) - skippedNow
                at += skippedNow
                continue
            }
            guard Int(length) <= window.byteCount - at else { break }
            let trailer = window.u32(at + Int(length) - 4, bigEndian: isBigEndian)
            guard trailer == length else {
                throw CaptureError.malformed(
                    at: start, "the two length fields of a pcapng block differ: \(length) and \(trailer)")
            }
            let block = window.extracting(at + 8..<at + Int(length) - 4)
            switch type {
            case Self.sectionHeader:
                interfacesBefore += interfaces.count
                interfaces.removeAll()
            case 1: try readInterface(block, at: start, info: &info)
            case 2, 3, 6: try readPacket(type, block, at: start, info: &info, body)
            default: break
            }
            at += Int(length)
        }
        if isLast {
            guard at == window.byteCount, bytesToSkip == 0 else { throw truncationError(window, at: at, info: info) }
            if !hasReadableInterface, let unsupportedInterface { throw unsupportedInterface }
        }
        return at
    }

    private func truncationError(_ window: RawSpan, at: Int, info: CaptureFileInfo) -> CaptureError {
        let end = info.offset + window.byteCount
        guard bytesToSkip == 0 else {
            return CaptureError(
                .truncated, at: end,
                "the file ends at byte \(end), \(bytesToSkip) bytes before the end of a block; every packet was read")
        }
        let needed = window.byteCount - at < 8 ? 12 : Int(window.u32(at + 4, bigEndian: isBigEndian))
        return .truncated(record: info.packets + 1, start: info.offset + at, end: end, needed: needed)
    }

    private mutating func readInterface(_ block: RawSpan, at start: Int, info: inout CaptureFileInfo) throws {
        guard block.byteCount >= 8 else {
            throw CaptureError.malformed(at: start, "an interface block is too short for its fields")
        }
        guard interfacesBefore + interfaces.count < 65_536 else {
            throw CaptureError.malformed(at: start, "the file describes more than 65536 interfaces")
        }
        let linkType = LinkType(rawValue: UInt32(block.u16(0, bigEndian: isBigEndian)))
        var interface = Interface(
            key: Interface.Key(index: interfaces.count, linkType: linkType, name: []),
            snapLength: block.u32(4, bigEndian: isBigEndian))
        forEachOption(block, from: 8) { code, value in
            switch code {
            case 2: interface.key.name = value.bytes
            case 9 where value.byteCount >= 1: interface.resolution = TimeResolution(option: value.u8(0))
            case 14 where value.byteCount >= 8: interface.offset = value.i64(0, bigEndian: isBigEndian)
            default: break
            }
        }
        interfaces.append(interface)
        if linkType.isReadInPcap {
            hasReadableInterface = true
            if info.format?.linkType.isReadInPcap == false { info.format = nil }
            info.addLinkType(linkType, of: .pcapng, isBigEndian: isBigEndian)
        } else {
            info.format = info.format ?? CaptureFormat(.pcapng, linkType, isBigEndian: isBigEndian)
            guard unsupportedInterface == nil else { return }
            unsupportedInterface = .linkType(linkType, at: start)
            info.addRemark(
                "interface \(interfacesBefore + interfaces.count - 1) is \(linkType): its packets were skipped")
        }
    }

    private mutating func adapter(of index: Int) -> UInt32 {
        if let known = interfaces[index].adapter { return known }
        let number = adapters[interfaces[index].key] ?? UInt32(adapters.count)
        adapters[interfaces[index].key] = number
        interfaces[index].adapter = number
        return number
    }

    private mutating func readPacket(
        _ type: UInt32, _ block: RawSpan, at start: Int, info: inout CaptureFileInfo, _ body: PacketSink
    ) throws {
        let headLength = type == 3 ? 4 : 20, number = info.packets + 1
        guard block.byteCount >= headLength else {
            throw CaptureError.malformed(at: start, "packet block \(number) is too short for its fields")
        }
        let index =
            type == 3
            ? 0 : type == 2 ? Int(block.u16(0, bigEndian: isBigEndian)) : Int(block.u32(0, bigEndian: isBigEndian))
        guard index < interfaces.count else {
            throw CaptureError.malformed(
                at: start,
                """
                packet \(number) belongs to interface \(index), but the section describes only \(interfaces.count)
                """)
        }
        let original = block.u32(type == 3 ? 0 : 16, bigEndian: isBigEndian)
        let available = UInt32(block.byteCount - headLength)
        var included = type == 3 ? min(original, available) : block.u32(12, bigEndian: isBigEndian)
        if type == 3, interfaces[index].snapLength > 0 { included = min(included, interfaces[index].snapLength) }
        guard included <= available else {
            throw CaptureError.malformed(
                at: start,
                "packet \(number) claims \(included) bytes, but its block has only \(available)")
        }
        info.packets = number
        let dataEnd = headLength + Int(included)
        let ticks =
            type == 3
            ? nil
            : UInt64(block.u32(4, bigEndian: isBigEndian)) << 32 | UInt64(block.u32(8, bigEndian: isBigEndian))
        var packet = CapturePacket(
            number: number,
            time: ticks.flatMap { interfaces[index].resolution.time(ticks: $0, offset: interfaces[index].offset) },
            adapter: adapter(of: index), direction: nil, missing: max(0, Int(original) - Int(included)),
            content: .unknown)
        if type == 6 {
            forEachOption(block, from: (dataEnd + 3) & ~3) { code, value in
                // epb_flags: bits 0 and 1 are 1 inbound, 2 outbound.
                guard code == 2, value.byteCount >= 4 else { return }
                switch value.u32(0, bigEndian: isBigEndian) & 3 {
                case 1: packet.direction = .received
                case 2: packet.direction = .sent
                default: break
                }
            }
        }
        try packet.deliver(interfaces[index].key.linkType, block.extracting(headLength..<dataEnd), info: &info, body)
    }

    /// Options are `code(2) length(2) value`, padded to 4; they end with code 0 or with the block.
    private func forEachOption(_ block: RawSpan, from start: Int, _ body: (UInt16, RawSpan) -> Void) {
        var at = start
        while block.byteCount - at >= 4 {
            let code = block.u16(at, bigEndian: isBigEndian)
            let length = Int(block.u16(at + 2, bigEndian: isBigEndian))
            guard code != 0, length <= block.byteCount - at - 4 else { return }
            body(code, block.extracting(at + 4..<at + 4 + length))
            at += 4 + (length + 3) & ~3
        }
    }
}

/// The length of a tick of an interface's clock (`if_tsresol`).
struct TimeResolution: Hashable, Sendable {
    /// The number of ticks per second is ten (or two, if `isBinary`) to the power of this.
    private var exponent: Int
    private var isBinary: Bool

    /// Parses the option's byte: the exponent, with the top bit set for base two.
    init(option: UInt8) {
        (exponent, isBinary) = (Int(option & 0x7F), option & 0x80 != 0)
    }

    /// Converts ticks to a time. Digits beyond attoseconds are dropped. `nil` outside the range of `Duration`.
    func time(ticks: UInt64, offset: Int64) -> Duration? {
        let second: Int128 = 1_000_000_000_000_000_000
        var attoseconds: Int128
        if isBinary {
            // The product of 64 and 60 bits fits in 128 bits.
            attoseconds = exponent < 127 ? (Int128(ticks) * second) >> Int128(exponent) : 0
        } else if exponent <= 18 {
            attoseconds = Int128(ticks) * Self.powersOfTen[18 - exponent]
        } else {
            attoseconds = exponent - 18 <= 18 ? Int128(ticks) / Self.powersOfTen[exponent - 18] : 0
        }
        attoseconds += Int128(offset) * second
        guard attoseconds.magnitude < UInt128(Int64.max) * UInt128(second) else { return nil }
        return Duration(attoseconds: attoseconds)
    }

    private static let powersOfTen: [Int128] = (0...18).map { power in
        (0..<power).reduce(Int128(1)) { value, _ in value * 10 }
    }
}
