/// Who sent a packet from the air when the sniffer does not say: from when it came, from what it says, and from its
/// sequence bits.
///
/// - The peripheral answers 150 µs after the central, and the central opens each connection event. An answer is the
///   other side's, whatever its bits; an opener is the central's, unless the sniffer missed the packet before it.
/// - In ATT, odd opcodes come from the server, which is the peripheral as a rule; some link-layer control PDUs are one
///   side's only.
/// - As long as nobody refuses a packet, SN = NESN in every packet of one side and SN ≠ NESN in every packet of the
///   other (each acknowledged exchange flips all four bits; Core 5.4, Vol 6 Part B, 4.5.9). A refusal turns the two
///   around for good, so this is believed only as far as it has held so far, and never against an answer's time.
///
/// No one of these is certain: packets are missed, stamps can be coarse, and both ends can be servers. So all are
/// weighed. Numbers here are logarithms of odds: positive speaks for the central.
struct AirClock {
    private var lastStamp: Duration?
    private var lastLength = 0
    private var lastChannel: UInt8?
    /// What speaks for the last packet being the central's.
    private var last = 0.0
    /// What speaks for "SN = NESN is the central".
    private var parity: Double
    /// How often the two sides' bits turn around, as far as was seen: the share of openers that contradicted them.
    private var turnRate = 0.02
    private var stated = StatedDirections()

    /// Interframe space, Core 5.4, Vol 6 Part B, 4.1.1; sniffers' stamps are good to some tens of microseconds.
    private static let space = 150
    private static let tolerance = 65
    /// A gap as long as this lies between two connection events (which are at least 7.5 ms apart).
    private static let eventGap = Duration.milliseconds(3)
    /// Of the packets that open an event as far as the sniffer saw it, one in seven or fewer is the peripheral's.
    private static let opener = 1.9
    private static let firm = 3.0

    /// - Parameter sawBeginning: the CONNECT_IND is in the capture, so the sequence bits began as they do.
    init(sawBeginning: Bool) { parity = sawBeginning ? 2 : 0 }

    /// What speaks for one direction in a packet's content.
    struct Meaning {
        var weight = 0.0

        static func of(_ direction: TrafficDirection, _ weight: Double) -> Meaning {
            Meaning(weight: direction == .sent ? weight : -weight)
        }
    }

    /// Takes the next packet of the connection.
    ///
    /// - Parameters:
    ///   - header: first byte of the data header (bit 2 NESN, bit 3 SN).
    ///   - said: what the sniffer says, where it does.
    /// - Returns: the direction, and whether it is more than a guess.
    mutating func judge(
        header: UInt8, said: TrafficDirection?, at time: Duration?, channel: UInt8?, length: Int,
        phy: ObservedPacket.AirFacts.PHY, meaning: Meaning
    ) -> (TrafficDirection, isFirm: Bool) {
        let moment = moment(time, channel, length, phy)
        defer { note(time, channel, length) }
        if let said, stated.take(said, isAnswer: moment == .answer) {
            last = said == .sent ? 6 : -6
            return (said, true)
        }
        let sign = header >> 2 & 1 == header >> 3 & 1 ? 1.0 : -1.0
        var belief = meaning.weight
        switch moment {
        case .answer: belief -= 0.95 * last
        case .afterOneMissed: belief += 0.5 * last + sign * parity
        case .opener: belief += Self.opener + sign * parity
        case .unknown: belief += sign * parity - 0.1 * last
        }
        // Both ends can be servers: of the content only a quarter counts for the bits.
        learn(sign * ((moment == .opener ? Self.opener : 0) + meaning.weight / 4))
        last = min(8, max(-8, belief))
        return (belief >= 0 ? .sent : .received, abs(belief) >= Self.firm)
    }

    /// Takes a packet whose content cannot be believed: its time still says who answers it.
    mutating func pass(at time: Duration?, channel: UInt8?, length: Int, phy: ObservedPacket.AirFacts.PHY) {
        switch moment(time, channel, length, phy) {
        case .answer: last *= -0.95
        case .afterOneMissed: last *= 0.5
        case .opener: last = Self.opener
        case .unknown: last = 0
        }
        note(time, channel, length)
    }

    // MARK: time

    private enum Moment {
        /// An interframe space after the packet before.
        case answer
        /// In the same event, with room for one empty packet in between: the same side once more.
        case afterOneMissed
        /// First in its connection event, as far as the sniffer saw it.
        case opener
        case unknown
    }

