import Support

/// A conversation as a sniffer records it: link-layer packets with sequence bits, retransmissions, NAKs, and packets
/// that the sniffer missed or received damaged. Follows Core 5.4, Vol 6 Part B, 4.5.9, independently of `Sources`.
struct AirSniff {
    /// The quality of the link and of the recording.
    struct Quality: CustomStringConvertible {
        /// Shares of packets: missed by the sniffer, damaged at the sniffer, lost at the other end, and not
        /// acknowledged by the other end.
        var missed = 0.0
        var damaged = 0.0
        var lost = 0.0
        var refused = 0.0
        /// Maximum payload of a data packet: 27, or 251 with data length extension.
        var longest = 251
        var hasBeginning = true
        /// Resolution of the timestamps in microseconds.
        var grain = 1
        var keepsEmpty = true
        /// The numbers of damaged packets with content, and of packets whose response is lost.
        var damagedAt: Set<Int> = []
        var lostAt: Set<Int> = []

        var description: String {
            """
            missed \(missed), damaged \(damaged), lost \(lost), refused \(refused), longest \(longest), beginning \
            \(hasBeginning), empty packets \(keepsEmpty)
            """
        }
    }

    struct Packet {
        /// Microseconds.
        var time: Int
        var channel: UInt8
        /// Access address, header, payload, CRC.
        var bytes: [UInt8]
        var isFromCentral: Bool
        var isDamaged: Bool
    }

    private(set) var packets: [Packet] = []
    /// The values that the sniffer received completely and undamaged at least once.
    private(set) var heard: Set<Int> = []

    static let accessAddress: UInt32 = 0x5065_4D31
    static let seed: UInt32 = 0x00A1_B2C3

    private struct Fragment {
        var kind: UInt8
        var payload: [UInt8]
        /// The number of the value.
        var value: Int?
    }

    private struct End {
        var queue: [Fragment] = []
        /// The unacknowledged fragment; empty if there was no data.
        var inFlight: Fragment?
        var sn: UInt8 = 0
        var expected: UInt8 = 0

        var isIdle: Bool { queue.isEmpty && inFlight?.value == nil }

        /// The same fragment until it is acknowledged.
        mutating func toSend() -> Fragment {
            let fragment =
                inFlight ?? (queue.isEmpty ? Fragment(kind: 1, payload: [], value: nil) : queue.removeFirst())
            inFlight = fragment
            return fragment
        }
    }

    /// - Parameter values: ATT PDUs in order; each is sent after the previous one has arrived.
    init(_ values: [(isFromCentral: Bool, pdu: [UInt8])], _ quality: Quality, seed: UInt64, keep: Range<Int> = 0..<0) {
        var random = SeededGenerator(seed: seed), quality = quality
        func happens(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &random) < share }
        var central = End(), peripheral = End()
        var missing: [Int: Int] = [:]
        var time = 1_000_000, channel: UInt8 = 5, next = 0, idle = 0, contents = -1
        if quality.hasBeginning { packets.append(Self.connectInd(at: time - 20_000)) }

        func capture(_ fragment: Fragment, _ header: UInt8, isFromCentral: Bool) -> Int {
            let payload = fragment.payload
            let isKept = fragment.value.map { keep.contains($0) } ?? false
            if fragment.value != nil { contents += 1 }
            if (isKept || !happens(quality.missed)) && (quality.keepsEmpty || !payload.isEmpty) {
                var pdu = [header | fragment.kind, UInt8(payload.count)] + payload
                let crc = Self.crc(pdu, Self.seed)
                let isDamaged = !isKept && happens(quality.damaged) || quality.damagedAt.contains(contents)
                if isDamaged {
                    pdu[Int.random(in: (pdu.count > 2 ? 2 : 0)..<pdu.count, using: &random)] ^= UInt8.random(
                        in: 1...255, using: &random)
                }
                packets.append(
                    Packet(
                        time: time / quality.grain * quality.grain, channel: channel,
                        bytes: Self.le(Self.accessAddress, 4) + pdu + Self.le(crc, 3),
                        isFromCentral: isFromCentral, isDamaged: isDamaged))
                // A damaged empty packet can have another length.
                if isDamaged, payload.isEmpty { packets.removeLast() }
                if let value = fragment.value, !isDamaged {
                    let part = Self.part(fragment, value)
                    if heardParts.insert(part).inserted { missing[value, default: 0] -= 1 }
                    if missing[value] == 0 { heard.insert(value) }
                }
            }
            return 80 + 8 * payload.count
        }
        var heardParts: Set<String> = []

