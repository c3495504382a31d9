/// The Enhanced ATT bearers (EATT) of one connection: credit-based channels opened for SPSM 0x0027.
///
///     request   17 id length(2)  spsm(2) mtu(2) mps(2) credits(2) channel(2)…      the requester's channels
///     response  18 id length(2)  mtu(2) mps(2) credits(2) result(2) channel(2)…    the responder's channels
///     frame     [sduLength(2) in the first] data                                   Core 5.4, Vol 3 Part A, 3.4.3, 4.25
///
/// BlueZ on both ends uses them by default and distributes notifications over them.
struct EnhancedBearers {
    private static let eattPSM: UInt16 = 0x0027
    private static let maximumChannels = 16

    private struct Channel {
        var number: UInt16
        var direction: TrafficDirection
        var buffer: [UInt8] = []
        var needed = 0
    }
    private var channels: [Channel] = []
    /// The request whose response has not arrived yet.
    private var request: (id: UInt8, direction: TrafficDirection)?

    /// Whether a signal on channel 5 opens Enhanced ATT bearers.
    static func opensBearers(_ signal: RawSpan) -> Bool {
        signal.byteCount >= 6 && signal.u8(0) == 0x17 && signal.u16(4) == eattPSM
    }

    mutating func receiveSignal(_ signal: RawSpan, direction: TrafficDirection) {
        guard signal.byteCount >= 4 else { return }
        let end = min(signal.byteCount, 4 + Int(signal.u16(2)))
        let id = signal.u8(1)
        switch signal.u8(0) {
        case 0x17 where Self.opensBearers(signal):
            request = (id, direction)
            addChannels(signal, from: 12, to: end, direction: direction.opposite)
        case 0x18:
            guard let request, request.id == id, request.direction != direction else { return }
            self.request = nil
            addChannels(signal, from: 12, to: end, direction: direction.opposite)
        case 0x06 where end >= 8:
            // Disconnection Request: the receiver's channel, then the sender's.
            let peerChannel = signal.u16(4)
            let senderChannel = signal.u16(6)
            channels.removeAll {
                ($0.number == peerChannel && $0.direction == direction)
                    || ($0.number == senderChannel && $0.direction != direction)
            }
        default: break
        }
    }

    private mutating func addChannels(_ signal: RawSpan, from start: Int, to end: Int, direction: TrafficDirection) {
        var at = start
        while at + 2 <= end, channels.count < Self.maximumChannels {
            let number = signal.u16(at)
            if number >= 0x40 {
                channels.removeAll { $0.number == number && $0.direction == direction }
                channels.append(Channel(number: number, direction: direction))
            }
            at += 2
        }
    }

    /// Adds a frame of a dynamic channel. Returns the complete SDU, or `nil` for a part or an unknown channel.
    mutating func receive(_ payload: RawSpan, channel: UInt16, direction: TrafficDirection) -> [UInt8]? {
        guard let index = channels.firstIndex(where: { $0.number == channel && $0.direction == direction }) else {
            return nil
        }
        var data = payload
        if channels[index].needed == 0 {
            guard payload.byteCount >= 2 else { return nil }
            channels[index].needed = Int(payload.u16(0))
            channels[index].buffer.removeAll(keepingCapacity: true)
            data = payload.extracting(2..<payload.byteCount)
        }
        data.withUnsafeBytes { channels[index].buffer.append(contentsOf: $0) }
        guard channels[index].buffer.count >= channels[index].needed else { return nil }
        let sdu = Array(channels[index].buffer.prefix(channels[index].needed))
        channels[index].needed = 0
        return sdu
    }
}
