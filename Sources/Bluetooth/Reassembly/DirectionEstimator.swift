/// Estimates the direction of a packet on the air, if not stated, from time, content and sequence bits.
///
/// - The peripheral responds 150 µs after the central, and the central starts each connection event.
/// - Connection events start at multiples of 1.25 ms from each other (Core 5.4, Vol 6 Part B, 4.5.1).
/// - In ATT, odd opcodes come from the server, which usually is the peripheral. Some link-layer PDUs belong to one
///   role.
/// - Sequence bits fit only some states of the two ends (`AcknowledgementModel`).
///
/// No single indication is certain: the sniffer misses packets, timestamps can be coarse, and both ends can be
/// servers. All indications are combined as odds of the central against the peripheral.
struct DirectionEstimator {
    private var lastTime: Duration?
    private var lastLength = 0
    private var lastChannel: UInt8?
    private var acknowledgements: AcknowledgementModel
    private var statedDirections = StatedDirections()
    /// The first packet of the last connection event, and the probability that the central sent it.
    private var lastEvent: (time: Duration, sentProbability: Float)?
    /// Whether timestamps have a resolution better than half a millisecond.
    private var hasFineTimestamps = false
    private var eventCount = 0
    /// The number of connection events with one received packet, and with several. A perfect sniffer receives several.
    private var events: (single: Float, multiple: Float) = (1.5, 8)
    /// The number of ATT opcodes that agreed with the other indications, and that did not.
    private var opcodeVotes: (agreed: Float, opposed: Float) = (6, 0.5)

    /// The interframe space in microseconds (Core 5.4, Vol 6 Part B, 4.1.1). Sniffers' timestamps vary by tens of µs.
    static let interframeSpace = 150
    private static let tolerance = 65
    /// The minimum gap between two connection events, which are at least 7.5 ms apart.
    private static let eventGap = Duration.milliseconds(3)
    /// The unit of the start of connection events, in microseconds.
    private static let connectionIntervalUnit = 1250
    private static let longestGap = Duration.milliseconds(500)
    /// The odds from which a direction counts as certain.
    private static let certainOdds: Float = 20

    /// - Parameter sawConnectionStart: whether the capture has the CONNECT_IND, so that the sequence bits start at 0.
    init(sawConnectionStart: Bool) { acknowledgements = AcknowledgementModel(sawConnectionStart: sawConnectionStart) }

    /// The evidence of a packet's content for one direction, as odds.
    struct Evidence {
        var odds: Float = 1
        /// Whether the evidence is an ATT opcode, whose weight depends on the connection.
        var isOpcode = false

        static func of(_ direction: TrafficDirection, _ odds: Float, isOpcode: Bool = false) -> Evidence {
            Evidence(odds: direction == .sent ? odds : 1 / odds, isOpcode: isOpcode)
        }
    }

    /// Estimates the direction of the next packet of the connection.
    /// - Parameters:
    ///   - header: the first byte of the data header (bit 2 NESN, bit 3 SN).
    ///   - direction: the direction that the sniffer states, if any.
    ///   - repeats: the odds that the packet repeats the central's packet, against the peripheral's.
    /// - Returns: the direction, and whether it is certain.
    mutating func estimate(
        header: UInt8, stated direction: TrafficDirection?, at time: Duration?, channel: UInt8?, length: Int,
        phy: LinkLayerInfo.PHY, evidence: Evidence, repeats: Float = 1
    ) -> (TrafficDirection, isCertain: Bool) {
        let timing = begin(time, channel, length, phy)
        defer { end(timing, time, isDamaged: false) }
        acknowledgements.weigh(sequenceBitsOf: header)
        if let direction, statedDirections.accept(direction, isResponse: timing == .response) {
            acknowledgements.weigh(direction == .sent ? 1000 : 0.001)
            return (direction, true)
        }
        acknowledgements.weigh(repeats)
        if evidence.isOpcode {
            let prior = acknowledgements.odds, isSent = evidence.odds > 1
            let weight = min(50, max(1, opcodeVotes.agreed / opcodeVotes.opposed))
            acknowledgements.weigh(isSent ? weight : 1 / weight)
            if prior > Self.certainOdds || prior < 1 / Self.certainOdds {
                if (prior > 1) == isSent { opcodeVotes.agreed += 1 } else { opcodeVotes.opposed += 1 }
            }
        } else {
            acknowledgements.weigh(evidence.odds)
        }
        let odds = acknowledgements.odds
        return (odds >= 1 ? .sent : .received, odds >= Self.certainOdds || odds <= 1 / Self.certainOdds)
    }

    /// Adds a damaged packet. Only its time is used.
    mutating func addDamaged(at time: Duration?, channel: UInt8?, length: Int, phy: LinkLayerInfo.PHY) {
        end(begin(time, channel, length, phy), time, isDamaged: true)
    }

