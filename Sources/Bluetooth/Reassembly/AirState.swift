/// What must be remembered of a connection on the air to tell repeats, directions, damage and ciphertext.
struct AirState {
    /// Start value of the CRC: from CONNECT_IND, or found from two packets that agree on it.
    var seed: UInt32?
    private var candidate: (seed: UInt32, header: UInt16)?

    var isEncrypted = false
    /// The end was seen and told; what still comes are the last acknowledgements.
    var isTerminated = false
    var hasData = false
    /// A sniffer that decrypts leaves the four bytes of MIC on the payload.
    var keepsMIC = false

    private var lastSent = LastPDU()
    private var lastReceived = LastPDU()
    var clock = AirClock()

    /// The last data packet of one side: a repeat has its sequence number and its content.
    private struct LastPDU {
        /// LLID and SN bits of the header; `nil` before the first packet.
        var header: UInt8?
        var payload: [UInt8] = []

        func isRepeated(by header: UInt8, _ payload: RawSpan) -> Bool {
            self.header == header & 0x0B && payload.isEqual(to: self.payload)
        }

        mutating func set(_ header: UInt8, _ payload: RawSpan) {
            self.header = header & 0x0B
            self.payload.removeAll(keepingCapacity: true)
            payload.withUnsafeBytes { self.payload.append(contentsOf: $0) }
        }
    }

    /// Whether this packet repeats the last one of its side; remembers it otherwise.
    ///
    /// The same sequence number alone does not do: where the sniffer missed a packet, two different ones follow each other
    /// with the same number. Where the side is only guessed, a packet with content may repeat either.
    mutating func isRepeat(header: UInt8, _ payload: RawSpan, direction: TrafficDirection, isSure: Bool) -> Bool {
        let isMine = direction == .sent ? lastSent.isRepeated(by: header, payload) : lastReceived.isRepeated(by: header, payload)
        if isMine { return true }
        if !isSure, payload.byteCount > 0 {
            let isOthers = direction == .sent ? lastReceived.isRepeated(by: header, payload) : lastSent.isRepeated(by: header, payload)
            if isOthers { return true }
        }
        if direction == .sent { lastSent.set(header, payload) } else { lastReceived.set(header, payload) }
        return false
    }

    /// Whether the CRC is wrong, as far as the seed is known. Learns the seed from packets that agree on one.
    /// - Parameter pdu: header and payload.
    mutating func isCRCWrong(_ pdu: RawSpan, crc: UInt32) -> Bool {
        if let seed { return CRC24.of(pdu, seed: seed) != crc }
        let found = CRC24.seed(pdu, crc: crc)
        let header = pdu.u16(0)
        if let candidate, candidate.seed == found {
            // Two equal packets would agree on any nonsense.
            if candidate.header != header { seed = found }
        } else {
            candidate = (found, header)
        }
        return false
    }
}

/// Who sent a packet, from when it came: the peripheral answers 150 µs after the central, and the central opens each event.
struct AirClock {
    private var lastEnd: Duration?
    private var lastChannel: UInt8?
    private var lastDirection: TrafficDirection?

    enum Evidence { case stated, timed, assumed }

    /// Interframe space, Core 5.4, Vol 6 Part B, 4.1.1; sniffers' stamps are good to some microseconds.
    private static let space = Duration.microseconds(150)
    private static let tolerance = Duration.microseconds(30)
    /// A gap as long as this lies between two connection events (which are at least 7.5 ms apart).
    private static let eventGap = Duration.milliseconds(3)

    /// The direction of a packet that begins at `time`, as far as the clock can tell.
    func direction(at time: Duration?, channel: UInt8?) -> (TrafficDirection, Evidence) {
        guard let lastDirection else { return (.sent, .assumed) }
        if let channel, let lastChannel, channel != lastChannel { return (.sent, .assumed) }
        guard let time, let lastEnd else { return (lastDirection.opposite, .assumed) }
        let gap = time - lastEnd
        if gap >= Self.space - Self.tolerance, gap <= Self.space + Self.tolerance { return (lastDirection.opposite, .timed) }
        if gap > Self.eventGap { return (.sent, .assumed) }
        // Longer than one space: a packet between was missed. Shorter: the stamps are too coarse to say.
        return (gap > Self.space ? lastDirection : lastDirection.opposite, .assumed)
    }

    mutating func note(_ direction: TrafficDirection, at time: Duration?, channel: UInt8?, length: Int, phy: ObservedPacket.AirFacts.PHY) {
        lastDirection = direction
        lastChannel = channel
        lastEnd = time.map { $0 + Self.airtime(length: length, phy: phy) }
    }

    /// - Parameter length: payload bytes. Preamble, access address, header and CRC come on top.
    static func airtime(length: Int, phy: ObservedPacket.AirFacts.PHY) -> Duration {
        switch phy {
        case .le1M: .microseconds(80 + 8 * length)
        case .le2M: .microseconds(44 + 4 * length)
        case .coded: .microseconds(720 + 64 * length)
        }
    }
}
