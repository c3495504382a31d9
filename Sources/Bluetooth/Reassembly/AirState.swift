/// What must be remembered of a connection on the air to tell repeats, directions, damage and ciphertext.
struct AirState {
    /// Start value of the CRC: from CONNECT_IND, or found from two packets that agree on it.
    var seed: UInt32?
    private var candidate: (seed: UInt32, header: UInt16)?

    var isEncrypted = false
    /// Something of it could not be read, and that was told.
    var hasCiphertext = false
    /// The end was seen and told; what still comes are the last acknowledgements.
    var isTerminated = false
    var hasData = false
    /// A sniffer that decrypts leaves the four bytes of MIC on the payload.
    var keepsMIC = false

    private var lastSent = LastPDU()
    private var lastReceived = LastPDU()
    var clock: AirClock

    /// - Parameter seed: CRCInit, where the CONNECT_IND is in the capture.
    init(seed: UInt32? = nil) {
        self.seed = seed
        clock = AirClock(sawBeginning: seed != nil)
    }

    /// The last data packet of one side: a repeat has its sequence number and its content.
    private struct LastPDU {
        /// Whether a packet cannot follow this one: its number is the same. So the sniffer missed one in between.
        func isGap(before header: UInt8) -> Bool { self.header.map { $0 & 0x08 == header & 0x08 } ?? false }

        /// LLID and SN bits of the header; `nil` before the first packet.
        var header: UInt8?
        var payload: [UInt8] = []

        func isRepeated(by header: UInt8, _ payload: RawSpan) -> Bool {
            self.header == header & 0x0B && payload.isEqual(to: self.payload)
        }

        mutating func set(_ header: UInt8, _ payload: RawSpan) {
            self.header = header & 0x0B
            // In the place of the last one, which keeps its room.
            let excess = self.payload.count - payload.byteCount
            if excess > 0 {
                self.payload.removeLast(excess)
            } else if excess < 0 {
                self.payload.append(contentsOf: repeatElement(0, count: -excess))
            }
            self.payload.withUnsafeMutableBytes { place in payload.withUnsafeBytes { place.copyMemory(from: $0) } }
        }
    }

    /// Odds that a packet with content repeats the central's last one, against the peripheral's.
    func repeatOdds(header: UInt8, _ payload: RawSpan) -> Float {
        guard payload.byteCount > 0 else { return 1 }
        switch (lastSent.isRepeated(by: header, payload), lastReceived.isRepeated(by: header, payload)) {
        case (true, false): return 15
        case (false, true): return 1 / 15
        default: return 1
        }
    }

    /// What a packet is to the last one of its side.
    enum Succession { case next, afterGap, `repeat` }

    /// Whether this packet repeats the last one of its side; remembers it otherwise.
    ///
    /// The same sequence number alone does not do: where the sniffer missed a packet, two different ones follow each
    /// other with the same number. Where the side is only guessed, a packet with content may repeat either.
    mutating func take(header: UInt8, _ payload: RawSpan, direction: TrafficDirection, isSure: Bool) -> Succession {
        let isMine =
            direction == .sent ? lastSent.isRepeated(by: header, payload) : lastReceived.isRepeated(by: header, payload)
        if isMine { return .repeat }
        if !isSure, payload.byteCount > 0 {
            let isOthers =
                direction == .sent
                ? lastReceived.isRepeated(by: header, payload) : lastSent.isRepeated(by: header, payload)
            if isOthers { return .repeat }
        }
        let isGap = isSure && (direction == .sent ? lastSent.isGap(before: header) : lastReceived.isGap(before: header))
        if direction == .sent { lastSent.set(header, payload) } else { lastReceived.set(header, payload) }
        return isGap ? .afterGap : .next
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
