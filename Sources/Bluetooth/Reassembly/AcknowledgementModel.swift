/// The acknowledgement scheme of a link-layer connection (Core 5.4, Vol 6 Part B, 4.5.9) as a hidden Markov model.
/// Stores the probability of each state of both ends, by the sender of the last packet.
///
/// A state has four bits: SN and NESN of the central's next packet, then those of the peripheral's. A received packet
/// acknowledges the other side's last packet. The receiver acknowledges it unless it rejects it. A lost packet changes
/// nothing.
struct AcknowledgementModel {
    private typealias Weights = SIMD16<Float>

    private enum Reception: Int, CaseIterable {
        case accepted, rejected, lost

        func probability(_ loss: Float) -> Float { self == .accepted ? 0.99 - loss : self == .rejected ? 0.01 : loss }
    }

    private static let packetLoss: Float = 0.03
    /// The loss probability of a packet that the sniffer received with a wrong CRC.
    private static let damagedPacketLoss: Float = 0.3

    /// The weights of the states after a packet of the central, and of the peripheral.
    private var sent = Weights()
    private var received = Weights()

    /// - Parameter sawConnectionStart: whether the connection is new: all bits are zero and the central sends next.
    init(sawConnectionStart: Bool) {
        if sawConnectionStart { received[0] = 1 } else { received = Weights(repeating: 1 / 16) }
    }

    /// The probability that the central sent the last packet.
    var sentProbability: Float { sent.sum() / (sent.sum() + received.sum()) }
    var odds: Float { (sent.sum() + 1e-9) / (received.sum() + 1e-9) }

    /// Advances to the next packet and weights both senders by its time.
    /// - Parameter singlePacketShare: the share of connection events with a single received packet.
    mutating func advance(_ timing: DirectionEstimator.Timing, singlePacketShare: Float) {
        switch timing {
        case .response:
            // One interframe space after a packet, the other side responds. So swap the probabilities, with 1e-5 for a
            // wrong measurement.
            (sent, received) = (received + sent * 1e-5, sent + received * 1e-5)
        case .afterOneMissed:
            (sent, received) = (
                Self.after(sent, isSent: false) * 0.9 + received * 0.1,
                Self.after(received, isSent: true) * 0.9 + sent * 0.1
            )
        case .eventStart, .unknown:
            // The sniffer might have missed the response that ended the last event, and further packets after that.
            let before = received + sent * 0.5 + Self.after(sent * 0.5, isSent: false)
            let missed = max(0.002, singlePacketShare / 3)
            let exchanged = Self.after(Self.after(before, isSent: true), isSent: false)
            let ready = before * (1 - missed) + exchanged * missed
            let isPeripheral = timing == .unknown ? 0.5 : max(0.003, min(0.5, singlePacketShare / 2))
            (sent, received) = (ready * (1 - isPeripheral), Self.after(ready, isSent: true) * isPeripheral)
        }
    }

    /// Weights the states by the sequence bits of a packet: bit 2 NESN, bit 3 SN.
    mutating func weigh(sequenceBitsOf header: UInt8) {
        let bits = Int(header >> 3 & 1 | (header >> 2 & 1) << 1)
        for state in 0..<16 {
            if state & 3 != bits { sent[state] *= 0.001 }
            if state >> 2 != bits { received[state] *= 0.001 }
        }
    }

    mutating func weigh(_ odds: Float) { sent *= odds }

    mutating func weigh(_ likelihood: (sent: Float, received: Float)) {
        sent *= likelihood.sent
        received *= likelihood.received
    }

    mutating func end(isDamaged: Bool) {
        let sum = sent.sum() + received.sum()
        guard sum > 0, sum.isFinite else { return self = AcknowledgementModel(sawConnectionStart: false) }
        let loss = isDamaged ? Self.damagedPacketLoss : Self.packetLoss
        sent = Self.after(sent / sum, isSent: true, loss: loss)
        received = Self.after(received / sum, isSent: false, loss: loss)
    }

    private static func after(_ weights: Weights, isSent: Bool, loss: Float = packetLoss) -> Weights {
        var next = Weights()
        for state in 0..<16 where weights[state] > 0 {
            for reception in Reception.allCases {
                next[outcome(state, isSent, reception)] += weights[state] * reception.probability(loss)
            }
        }
        return next
    }

    private static func outcome(_ state: Int, _ isSent: Bool, _ reception: Reception) -> Int {
        guard reception != .lost else { return state }
        let sender = isSent ? state & 3 : state >> 2
        var receiver = isSent ? state >> 2 : state & 3
        // SN is bit 0, NESN bit 1.
        if sender >> 1 != receiver & 1 { receiver ^= 1 }
        if reception == .accepted, sender & 1 == receiver >> 1 { receiver ^= 2 }
        return isSent ? sender | receiver << 2 : receiver | sender << 2
    }
}
