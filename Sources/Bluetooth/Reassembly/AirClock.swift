/// Who sent a packet from the air when the sniffer does not say: from when it came, from its sequence bits, and from what it says.
///
/// - The peripheral answers 150 µs after the central, and the central opens each connection event.
/// - As long as both hear each other, SN = NESN in every packet of one side and SN ≠ NESN in every packet of the other: the
///   central's are the equal ones at first, and the sides change only where somebody refused a packet. (Each acknowledged
///   exchange flips all four bits; Core 5.4, Vol 6 Part B, 4.5.9.)
/// - In ATT, odd opcodes come from the server, which is the peripheral as a rule.
///
/// No one of these is certain: packets are missed, stamps can be coarse, and both ends can be servers. So the first two are
/// believed where they are well founded, the third where they are not.
struct AirClock {
    private var lastEnd: Duration?
    private var lastChannel: UInt8?
    private var lastDirection: TrafficDirection?
    /// The last direction stood on firm ground, so that an interframe space after it does, too.
    private var isLastFirm = false
    /// How much speaks for "SN = NESN is the central" (positive) or for the contrary.
    private var parityScore: Int

    /// Interframe space, Core 5.4, Vol 6 Part B, 4.1.1; sniffers' stamps are good to some microseconds.
    private static let space = Duration.microseconds(150)
    private static let tolerance = Duration.microseconds(30)
    /// A gap as long as this lies between two connection events (which are at least 7.5 ms apart).
    private static let eventGap = Duration.milliseconds(3)
    private static let firmScore = 6

    /// - Parameter sawBeginning: the CONNECT_IND is in the capture, so the sequence bits began as they do.
    init(sawBeginning: Bool) { parityScore = sawBeginning ? 4 : 0 }

    /// - Parameters:
    ///   - header: first byte of the data header (bit 2 NESN, bit 3 SN).
    ///   - meant: who would say such a thing, where the content shows it.
    /// - Returns: the direction, and whether it is more than a guess.
    mutating func direction(header: UInt8, at time: Duration?, channel: UInt8?, meant: TrafficDirection?) -> (TrafficDirection, isFirm: Bool) {
        let gap = time.flatMap { time in lastEnd.map { time - $0 } }
        let isAnswer = gap.map { $0 >= Self.space - Self.tolerance && $0 <= Self.space + Self.tolerance } ?? false
        let opensEvent = !isAnswer && (gap.map { $0 > Self.eventGap } ?? false || (channel != nil && lastChannel != nil && channel != lastChannel))
        let isEqual = header >> 2 & 1 == header >> 3 & 1
        defer { vote(isEqual: isEqual, opensEvent: opensEvent, meant: meant) }

        if abs(parityScore) >= Self.firmScore { return (isEqual == (parityScore > 0) ? .sent : .received, true) }
        if isAnswer, isLastFirm, let lastDirection { return (lastDirection.opposite, true) }
        if let meant { return (meant, false) }
        if opensEvent { return (.sent, false) }
        if parityScore != 0 { return (isEqual == (parityScore > 0) ? .sent : .received, false) }
        return (lastDirection?.opposite ?? .sent, false)
    }

    private mutating func vote(isEqual: Bool, opensEvent: Bool, meant: TrafficDirection?) {
        if opensEvent { parityScore += isEqual ? 1 : -1 }
        if let meant { parityScore += isEqual == (meant == .sent) ? 1 : -1 }
        parityScore = min(16, max(-16, parityScore))
    }

    mutating func note(_ direction: TrafficDirection, isFirm: Bool, at time: Duration?, channel: UInt8?, length: Int, phy: ObservedPacket.AirFacts.PHY) {
        lastDirection = direction
        isLastFirm = isFirm
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
