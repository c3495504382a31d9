/// ATT over BR/EDR: L2CAP channels that were opened for PSM 0x001F.
///
///     frame of channel 1     signal…                            a frame can have several
///     connection request     02 id length(2)  psm(2) channel(2)                        the requester's channel
///     connection response    03 id length(2)  channel(2) channel(2) result(2) status(2)  responder's, then requester's
///     disconnection request  06 id length(2)  channel(2) channel(2)                    the peer's, then the sender's
///
/// Core 5.4, Vol 3 Part A, 4 and Part G, 5.2. Channels whose opening is not in the capture are ignored.
struct ClassicBearers {
    private static let attPSM: UInt16 = 0x001F
    private static let mostChannels = 16

    private struct Channel: Hashable {
        var number: UInt16
        var direction: TrafficDirection
    }
    private var channels: [Channel] = []
    /// Requests without a response, with the requester's channel.
    private var asked: [(id: UInt8, direction: TrafficDirection, channel: UInt16)] = []

    /// Whether frames with this channel number can be ATT, in either direction.
    func knows(_ number: UInt16) -> Bool { channels.contains { $0.number == number } }

    func carries(_ number: UInt16, _ direction: TrafficDirection) -> Bool {
        channels.contains(Channel(number: number, direction: direction))
    }

    /// Handles a frame of the signalling channel.
    mutating func receiveSignals(_ signals: RawSpan, direction: TrafficDirection) {
        var at = 0
        while at + 4 <= signals.byteCount {
            let end = at + 4 + Int(signals.u16(at + 2))
            guard end <= signals.byteCount else { return }
            receive(signals.extracting(at..<end), direction)
            at = end
        }
    }

    private mutating func receive(_ signal: RawSpan, _ direction: TrafficDirection) {
        let (code, id) = (signal.u8(0), signal.u8(1))
        switch code {
        case 0x02 where signal.byteCount >= 8 && signal.u16(4) == Self.attPSM:
            asked.removeAll { $0.id == id && $0.direction == direction }
            if asked.count < Self.mostChannels { asked.append((id, direction, signal.u16(6))) }
        case 0x03 where signal.byteCount >= 10:
            guard let index = asked.firstIndex(where: { $0.id == id && $0.direction != direction }) else { return }
            // Result 1 means pending, 0 success, and any other value a rejection.
            guard signal.u16(8) != 1 else { return }
            let request = asked.remove(at: index)
            guard signal.u16(8) == 0 else { return }
            open(signal.u16(4), direction.opposite)
            open(request.channel, direction)
        case 0x06 where signal.byteCount >= 8:
            let (theirs, own) = (
                Channel(number: signal.u16(4), direction: direction),
                Channel(number: signal.u16(6), direction: direction.opposite)
            )
            channels.removeAll { $0 == theirs || $0 == own }
        default: break
        }
    }

    private mutating func open(_ number: UInt16, _ direction: TrafficDirection) {
        let channel = Channel(number: number, direction: direction)
        guard number >= 0x40, !channels.contains(channel), channels.count < Self.mostChannels else { return }
        channels.append(channel)
    }
}
