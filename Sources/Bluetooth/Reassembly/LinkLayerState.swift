/// The state of a connection on the air: direction, retransmissions, CRC and encryption.
struct LinkLayerState {
    /// The initial value of the CRC: from CONNECT_IND, or derived from two packets that agree.
    var crcInit: UInt32?
    private var candidate: (crcInit: UInt32, header: UInt16)?

    var isEncrypted = false
    /// Whether an encrypted payload was reported.
    var hasCiphertext = false
    /// Whether the end was reported. Later packets are the last acknowledgements.
    var isTerminated = false
    var hasData = false
    /// Whether a decrypting sniffer keeps the four bytes of the MIC in the payload.
    var keepsMIC = false

    private var lastSent = LastPDU()
    private var lastReceived = LastPDU()
    var estimator: DirectionEstimator

    init(crcInit: UInt32? = nil) {
        self.crcInit = crcInit
        estimator = DirectionEstimator(sawConnectionStart: crcInit != nil)
    }

    /// The last data packet of one side. A retransmission has its sequence number and content.
    private struct LastPDU {
        /// Whether the sniffer missed a packet between this one and one with that header: both have the same number.
        func isGap(before header: UInt8) -> Bool { self.header.map { $0 & 0x08 == header & 0x08 } ?? false }

        /// The LLID and SN bits of the header; `nil` before the first packet.
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

    /// The odds that a packet repeats the central's last packet rather than the peripheral's.
    func repeatOdds(header: UInt8, _ payload: RawSpan) -> Float {
        guard payload.byteCount > 0 else { return 1 }
        switch (lastSent.isRepeated(by: header, payload), lastReceived.isRepeated(by: header, payload)) {
        case (true, false): return 15
        case (false, true): return 1 / 15
        default: return 1
        }
    }

    /// The relation of a packet to the previous one of its side.
    enum SequenceRelation { case next, afterGap, retransmission }

    /// Compares a packet with the last one of its side, and stores it unless it is a retransmission.
    ///
    /// An equal sequence number is not enough: if the sniffer missed a packet, two different packets have the same
    /// number. If the direction is uncertain, a packet with content can retransmit either side's.
    mutating func classify(header: UInt8, _ payload: RawSpan, direction: TrafficDirection, isCertain: Bool)
        -> SequenceRelation
    {
        let repeatsSameSide =
            direction == .sent ? lastSent.isRepeated(by: header, payload) : lastReceived.isRepeated(by: header, payload)
        if repeatsSameSide { return .retransmission }
        if !isCertain, payload.byteCount > 0 {
            let repeatsOtherSide =
                direction == .sent
                ? lastReceived.isRepeated(by: header, payload) : lastSent.isRepeated(by: header, payload)
            if repeatsOtherSide { return .retransmission }
        }
        let isGap =
            isCertain && (direction == .sent ? lastSent.isGap(before: header) : lastReceived.isGap(before: header))
        if direction == .sent { lastSent.set(header, payload) } else { lastReceived.set(header, payload) }
        return isGap ? .afterGap : .next
    }

    /// Returns `true` if the CRC is known to be wrong. Derives the initial value from packets that agree.
    /// - Parameter pdu: header and payload.
    mutating func isCRCWrong(_ pdu: RawSpan, crc: UInt32) -> Bool {
        if let crcInit { return CRC24.of(pdu, crcInit: crcInit) != crc }
        let found = CRC24.crcInit(of: pdu, crc: crc)
        let header = pdu.u16(0)
        if let candidate, candidate.crcInit == found {
            // Identical packets always give the same CRCInit, even a wrong one. Accept it only if a packet with
            // another header gives it too.
            if candidate.header != header { crcInit = found }
        } else {
            candidate = (found, header)
        }
        return false
    }
}
