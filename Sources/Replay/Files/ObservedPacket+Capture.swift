import Bluetooth
import Captures

// Captures does not know what bytes mean, Bluetooth does not know files: here the two meet.

extension ObservedPacket {
    /// The same packet in the words of the reassembly.
    package init(_ packet: CapturePacket) {
        let direction: TrafficDirection? = packet.direction.map { $0 == .sent ? .sent : .received }
        // Nearly all of a long capture, and made where it stands, without a copy in between: that alone took a tenth of
        // a reading.
        if case .hci(let type) = packet.content {
            self.init(
                frame: packet.number, time: packet.time?.sinceEpoch, adapter: packet.adapter, direction: direction,
                isCut: packet.isCut,
                content: .hci(type: type.rawValue))
            return
        }
        self.init(
            frame: packet.number, time: packet.time?.sinceEpoch, adapter: packet.adapter, direction: direction,
            isCut: packet.isCut,
            content: Content(packet.content))
    }
}

extension ObservedPacket.Content {
    init(_ content: PacketContent) {
        switch content {
        case .hci(let type): self = .hci(type: type.rawValue)
        case .note(let note): self = note.endsConnections ? .adapterReset : .other
        case .linkLayer(let facts):
            let phy: ObservedPacket.AirFacts.PHY =
                switch facts.phy {
                case .le1M: .le1M
                case .le2M: .le2M
                case .coded: .coded
                }
            self = .linkLayer(
                .init(
                    rfChannel: facts.rfChannel, signal: facts.signal, isDecrypted: facts.isDecrypted,
                    isCRCValid: facts.isCRCValid, lacksCRC: facts.lacksCRC, phy: phy))
        case .value(let facts):
            self = .value(.init(facts))
        case .connection(let facts):
            self = .connection(isBegin: facts.isBegin, peer: facts.peer.map { BluetoothAddress($0) })
        case .unknown: self = .other
        }
    }
}

extension ObservedPacket.ObservedValue {
    init(_ facts: ValueFacts) {
        let travel: Travel =
            switch facts.travel {
            case .writeCommand: .writeCommand
            case .writeRequest: .writeRequest
            case .notification: .notification
            case .indication: .indication
            case .read: .read
            }
        let peer = facts.peer.map { BluetoothAddress($0) }
        switch facts.characteristic {
        case .uuid(let high, let low):
            self.init(travel: travel, characteristic: BluetoothUUID(high: high, low: low), handle: nil, peer: peer)
        case .handle(let handle):
            self.init(travel: travel, characteristic: nil, handle: handle, peer: peer)
        }
    }
}

extension CapturePacket {
    /// The way back, for packets that `ConversationSynthesiser` makes. `other` and text values have no packet to go to.
    package init?(_ packet: ObservedPacket) {
        let content: PacketContent
        switch packet.content {
        case .hci(let type): content = .hci(HCIPacketType(rawValue: type))
        case .linkLayer(let facts):
            content = .linkLayer(
                LinkLayerFacts(
                    rfChannel: facts.rfChannel, signal: facts.signal, isDecrypted: facts.isDecrypted,
                    isCRCValid: facts.isCRCValid, lacksCRC: facts.lacksCRC))
        default: return nil
        }
        self.init(
            number: packet.frame, time: packet.time.map { CaptureTime(sinceEpoch: $0) }, adapter: packet.adapter,
            direction: packet.direction.map { $0 == .sent ? .sent : .received }, missing: packet.isCut ? 1 : 0,
            content: content)
    }
}