        while idle < 6 {
            if central.isIdle, peripheral.isIdle {
                if next < values.count {
                    let frame = Self.le(UInt32(values[next].pdu.count), 2) + [4, 0] + values[next].pdu
                    let parts = stride(from: 0, to: frame.count, by: quality.longest).map { start in
                        Fragment(
                            kind: start == 0 ? 2 : 1,
                            payload: Array(frame[start..<min(frame.count, start + quality.longest)]), value: next)
                    }
                    missing[next] = Set(parts.map { Self.part($0, next) }).count
                    if values[next].isFromCentral { central.queue = parts } else { peripheral.queue = parts }
                    next += 1
                } else {
                    idle += 1
                }
            }
            let start = time
            channel = channel >= 36 ? 3 : channel + 7
            for _ in 0..<4 {
                let mine = central.toSend()
                time += capture(mine, central.expected << 2 | central.sn << 3, isFromCentral: true)
                guard !happens(quality.lost), mine.value == nil || quality.lostAt.remove(contents) == nil else { break }
                Self.receive(
                    &peripheral, sn: central.sn, expected: central.expected, isRefused: happens(quality.refused))
                time += 150
                let answer = peripheral.toSend()
                time += capture(answer, peripheral.expected << 2 | peripheral.sn << 3, isFromCentral: false)
                guard !happens(quality.lost), answer.value == nil || quality.lostAt.remove(contents) == nil else {
                    break
                }
                Self.receive(
                    &central, sn: peripheral.sn, expected: peripheral.expected, isRefused: happens(quality.refused))
                guard mine.value != nil || answer.value != nil, Bool.random(using: &random) else { break }
                time += 150
            }
            time = start + 30_000
        }
    }

    private static func part(_ fragment: Fragment, _ value: Int) -> String { "\(value) \(fragment.payload)" }

    private static func receive(_ end: inout End, sn: UInt8, expected: UInt8, isRefused: Bool) {
        if expected != end.sn {
            end.sn ^= 1
            end.inFlight = nil
        }
        if sn == end.expected, !isRefused { end.expected ^= 1 }
    }

    private static func connectInd(at time: Int) -> Packet {
        var payload: [UInt8] = [6, 0, 0, 0, 0, 0xC0, 3, 2, 1, 0x38, 0xC1, 0xA4]
        payload += le(accessAddress, 4)
        payload += le(seed, 3)
        payload += [1, 0, 0, 0x18, 0, 0, 0, 0xF4, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F, 7]
        let pdu: [UInt8] = [0x45, UInt8(payload.count)] + payload
        var bytes = le(0x8E89_BED6, 4)
        bytes += pdu
        bytes += le(crc(pdu, 0x555555), 3)
        return Packet(time: time, channel: 0, bytes: bytes, isFromCentral: true, isDamaged: false)
    }

    /// Bit by bit, least significant first: x^24 + x^10 + x^9 + x^6 + x^4 + x^3 + x + 1.
    private static func crc(_ pdu: [UInt8], _ seed: UInt32) -> UInt32 {
        var state: UInt32 = 0
        for bit in 0..<24 where seed & (UInt32(1) << UInt32(bit)) != 0 { state |= UInt32(1) << UInt32(23 - bit) }
        for byte in pdu {
            for bit in 0..<8 {
                let out: UInt32 = (state ^ UInt32(byte >> UInt8(bit))) & 1
                state >>= 1
                if out == 1 { state ^= 0xDA_6000 }
            }
        }
        return state
    }

    static func le(_ value: UInt32, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * UInt32($0))) }
    }

    // MARK: files

    enum LinkType: UInt32, CaseIterable {
        case plain = 251, radio = 256, nordic = 272, ppi = 192
    }

    /// A pcap file without directions: the flag is missing or constant.
    func pcap(_ type: LinkType) -> [UInt8] {
        var file = Self.le(0xA1B2_C3D4, 4)
        file += [2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        file += Self.le(65_535, 4)
        file += Self.le(type.rawValue, 4)
        for packet in packets {
            let data = Self.record(packet, type)
            file += Self.le(UInt32(1_770_000_000 + packet.time / 1_000_000), 4)
            file += Self.le(UInt32(packet.time % 1_000_000), 4)
            file += Self.le(UInt32(data.count), 4)
            file += Self.le(UInt32(data.count), 4)
            file += data
        }
        return file
    }

    private static func record(_ packet: Packet, _ type: LinkType) -> [UInt8] {
        let isAdvertising = packet.bytes.starts(with: Self.le(0x8E89_BED6, 4))
        var data: [UInt8] = []
        switch type {
        case .plain: break
        case .radio:
            // Dewhitened, signal and reference address valid; the PDU type is 0, and the CRC is unchecked.
            data = [packet.channel, 0xD0, 0x80, 0]
            data += packet.bytes.prefix(4)
            data += [0x13, 0x00]
        case .ppi:
            // As Ubertooth: its packets are user 0, with the frequency in its field.
            data = [0, 0, 24, 0, 147, 0, 0, 0, 0x36, 0x75, 12, 0, 0]
            data += Self.le(2402 + 2 * UInt32(packet.channel), 2)
            data += [0, 0, 0, 0, 0, 0xE8, 0xDC, 0xEE, 0x3C]
        case .nordic:
            let index = isAdvertising ? 37 : Self.index(packet.channel)
            data = [
                1, UInt8(packet.bytes.count + 10), 0, 3, 0, 0, 6, 10, packet.isDamaged ? 0 : 1, index, 40, 0, 0, 0,
                0, 0, 0,
            ]
        }
        return data + packet.bytes
    }

    private static func index(_ channel: UInt8) -> UInt8 { channel <= 11 ? max(1, channel) - 1 : channel - 2 }
}