    private mutating func begin(_ time: Duration?, _ channel: UInt8?, _ length: Int, _ phy: LinkLayerInfo.PHY) -> Timing
    {
        let timing = timing(time, channel, length, phy)
        (lastTime, lastChannel, lastLength) = (time, channel, length)
        if let time, Self.microseconds(time) % 500 != 0 { hasFineTimestamps = true }
        if timing == .eventStart {
            if eventCount == 1 { events.single += 1 } else if eventCount > 1 { events.multiple += 1 }
            if events.single + events.multiple > 60 { events = (events.single * 0.9, events.multiple * 0.9) }
            eventCount = 0
        }
        eventCount += 1
        acknowledgements.advance(timing, singlePacketShare: events.single / (events.single + events.multiple))
        if timing == .eventStart, let time { acknowledgements.weigh(eventStartLikelihood(time)) }
        return timing
    }

    private mutating func end(_ timing: Timing, _ time: Duration?, isDamaged: Bool) {
        acknowledgements.end(isDamaged: isDamaged)
        if timing == .eventStart, let time { lastEvent = (time, acknowledgements.sentProbability) }
    }

    /// The likelihood of each sender for an event that starts at `time`, by the distance from the last event.
    private func eventStartLikelihood(_ time: Duration) -> (sent: Float, received: Float) {
        guard let lastEvent, hasFineTimestamps, time > lastEvent.time, time - lastEvent.time < Self.longestGap else {
            return (1, 1)
        }
        let phase = Self.microseconds(time - lastEvent.time) % Self.connectionIntervalUnit
        func isNear(_ expected: Int) -> Bool {
            let distance = abs(phase - expected)
            return min(distance, Self.connectionIntervalUnit - distance) <= Self.tolerance * 2 / 3
        }
        let chance: Float = 0.03, wasSent = lastEvent.sentProbability, wasReceived = 1 - lastEvent.sentProbability
        if isNear(0) { return (wasSent + chance, wasReceived + chance) }
        // The packet might respond to an empty packet that the sniffer missed.
        for step in [Self.airtime(0, .le1M) + Self.interframeSpace, Self.airtime(0, .le2M) + Self.interframeSpace] {
            if isNear(step) { return (chance, wasSent + chance) }
            if isNear(Self.connectionIntervalUnit - step) { return (wasReceived + chance, chance) }
        }
        return (1, 1)
    }

    // MARK: Time

    enum Timing {
        /// The packet follows one interframe space after the previous one.
        case response
        /// The packet follows one missed empty packet in the same event, so the same side sends again.
        case afterOneMissed
        /// The packet is the first one of its connection event that the sniffer received.
        case eventStart
        case unknown
    }

    private func timing(_ time: Duration?, _ channel: UInt8?, _ length: Int, _ phy: LinkLayerInfo.PHY) -> Timing {
        if let channel, let lastChannel, channel != lastChannel { return .eventStart }
        guard let time, let lastTime else { return lastTime == nil && lastChannel == nil ? .eventStart : .unknown }
        let step = time - lastTime
        if step > Self.eventGap { return .eventStart }
        guard step > .zero else { return .unknown }
        let microseconds = Self.microseconds(step)
        // Most sniffers record the time of a packet's start, some of its end. Link type 251 does not state the PHY.
        if phy == .coded {
            return isResponse(microseconds, length, .coded)
                ? .response : isAfterOneMissed(microseconds, .coded) ? .afterOneMissed : .unknown
        }
        if isResponse(microseconds, length, .le1M) || isResponse(microseconds, length, .le2M) { return .response }
        if isAfterOneMissed(microseconds, .le1M) || isAfterOneMissed(microseconds, .le2M) { return .afterOneMissed }
        return .unknown
    }

    private func isResponse(_ microseconds: Int, _ length: Int, _ phy: LinkLayerInfo.PHY) -> Bool {
        abs(microseconds - Self.airtime(lastLength, phy) - Self.interframeSpace) <= Self.tolerance
            || abs(microseconds - Self.airtime(length, phy) - Self.interframeSpace) <= Self.tolerance
    }

    private func isAfterOneMissed(_ microseconds: Int, _ phy: LinkLayerInfo.PHY) -> Bool {
        abs(microseconds - Self.airtime(lastLength, phy) - Self.airtime(0, phy) - 2 * Self.interframeSpace) <= Self
            .tolerance / 2
    }

    private static func microseconds(_ time: Duration) -> Int {
        let (seconds, attoseconds) = time.components
        return Int(truncatingIfNeeded: seconds &* 1_000_000 &+ attoseconds / 1_000_000_000_000)
    }

    /// The time on the air in microseconds.
    /// - Parameter length: the payload in bytes, without preamble, access address, header and CRC.
    static func airtime(_ length: Int, _ phy: LinkLayerInfo.PHY) -> Int {
        switch phy {
        case .le1M: 80 + 8 * length
        case .le2M: 44 + 4 * length
        case .coded: 720 + 64 * length
        }
    }
}

/// Checks a sniffer's direction flags on one connection: equal flags of a packet and its response are invalid.
private struct StatedDirections {
    private var hasSent = false
    private var hasReceived = false
    private var isInvalid = false
    private var last: TrafficDirection?

    /// Whether the stated direction is plausible.
    mutating func accept(_ direction: TrafficDirection, isResponse: Bool) -> Bool {
        if isResponse, last == direction, !(hasSent && hasReceived) { isInvalid = true }
        last = direction
        if direction == .sent { hasSent = true } else { hasReceived = true }
        if hasSent, hasReceived { isInvalid = false }
        return !isInvalid
    }
}
