/// Decides who sent a packet from the air when the sniffer does not say: from its time, content and sequence bits.
///
/// - The peripheral answers 150 µs after the central, and the central opens each connection event.
/// - Connection events begin at multiples of 1.25 ms from each other (Core 5.4, Vol 6 Part B, 4.5.1). So an opener is
///   the central's again where the last one was, and an answer of 150 µs shows also where the sniffer missed its
///   question.
/// - In ATT, odd opcodes come from the server, which is the peripheral as a rule; some link-layer control PDUs are one
///   side's only.
/// - Sequence bits fit only some states of the two ends (`AirExchange`).
///
/// No one of these is certain: packets are missed, stamps can be coarse, and both ends can be servers. So all are
/// weighed, as odds of the central against the peripheral.
struct AirClock {
    private var lastStamp: Duration?
    private var lastLength = 0
    private var lastChannel: UInt8?
    private var exchange: AirExchange
    private var stated = StatedDirections()
    /// The first packet of the last connection event that began, and the probability that the central sent it.
    private var opener: (time: Duration, isSent: Float)?
    /// Stamps are finer than half a millisecond.
    private var hasFineStamps = false
    /// Packets of this connection event so far.
    private var eventCount = 0
    /// How many connection events had one packet, and how many had more: of a sniffer that misses nothing none has one.
    private var events: (lone: Float, full: Float) = (1.5, 8)
    /// How often ATT's opcodes agreed with the other evidence, and how often not: both ends can be servers.
    private var opcodes: (agreed: Float, opposed: Float) = (6, 0.5)

    /// Interframe space, Core 5.4, Vol 6 Part B, 4.1.1; sniffers' stamps are good to some tens of microseconds.
    private static let space = 150
    private static let tolerance = 65
    /// A gap as long as this lies between two connection events (which are at least 7.5 ms apart).
    private static let eventGap = Duration.milliseconds(3)
    /// Events begin at multiples of this, in microseconds; for so long the clocks' drift does not matter.
    private static let grid = 1250
    private static let longestOnGrid = Duration.milliseconds(500)
    /// From these odds on a direction is more than a guess.
    private static let firm: Float = 20

    /// - Parameter sawBeginning: the CONNECT_IND is in the capture, so the sequence bits began as they do.
    init(sawBeginning: Bool) { exchange = AirExchange(sawBeginning: sawBeginning) }

    /// What speaks for one direction in a packet's content, as odds.
    struct Meaning {
        var odds: Float = 1
        /// Whether an ATT opcode says so, whose weight this connection shows.
        var isOpcode = false

        static func of(_ direction: TrafficDirection, _ odds: Float, isOpcode: Bool = false) -> Meaning {
            Meaning(odds: direction == .sent ? odds : 1 / odds, isOpcode: isOpcode)
        }
    }

    /// Takes the next packet of the connection.
    ///
    /// - Parameters:
    ///   - header: first byte of the data header (bit 2 NESN, bit 3 SN).
    ///   - said: what the sniffer says, where it does.
    ///   - repeats: odds that it repeats a packet of the central's, against one of the peripheral's.
    /// - Returns: the direction, and whether it is more than a guess.
    mutating func judge(
        header: UInt8, said: TrafficDirection?, at time: Duration?, channel: UInt8?, length: Int,
        phy: ObservedPacket.AirFacts.PHY, meaning: Meaning, repeats: Float = 1
    ) -> (TrafficDirection, isFirm: Bool) {
        let moment = begin(time, channel, length, phy)
        defer { end(moment, time, isDamaged: false) }
        exchange.hear(header)
        if let said, stated.take(said, isAnswer: moment == .answer) {
            exchange.weigh(said == .sent ? 1000 : 0.001)
            return (said, true)
        }
        exchange.weigh(repeats)
        if meaning.isOpcode {
            let other = exchange.odds, isSent = meaning.odds > 1
            let weight = min(50, max(1, opcodes.agreed / opcodes.opposed))
            exchange.weigh(isSent ? weight : 1 / weight)
            if other > Self.firm || other < 1 / Self.firm {
                if (other > 1) == isSent { opcodes.agreed += 1 } else { opcodes.opposed += 1 }
            }
        } else {
            exchange.weigh(meaning.odds)
        }
        let odds = exchange.odds
        return (odds >= 1 ? .sent : .received, odds >= Self.firm || odds <= 1 / Self.firm)
    }

    /// Takes a packet whose content cannot be believed: its time still says who answers it.
    mutating func pass(at time: Duration?, channel: UInt8?, length: Int, phy: ObservedPacket.AirFacts.PHY) {
        end(begin(time, channel, length, phy), time, isDamaged: true)
    }

    private mutating func begin(_ time: Duration?, _ channel: UInt8?, _ length: Int, _ phy: ObservedPacket.AirFacts.PHY)
        -> Moment
    {
        let moment = moment(time, channel, length, phy)
        note(time, channel, length)
        if let time, Self.microseconds(time) % 500 != 0 { hasFineStamps = true }
        if moment == .opener {
            if eventCount == 1 { events.lone += 1 } else if eventCount > 1 { events.full += 1 }
            if events.lone + events.full > 60 { events = (events.lone * 0.9, events.full * 0.9) }
            eventCount = 0
        }
        eventCount += 1
        exchange.pass(moment, lone: events.lone / (events.lone + events.full))
        if moment == .opener, let time { exchange.weigh(onGrid(time)) }
        return moment
    }

    private mutating func end(_ moment: Moment, _ time: Duration?, isDamaged: Bool) {
        exchange.end(isDamaged: isDamaged)
        if moment == .opener, let time { opener = (time, exchange.isSent) }
    }

    /// How likely each side opens an event at that time, by when the last one was opened.
    private func onGrid(_ time: Duration) -> (sent: Float, received: Float) {
        guard let opener, hasFineStamps, time > opener.time, time - opener.time < Self.longestOnGrid else {
            return (1, 1)
        }
        let phase = Self.microseconds(time - opener.time) % Self.grid
        func isNear(_ wanted: Int) -> Bool {
            let distance = abs(phase - wanted)
            return min(distance, Self.grid - distance) <= Self.tolerance * 2 / 3
        }
        let chance: Float = 0.03, wasSent = opener.isSent, wasReceived = 1 - opener.isSent
        if isNear(0) { return (wasSent + chance, wasReceived + chance) }
        // The answer to an empty packet that was missed.
        for step in [Self.airtime(0, .le1M) + Self.space, Self.airtime(0, .le2M) + Self.space] {
            if isNear(step) { return (chance, wasSent + chance) }
            if isNear(Self.grid - step) { return (wasReceived + chance, chance) }
        }
        return (1, 1)
    }

    // MARK: time

    enum Moment {
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
        let microseconds = Self.microseconds(step)
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

    // MARK: airtime

    /// - Parameter length: payload bytes. Preamble, access address, header and CRC come on top.
    static func airtime(length: Int, phy: ObservedPacket.AirFacts.PHY) -> Duration {
        .microseconds(airtime(length, phy))
    }

    private static func microseconds(_ time: Duration) -> Int {
        let (seconds, attoseconds) = time.components
        return Int(truncatingIfNeeded: seconds &* 1_000_000 &+ attoseconds / 1_000_000_000_000)
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
