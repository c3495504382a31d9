// What the writers of the binary formats share: link-type headers, and times in the formats' units.

/// The packet as its link type puts it into a record: header bytes, then the packet's own.
struct LinkRecord {
    /// At most 10 bytes.
    var header: [UInt8] = []
    /// Bytes at the beginning of the packet that stay out (the coding indicator, in 251).
    var range: Range<Int>
    var length: Int { header.count + range.count }

    /// `nil`: left out, the link type has no place for it and no traffic is lost.
    init?(_ packet: CapturePacket, _ bytes: RawSpan, as linkType: LinkType) throws(CaptureError) {
        range = 0..<bytes.byteCount
        switch (linkType, packet.content) {
        case (.h1, .hci(let type)):
            guard type == .command || type == .event || type == .acl else { return nil }
        case (.h4, .hci(let type)):
            header = [type.rawValue]
        case (.h4WithDirection, .hci(let type)):
            header = [0, 0, 0, packet.statedDirection == .received ? 1 : 0, type.rawValue]
        case (.monitor, .hci(let type)):
            guard let opcode = Self.monitorOpcode(type, packet.statedDirection) else { return nil }
            header = Self.monitorHeader(packet.adapter, opcode)
        case (.monitor, .note(.monitor(let opcode))):
            header = Self.monitorHeader(packet.adapter, opcode)
        case (.linkLayer, .linkLayer(let facts)):
            try Self.refuseWithoutCRC(facts)
            if facts.phy == .coded, bytes.byteCount > 5 {
                // Here is no place for the PHY: the coding indicator would be read as a header.
                header = (0..<4).map { bytes.u8($0) }
                range = 5..<bytes.byteCount
            }
        case (.linkLayerWithRadio, .linkLayer(let facts)):
            try Self.refuseWithoutCRC(facts)
            header = RadioHeader.encode(facts, direction: packet.direction, bytes)
        case (_, .note): return nil
        default:
            throw CaptureError(
                .cannotCarry, at: 0, "\(linkType) has no place for such a packet (\(packet.content.kindInWords))")
        }
    }

    private static func refuseWithoutCRC(_ facts: LinkLayerFacts) throws(CaptureError) {
        guard facts.lacksCRC else { return }
        throw CaptureError(.cannotCarry, at: 0, "the packet has no CRC, and this format's packets end with one")
    }

    static func monitorOpcode(_ type: HCIPacketType, _ direction: PacketDirection) -> UInt16? {
        let isReceived = direction == .received
        return switch type {
        case .command: 2
        case .event: 3
        case .acl: isReceived ? 5 : 4
        case .sco: isReceived ? 7 : 6
        case .iso: isReceived ? 19 : 18
        default: nil
        }
    }

    private static func monitorHeader(_ adapter: UInt32, _ opcode: UInt16) -> [UInt8] {
        let adapter = UInt16(truncatingIfNeeded: adapter)
        return [
            UInt8(adapter >> 8), UInt8(truncatingIfNeeded: adapter), UInt8(opcode >> 8),
            UInt8(truncatingIfNeeded: opcode),
        ]
    }
}

extension CapturePacket {
    /// The direction that has to be written where the format asks for one: commands are sent, events received, and of
    /// the rest nothing is known where the capture did not say; "received" then, as tshark does.
    var statedDirection: PacketDirection {
        switch content {
        case .hci(.command): .sent
        case .hci(.event): .received
        default: direction ?? .received
        }
    }
}

extension PacketContent {
    var kindInWords: String {
        switch self {
        case .hci: "an HCI packet"
        case .note: "a note"
        case .linkLayer: "a packet from the air"
        case .value: "a characteristic's value"
        case .connection: "a connection event from text"
        case .unknown: "an unreadable record"
        }
    }
}

extension RadioHeader {
    static func encode(_ facts: LinkLayerFacts, direction: PacketDirection?, _ bytes: RawSpan) -> [UInt8] {
        let advertising: UInt32 = 0x8E89_BED6
        let accessAddress = bytes.byteCount >= 4 ? bytes.u32(0, bigEndian: false) : advertising
        // Dewhitened, reference access address valid.
        var flags: UInt16 = 0x0011
        if facts.signal != nil { flags |= 0x0002 }
        if facts.isDecrypted { flags |= 0x0008 }
        if accessAddress != advertising {
            switch direction {
            case .sent: flags |= 2 << 7
            case .received: flags |= 3 << 7
            case nil: break
            }
        }
        if let isValid = facts.isCRCValid { flags |= isValid ? 0x0C00 : 0x0400 }
        switch facts.phy {
        case .le1M: break
        case .le2M: flags |= 1 << 14
        case .coded: flags |= 2 << 14
        }
        var header: [UInt8] = [facts.rfChannel ?? 0, UInt8(bitPattern: facts.signal ?? -128), 0x80, 0]
        header.append(accessAddress, bigEndian: false)
        header.append(flags, bigEndian: false)
        return header
    }
}

extension CaptureTime {
    /// Microseconds since 1970, rounded down; `nil` where 64 bits do not hold them.
    var microseconds: Int64? {
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let (sum, overflowToo) = product.addingReportingOverflow(nanosecond / 1000)
        return overflow || overflowToo ? nil : sum
    }

    /// Seconds as 32 unsigned bits, as pcap and PacketLogger hold them (1970 to 2106).
    func seconds32(in format: String) throws(CaptureError) -> UInt32 {
        guard let seconds = UInt32(exactly: seconds) else {
            throw CaptureError(.cannotCarry, at: 0, "\(format) holds times from 1970 to 2106 only, not \(self)")
        }
        return seconds
    }
}