    private func moment(_ time: Duration?, _ channel: UInt8?, _ length: Int, _ phy: ObservedPacket.AirFacts.PHY)
        -> Moment
    {
        if let channel, let lastChannel, channel != lastChannel { return .opener }
        guard let time, let lastStamp else { return lastStamp == nil && lastChannel == nil ? .opener : .unknown }
        let step = time - lastStamp
        if step > Self.eventGap { return .opener }
        guard step > .zero else { return .unknown }
        // At most `eventGap`: its attoseconds fit.
        let microseconds = Int(truncatingIfNeeded: step.attoseconds) / 1_000_000_000_000
        // Sniffers stamp the beginning of a packet, some its end; link type 251 cannot say the modulation.
        if phy == .coded {
            return isAnswer(microseconds, length, .coded)
                ? .answer : isAfterOneMissed(microseconds, .coded) ? .afterOneMissed : .unknown
        }
        if isAnswer(microseconds, length, .le1M) || isAnswer(microseconds, length, .le2M) { return .answer }
        if isAfterOneMissed(microseconds, .le1M) || isAfterOneMissed(microseconds, .le2M) { return .afterOneMissed }
        return .unknown
    }

    private func isAnswer(_ microseconds: Int, _ length: Int, _ phy: ObservedPacket.AirFacts.PHY) -> Bool {
        abs(microseconds - Self.airtime(lastLength, phy) - Self.space) <= Self.tolerance
            || abs(microseconds - Self.airtime(length, phy) - Self.space) <= Self.tolerance
    }

    private func isAfterOneMissed(_ microseconds: Int, _ phy: ObservedPacket.AirFacts.PHY) -> Bool {
        abs(microseconds - Self.airtime(lastLength, phy) - Self.airtime(0, phy) - 2 * Self.space) <= Self.tolerance / 2
    }

    private mutating func note(_ time: Duration?, _ channel: UInt8?, _ length: Int) {
        lastStamp = time
        lastChannel = channel
        lastLength = length
    }

    // MARK: sequence bits

    private mutating func learn(_ told: Double) {
        guard told != 0 else { return }
        if abs(told) >= 1.5, abs(parity) > 1 {
            let isSurprise = told * parity < 0
            turnRate = isSurprise ? min(0.45, turnRate + 0.03) : max(0.01, turnRate * 0.95)
        }
        // They may turn around at any time: however long they held, the odds are no better than that.
        let most = Self.odds(turnRate)
        parity = min(most, max(-most, parity + told))
    }

    /// log((1 − rate) / rate), without a logarithm: good to a tenth between 0.01 and 0.5.
    private static func odds(_ rate: Double) -> Double {
        for index in 1..<steps.count where rate <= steps[index].rate {
            let (low, high) = (steps[index - 1], steps[index])
            let share = max(0, (rate - low.rate) / (high.rate - low.rate))
            return low.odds + (high.odds - low.odds) * share
        }
        return 0
    }

    private static let steps: [(rate: Double, odds: Double)] = [
        (0.01, 4.6), (0.02, 3.9), (0.05, 2.9), (0.1, 2.2), (0.2, 1.4), (0.3, 0.85), (0.5, 0),
    ]

    // MARK: airtime

    /// - Parameter length: payload bytes. Preamble, access address, header and CRC come on top.
    static func airtime(length: Int, phy: ObservedPacket.AirFacts.PHY) -> Duration {
        .microseconds(airtime(length, phy))
    }

    private static func airtime(_ length: Int, _ phy: ObservedPacket.AirFacts.PHY) -> Int {
        switch phy {
        case .le1M: 80 + 8 * length
        case .le2M: 44 + 4 * length
        case .coded: 720 + 64 * length
        }
    }
}

/// What a sniffer's direction flags are worth on one connection: a flag that never changes while one packet answers
/// another is none.
private struct StatedDirections {
    private var hasSent = false
    private var hasReceived = false
    private var isVoid = false
    private var last: TrafficDirection?

    /// Whether this one is to be believed.
    mutating func take(_ said: TrafficDirection, isAnswer: Bool) -> Bool {
        if isAnswer, last == said, !(hasSent && hasReceived) { isVoid = true }
        last = said
        if said == .sent { hasSent = true } else { hasReceived = true }
        if hasSent, hasReceived { isVoid = false }
        return !isVoid
    }
}
